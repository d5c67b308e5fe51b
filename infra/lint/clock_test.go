package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The packages whose names are looked for: those that read the real clock or begin a context belong in a main,
// a sleep nowhere but in virtual time.
const (
	timePackage     = "time"
	contextPackage  = "context"
	synctestPackage = "testing/synctest"
)

// contextExceptions are the paths below which a context may begin outside a main, and why.
func contextExceptions() map[string]string {
	return map[string]string{
		"shared/sqlitedb/sqlitedb.go": "a file is opened once, at start, with a bounded wait of its own; nobody has a context for it",
		"shared/sim/":                 "the simulator is the main of its worlds, and ends calls by killing processes",
	}
}

func mayBeginContexts(path string) bool {
	for below := range contextExceptions() {
		if strings.HasPrefix(path, below) {
			return true
		}
	}
	return false
}

// clockFindings are the mentions that break the rule in one file.
func clockFindings(t *testing.T, s source) []string {
	set, f := parse(t, s)
	var found []string
	report := func(sel *ast.SelectorExpr, path string) {
		found = append(found, fmt.Sprintf("%s:%d: %s.%s", s.path, set.Position(sel.Pos()).Line, path, sel.Sel.Name))
	}
	virtual := virtualTime(f)
	uses(f, timePackage, func(sel *ast.SelectorExpr) {
		if sel.Sel.Name == "Sleep" && !virtual(sel) {
			report(sel, timePackage)
		}
	})
	if s.isTest() || localName(f, "testing") != "" || f.Name.Name == "main" {
		return found
	}
	uses(f, timePackage, func(sel *ast.SelectorExpr) {
		if slices.Contains([]string{"Now", "Since", "Until"}, sel.Sel.Name) {
			report(sel, timePackage)
		}
	})
	if mayBeginContexts(s.path) {
		return found
	}
	uses(f, contextPackage, func(sel *ast.SelectorExpr) {
		if slices.Contains([]string{"Background", "TODO"}, sel.Sel.Name) {
			report(sel, contextPackage)
		}
	})
	return found
}

// virtualTime returns a test for being inside a synctest.Test call, where a sleep costs nothing.
func virtualTime(f *ast.File) func(ast.Node) bool {
	local := localName(f, synctestPackage)
	var bubbles []*ast.CallExpr
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && local != "" {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && sel.Sel.Name == "Test" {
				bubbles = append(bubbles, call)
			}
		}
		return true
	})
	return func(n ast.Node) bool {
		return slices.ContainsFunc(bubbles, func(b *ast.CallExpr) bool { return b.Pos() <= n.Pos() && n.End() <= b.End() })
	}
}

func TestOnlyMainsHoldAClock(t *testing.T) {
	for _, s := range files(t, ".go") {
		for _, finding := range clockFindings(t, s) {
			t.Errorf("%s: take the time, or the context, as an argument", finding)
		}
	}
}

func TestClockRule(t *testing.T) {
	const body = "import (\n\"context\"\n\"time\"\n\"testing/synctest\"\n)\n"
	cases := []struct {
		name, path, text string
		want             []string
	}{
		{"a package reads the clock", "a.go", "package a\n" + body + "var _ = time.Now", []string{"a.go:7: time.Now"}},
		{"a package begins a context", "a.go", "package a\n" + body + "var _ = context.TODO()", []string{"a.go:7: context.TODO"}},
		{"an exception reads no clock", "shared/sim/a.go", "package sim\n" + body + "var _, _ = time.Now, context.TODO", []string{"shared/sim/a.go:7: time.Now"}},
		{"a main may", "a.go", "package main\n" + body + "var _, _ = time.Now, context.Background", nil},
		{"a test may", "a_test.go", "package a\n" + body + "var _, _ = time.Now, context.Background", nil},
		{"a suite may", "a.go", "package a\nimport \"testing\"\n" + body + "var _ = time.Now", nil},
		{"a main may not sleep", "a.go", "package main\n" + body + "func f() { time.Sleep(1) }", []string{"a.go:7: time.Sleep"}},
		{"a test may not sleep", "a_test.go", "package a\n" + body + "func f() { time.Sleep(1) }", []string{"a_test.go:7: time.Sleep"}},
		{"except in virtual time", "a_test.go", "package a\n" + body + "func f() { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }", nil},
		{"a variable is no package", "a.go", "package a\n" + body + "func f(time clock) { time.Now() }", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, clockFindings(t, source{c.path, c.text})); d != "" {
				t.Error(d)
			}
		})
	}
}
