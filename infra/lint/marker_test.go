package lint

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// markerHome is the one file that may write an EV2 marker.
const markerHome = "shared/gate/marker.go"

// needle is what both markers begin with. It is put together here, so that this file does not contain it.
func needle() string { return strings.Join([]string{"ev2", "retryable"}, "-") }

// holders returns the paths of those files that contain the needle, in any letter case.
func holders(sources []source) []string {
	var found []string
	for _, s := range sources {
		if strings.Contains(strings.ToLower(s.text), needle()) {
			found = append(found, s.path)
		}
	}
	return found
}

// A stray marker anywhere in a step's output makes EV2 retry the step, so no other file may be able to
// write one by accident, and no test either: a test that spells one out would not notice a changed marker.
func TestOneFileWritesMarkers(t *testing.T) {
	if d := cmp.Diff([]string{markerHome}, holders(files(t, ".go"))); d != "" {
		t.Errorf("Go files that contain a marker or its beginning (-want +got):\n%s", d)
	}
}

func TestOneFunctionHandsMarkersOut(t *testing.T) {
	var inGate []source
	for _, s := range files(t, ".go") {
		if strings.HasPrefix(s.path, "shared/gate/") {
			inGate = append(inGate, s)
		}
	}
	if d := cmp.Diff([]string{"Marker"}, referrers(t, inGate)); d != "" {
		t.Errorf("declarations that refer to the marker constants (-want +got):\n%s", d)
	}
}

// markerCallers are the places outside package gate that may ask for a marker, and why.
func markerCallers() map[string]string {
	return map[string]string{
		"infra/ev2/gate/console/verdict.go": "prints it, and takes out whatever else looks like one",
		"shared/sim/judge.go":               "the invariant that a marker goes with an eligible completion only",
		"shared/sim/plan.go":                "puts it into texts that must not get out as they are",
		"local/demo/check.go":               "compares it with what the gates have printed",
	}
}

func TestOnlyTheVerdictAsksForMarkers(t *testing.T) {
	for _, s := range files(t, ".go") {
		if s.isTest() || markerCallers()[s.path] != "" {
			continue
		}
		_, f := parse(t, s)
		uses(f, "prowgate/shared/gate", func(sel *ast.SelectorExpr) {
			if sel.Sel.Name == "Marker" {
				t.Errorf("%s asks for a marker; it comes with the completion", s.path)
			}
		})
	}
}

// referrers returns the names of the declarations that refer to a constant that holds a marker.
func referrers(t *testing.T, sources []source) []string {
	constants, found := map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		_, f := parse(t, s)
		declarations(f, func(name string, decl ast.Node, kind token.Token) {
			// A whole marker: what the markers share ends before the hyphen.
			if kind == token.CONST && strings.Contains(strings.ToLower(literals(decl)), needle()+"-") {
				constants[name] = true
			}
		})
	}
	for _, s := range sources {
		_, f := parse(t, s)
		declarations(f, func(name string, decl ast.Node, _ token.Token) {
			ast.Inspect(decl, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Name != name && constants[id.Name] {
					found[name] = true
				}
				return true
			})
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// declarations calls visit for every function, constant and variable at the top of the file.
func declarations(f *ast.File, visit func(name string, decl ast.Node, kind token.Token)) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			visit(d.Name.Name, d, token.FUNC)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					visit(v.Names[0].Name, v, d.Tok)
				}
			}
		}
	}
}

// literals returns the text of all literals below the node.
func literals(n ast.Node) string {
	var text strings.Builder
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			text.WriteString(lit.Value)
		}
		return true
	})
	return text.String()
}

func TestMarkerRule(t *testing.T) {
	marker := strings.ToUpper(needle()) + "-x"
	home := source{"a.go", "package gate\nconst markerX = \"" + marker + "\"\nfunc Marker() string { return markerX }"}
	if d := cmp.Diff([]string{"a.go"}, holders([]source{home, {"b.go", "package b"}})); d != "" {
		t.Error(d)
	}
	leak := source{"b.go", "package gate\nfunc leak() string { return markerX }\nvar other = markerX"}
	if d := cmp.Diff([]string{"Marker", "leak", "other"}, referrers(t, []source{home, leak})); d != "" {
		t.Error(d)
	}
}
