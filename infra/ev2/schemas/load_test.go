package schemas

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is what the tests read of a schema.
type document struct {
	Description string
	Required    []string
	Properties  map[string]property
	Examples    []json.RawMessage
}

type property struct {
	Type        string
	Description string
	Ref         string `json:"$ref"`
	Enum        []string
	Default     json.RawMessage
	Properties  map[string]property
}

func names() []string { return []string{"gating", "cancel", "tick", "notice"} }

func load(t *testing.T, name string) (d document) {
	t.Helper()
	text, err := os.ReadFile(name + ".json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check returns the schema's objection to a JSON text.
func check(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Validate(v)
}

// fieldTypes returns the JSON names of a struct's fields with the JSON types that they are written as.
func fieldTypes(t *testing.T, of reflect.Type) map[string]string {
	t.Helper()
	types := map[string]string{}
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		types[name] = jsonType(t, f.Type)
	}
	return types
}

func jsonType(t *testing.T, of reflect.Type) string {
	t.Helper()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()) {
		return "string"
	}
	switch of.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Slice:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	t.Fatalf("no JSON type is known for %s", of)
	return ""
}
