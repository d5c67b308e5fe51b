package cli_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A value is what follows the first "=", byte for byte.
func TestPairs(t *testing.T) {
	const script = "set -e\necho A=1,B=2"
	for name, c := range map[string]struct {
		given []string
		want  map[string]string
	}{
		"brackets":           {[]string{"FOCUS=[sig-a]"}, map[string]string{"FOCUS": "[sig-a]"}},
		"list in brackets":   {[]string{"FOCUS=[sig-a], a=x]", "b=y]"}, map[string]string{"FOCUS": "[sig-a], a=x]", "b": "y]"}},
		"quoted":             {[]string{`Q="quoted"`}, map[string]string{"Q": `"quoted"`}},
		"quotes inside":      {[]string{`CMD=say "hi"`}, map[string]string{"CMD": `say "hi"`}},
		"two lines":          {[]string{"SCRIPT=" + script}, map[string]string{"SCRIPT": script}},
		"pairs on two lines": {[]string{"S=a,B=2\nC=3"}, map[string]string{"S": "a,B=2\nC=3"}},
		"spaces":             {[]string{"S=  a  "}, map[string]string{"S": "  a  "}},
		"value with a comma": {[]string{"S=a,b,,c"}, map[string]string{"S": "a,b,,c"}},
		"value with =":       {[]string{"S=a=b=="}, map[string]string{"S": "a=b=="}},
		"options":            {[]string{"ARGS=--a=1,--b=2"}, map[string]string{"ARGS": "--a=1,--b=2"}},
		"spaces after comma": {[]string{"A=1, B=2"}, map[string]string{"A": "1, B=2"}},
		"several":            {[]string{"A=1,B=x y,C=d=e", "D=4"}, map[string]string{"A": "1", "B": "x y", "C": "d=e", "D": "4"}},
		"comma after pairs":  {[]string{"A=1,B=2,c"}, map[string]string{"A": "1,B=2,c"}},
		"the later counts":   {[]string{"A=1,A=2", "A=3"}, map[string]string{"A": "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(d *desk) {
				d.queues.answer = passes
				args := with()
				for _, text := range c.given {
					args = append(args, "--environment-variable", text)
				}
				d.run(0, args...)
				if _, g := d.submitted(); cmp.Diff(c.want, g.Envs) != "" {
					t.Errorf("(-want +got):\n%s", cmp.Diff(c.want, g.Envs))
				}
			})
		})
	}
}

// Each flag tells names after a comma by its own rule.
func TestNamesOfPairs(t *testing.T) {
	bubble(t, func(d *desk) {
		d.queues.answer = passes
		d.run(0, with("--label", "a.b/c=1,d=2", "--annotation", "e.f/g=x,y,H.i/J=z", "--annotation", "K.l/m=1,n=2", "--environment-variable", "A=1,b.c/d=2")...)
		_, g := d.submitted()
		for _, c := range []struct{ want, got map[string]string }{
			{map[string]string{"a.b/c": "1", "d": "2"}, g.Labels},
			{map[string]string{"e.f/g": "x,y,H.i/J=z", "K.l/m": "1", "n": "2"}, g.Annotations},
			{map[string]string{"A": "1,b.c/d=2"}, g.Envs},
		} {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

func TestTextsThatAreNoPairs(t *testing.T) {
	for _, flag := range []string{"label", "annotation", "environment-variable"} {
		for text, said := range map[string]string{"=x": "must be name=value", "x": "must be name=value", "A=": "must not be empty", "A=1,=x": ""} {
			bubble(t, func(d *desk) {
				code := 2
				if said == "" && flag != "label" {
					code, d.queues.answer = 0, passes // the value is 1,=x
				}
				d.run(code, with("--"+flag, text)...)
				d.wants(&d.err, said)
				if code == 2 && (len(d.queues.sent) != 0 || !strings.Contains(d.err.String(), "--"+flag)) {
					t.Errorf("sent %v: %s", d.queues.sent, &d.err)
				}
			})
		}
	}
}
