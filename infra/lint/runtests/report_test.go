package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReport(t *testing.T) {
	cases := []struct{ name, events, want string }{
		{
			"what passes is quiet", `
{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}`,
			"ok  \tp\t0.1s\ntests: 1 passed, 0 failed, 0 skipped; packages: 1, 0 of them failed\n",
		},
		{
			"what fails is shown", `
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: broken\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}`,
			"    a_test.go:1: broken\nFAIL\tp\t0.1s\ntests: 0 passed, 1 failed, 0 skipped; packages: 1, 1 of them failed\n",
		},
		{
			"a skip says why", `
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: no node\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}`,
			"SKIP p TestA: a_test.go:1: no node\ntests: 0 passed, 0 failed, 1 skipped; packages: 1, 0 of them failed\n",
		},
		{
			"a crash shows the test it cut off", `
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: oh\n"}
{"Action":"fail","Package":"p"}`,
			"panic: oh\ntests: 0 passed, 1 failed, 0 skipped; packages: 1, 1 of them failed\n",
		},
		{
			"what does not compile is shown", `
{"ImportPath":"p","Action":"build-output","Output":"p/a.go:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
not an event`,
			"p/a.go:1: syntax error\nnot an eventtests: 0 passed, 0 failed, 0 skipped; packages: 0, 0 of them failed\n",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := NewReport(&out)
			if err := r.Read(strings.NewReader(strings.TrimPrefix(c.events, "\n"))); err != nil {
				t.Fatal(err)
			}
			r.Close()
			if d := cmp.Diff(c.want, out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRunReturnsTheExitCodeOfGoTest(t *testing.T) {
	var out strings.Builder
	code, err := run(t.Context(), []string{"-run", "^$", "./there-is-no-such-package"}, &out, &out)
	if code == 0 || err != nil {
		t.Errorf("code %d, err %v, output %s", code, err, out.String())
	}
}
