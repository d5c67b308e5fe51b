package schemas

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"prowgate/shared/gate"
)

// typesOf returns the JSON types of a schema's properties. An enumeration is of strings, as a duration is.
func typesOf(properties map[string]property) map[string]string {
	types := map[string]string{}
	for name, p := range properties {
		types[name] = p.Type
		if len(p.Enum) > 0 || p.Ref == "#/$defs/duration" {
			types[name] = "string"
		}
	}
	return types
}

func TestSchemasHaveTheFieldsOfTheMessages(t *testing.T) {
	notice := load(t, "notice").Properties
	for name, c := range map[string]struct {
		properties map[string]property
		of         reflect.Type
	}{
		"gating": {load(t, "gating").Properties, reflect.TypeFor[gate.Gating]()},
		"cancel": {load(t, "cancel").Properties, reflect.TypeFor[gate.CancelRequest]()},
		"tick":   {load(t, "tick").Properties, reflect.TypeFor[gate.Tick]()},
		"notice": {notice, reflect.TypeFor[gate.Notice]()},
		"abort":  {notice["abort"].Properties, reflect.TypeFor[gate.AbortReport]()},
	} {
		if d := cmp.Diff(fieldTypes(t, c.of), typesOf(c.properties)); d != "" {
			t.Errorf("%s (-Go +schema):\n%s", name, d)
		}
	}
}

// constants returns the values of the constants of a type of package gate.
func constants(t *testing.T, typeName string) (values []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "shared", "gate", "message.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typeName {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	return values
}

func TestEnumerationsAreThoseOfTheCode(t *testing.T) {
	notice := load(t, "notice").Properties
	for name, want := range map[string][]string{
		"kind": constants(t, "Kind"), "outcome": constants(t, "Outcome"), "retry": constants(t, "Retry"),
		"marker": {"", gate.Marker(gate.KnownIssueEligible), gate.Marker(gate.InfraPreconditionEligible)},
	} {
		if d := cmp.Diff(want, notice[name].Enum); d != "" {
			t.Errorf("%s (-Go +schema):\n%s", name, d)
		}
	}
	if d := cmp.Diff(constants(t, "AbortOutcome"), notice["abort"].Properties["outcome"].Enum); d != "" {
		t.Errorf("abort.outcome (-Go +schema):\n%s", d)
	}
}

// fieldsOf returns a JSON object's fields.
func fieldsOf(t *testing.T, text []byte) (m map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parsed(t *testing.T, text []byte) gate.Gating {
	t.Helper()
	g, rejection, err := gate.ParseGating(text)
	if err != nil || rejection != nil {
		t.Fatalf("%s: %+v, %v", text, rejection, err)
	}
	return g
}

func TestDefaultsAreThoseOfTheService(t *testing.T) {
	d := load(t, "gating")
	least := fieldsOf(t, d.Examples[0])
	all := maps.Clone(least)
	for name, p := range d.Properties {
		switch required := slices.Contains(d.Required, name); {
		case required == (p.Default != nil):
			t.Errorf("%s: either it is required or it has a default", name)
		case !required:
			all[name] = p.Default
		}
	}
	if d := cmp.Diff(parsed(t, marshal(t, least)), parsed(t, marshal(t, all)), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("what the service assumes, and what the schema says (-service +schema):\n%s", d)
	}
}

func TestEveryFieldOfAMessageIsDescribed(t *testing.T) {
	for name, p := range load(t, "gating").Properties {
		if p.Description == "" {
			t.Errorf("%s is not described", name)
		}
	}
}

// parse is the service's own verdict on a message.
func parse(name string, text []byte) (ok bool) {
	var err error
	var rejection *gate.Rejection
	switch name {
	case "gating":
		_, rejection, err = gate.ParseGating(text)
	case "cancel":
		_, err = gate.ParseCancel(text)
	case "tick":
		_, err = gate.ParseTick(text)
	default:
		err = json.Unmarshal(text, new(gate.Notice))
	}
	return err == nil && rejection == nil
}

func TestExamplesAreValid(t *testing.T) {
	for _, name := range names() {
		s, examples := compile(t, name), load(t, name).Examples
		if len(examples) < 2 {
			t.Errorf("%s: %d examples", name, len(examples))
		}
		for _, text := range examples {
			if err := check(t, s, text); err != nil || !parse(name, text) {
				t.Errorf("%s: schema %v, service ok %t:\n%s", name, err, parse(name, text), text)
			}
		}
	}
}

func TestExampleNamesEveryField(t *testing.T) {
	d := load(t, "gating")
	given := fieldsOf(t, d.Examples[1])
	for name := range d.Properties {
		if _, ok := given[name]; !ok && name != "executionId" { // which would make the run another one
			t.Errorf("the full example lacks %s", name)
		}
	}
}
