package azure

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// scope is what the expressions of a template may speak of.
type scope struct {
	parameters, variables map[string]any
	types                 map[string]bool // of the resources in the template
	used                  map[string]bool // parameters and variables, as "parameters.name"
	resources             []string        // ids given out by resourceId, in order
}

// eval works out a text of the template: an expression when it is in brackets (learn.microsoft.com, Template
// syntax), the text itself otherwise.
func (s *scope) eval(text string) (any, error) {
	if !strings.HasPrefix(text, "[") {
		return text, nil
	}
	inner, ok := strings.CutSuffix(text[1:], "]")
	if !ok || strings.HasPrefix(inner, "[") {
		return nil, fmt.Errorf("%s: brackets do not match", text)
	}
	p := &parser{scope: s, rest: inner}
	v, err := p.value()
	if err == nil && p.rest != "" {
		err = fmt.Errorf("%q is left over", p.rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return v, nil
}

// all works out every text in a value, keys too.
func (s *scope) all(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return s.eval(v)
	case []any:
		out := []any{}
		for _, item := range v {
			x, err := s.all(item)
			if err != nil {
				return nil, err
			}
			out = append(out, x)
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			k, err := s.eval(key)
			if err != nil {
				return nil, err
			}
			if out[fmt.Sprint(k)], err = s.all(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// parser reads one expression from the left.
type parser struct {
	scope *scope
	rest  string
}

var (
	name   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*`)
	quoted = regexp.MustCompile(`^'(?:[^']|'')*'`)
	number = regexp.MustCompile(`^-?[0-9]+`)
)

func (p *parser) value() (any, error) {
	if m := quoted.FindString(p.rest); m != "" {
		p.rest = p.rest[len(m):]
		return strings.ReplaceAll(m[1:len(m)-1], "''", "'"), nil
	}
	if m := number.FindString(p.rest); m != "" {
		p.rest = p.rest[len(m):]
		return strconv.Atoi(m)
	}
	m := name.FindString(p.rest)
	if m == "" {
		return nil, fmt.Errorf("no value at %q", p.rest)
	}
	p.rest = p.rest[len(m):]
	args, err := p.arguments()
	if err != nil {
		return nil, err
	}
	v, err := p.scope.call(m, args)
	for err == nil && strings.HasPrefix(p.rest, ".") {
		v, err = p.member(v)
	}
	return v, err
}

func (p *parser) arguments() ([]any, error) {
	var args []any
	if !strings.HasPrefix(p.rest, "(") {
		return nil, fmt.Errorf("no arguments at %q", p.rest)
	}
	for p.rest = p.rest[1:]; !strings.HasPrefix(p.rest, ")"); {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		if next, ok := strings.CutPrefix(p.rest, ","); ok {
			p.rest = strings.TrimLeft(next, " ")
		} else if !strings.HasPrefix(p.rest, ")") {
			return nil, fmt.Errorf("no end of the arguments at %q", p.rest)
		}
	}
	p.rest = p.rest[1:]
	return args, nil
}

func (p *parser) member(v any) (any, error) {
	m := name.FindString(p.rest[1:])
	p.rest = p.rest[1+len(m):]
	object, _ := v.(map[string]any)
	found, ok := object[m]
	if !ok {
		return nil, fmt.Errorf("there is no member %q", m)
	}
	return found, nil
}

func TestExpressions(t *testing.T) {
	s := &scope{
		parameters: map[string]any{"p": "abc", "n": 7, "yes": true}, variables: map[string]any{"v": map[string]any{"a": "b"}},
		types: map[string]bool{"Ns.T/kinds": true}, used: map[string]bool{},
	}
	for text, want := range map[string]any{
		"plain": "plain", "[parameters('p')]": "abc", "[parameters('n')]": 7, "[variables('v').a]": "b", "[string(parameters('n'))]": "7",
		"[format('{0}-{1}-it''s', parameters('p'), take('xyz', 2))]": "abc-xy-it's", "[toLower(string(parameters('yes')))]": "true",
		"[resourceId('Ns.T/kinds', 'one')]": group + "/providers/Ns.T/kinds/one", "[if(empty(''), 'a', 'b')]": "a",
		"[replace('a-b', '-', '')]": "ab", "[environment().suffixes.storage]": "core.windows.net",
	} {
		if got, err := s.eval(text); err != nil || got != want {
			t.Errorf("%s is %v, error %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"[parameters('p')", "[parameters('q')]", "[variables('q')]", "[variables('v').c]", "[parameters('p'))]", "[parameters(p)]", "[parameters('p]",
		"[nothing('p')]", "[take('a')]", "[format('{1}', 'a')]", "[format('{0}', 'a', 'b')]", "[resourceId('Ns.T/others', 'one')]",
		"[resourceId('Ns.T/kinds', 'one', 'two')]", "[reference('text').a]", "[[parameters('p')]]", "[]",
	} {
		if got, err := s.eval(text); err == nil {
			t.Errorf("%s is %v, want an error", text, got)
		}
	}
}
