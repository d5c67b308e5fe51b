package azure

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// resource is one resource of the template, its expressions worked out.
type resource struct {
	kind, api, id string
	dependsOn     []string
	mentions      []string // ids of the template's own resources in its properties, identity and scope
	scope         string
	body          map[string]any // what is sent to the resource's provider
}

// template is main.json with the parameters of one environment.
type template struct {
	scope     *scope
	declared  map[string]map[string]any // parameters
	resources []resource
	outputs   map[string]any
}

// readJSON reads a file.
func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// environments are the names of the files with example parameters.
func environments(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("parameters/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("parameters: %q, %v", files, err)
	}
	return files
}

// load works out the template for one environment.
func load(t *testing.T, parameters string) template {
	t.Helper()
	var raw struct {
		Schema         string                    `json:"$schema"`
		ContentVersion string                    `json:"contentVersion"`
		Metadata       map[string]string         `json:"metadata"`
		Parameters     map[string]map[string]any `json:"parameters"`
		Variables      map[string]any            `json:"variables"`
		Resources      []map[string]any          `json:"resources"`
		Outputs        map[string]map[string]any `json:"outputs"`
	}
	readJSON(t, "main.json", &raw)
	s := &scope{parameters: given(t, parameters, raw.Parameters), variables: raw.Variables, types: map[string]bool{}, used: map[string]bool{}}
	for _, r := range raw.Resources {
		kind, _ := r["type"].(string)
		s.types[kind] = true
	}
	made := template{scope: s, declared: raw.Parameters, outputs: map[string]any{}}
	for _, r := range raw.Resources {
		made.resources = append(made.resources, s.resource(t, r))
	}
	for name, o := range raw.Outputs {
		v, err := s.all(o["value"])
		if err != nil {
			t.Fatalf("output %s: %v", name, err)
		}
		made.outputs[name] = v
	}
	return made
}

// given are the parameters: the file's, and the defaults of the others.
func given(t *testing.T, file string, declared map[string]map[string]any) map[string]any {
	t.Helper()
	var raw struct {
		Schema         string                         `json:"$schema"`
		ContentVersion string                         `json:"contentVersion"`
		Parameters     map[string]struct{ Value any } `json:"parameters"`
	}
	readJSON(t, file, &raw)
	values := map[string]any{}
	for name, p := range declared {
		if v, ok := p["defaultValue"]; ok {
			values[name] = v
		}
	}
	for name, p := range raw.Parameters {
		if declared[name] == nil {
			t.Errorf("%s: the template has no parameter %s", file, name)
		}
		values[name] = p.Value
	}
	for name := range declared {
		if values[name] == nil {
			t.Errorf("%s: parameter %s has neither value nor default", file, name)
		}
	}
	return values
}

// resource works out one resource.
func (s *scope) resource(t *testing.T, raw map[string]any) resource {
	t.Helper()
	text := func(field string) string {
		field, _ = raw[field].(string)
		v, err := s.all(field)
		if err != nil {
			t.Fatal(err)
		}
		out, _ := v.(string)
		return out
	}
	r := resource{kind: text("type"), api: text("apiVersion"), body: map[string]any{}}
	s.resources = nil
	r.scope = text("scope")
	for field, v := range raw {
		if slices.Contains([]string{"type", "apiVersion", "name", "dependsOn", "scope", "comments"}, field) {
			continue
		}
		out, err := s.all(v)
		if err != nil {
			t.Fatalf("%s %s: %v", r.kind, field, err)
		}
		r.body[field] = out
	}
	r.mentions = unique(s.resources)
	id, err := idOf(r.kind, strings.Split(text("name"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	r.id = r.scope + id
	list, _ := raw["dependsOn"].([]any)
	deps, err := s.all(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deps.([]any) {
		r.dependsOn = append(r.dependsOn, d.(string))
	}
	return r
}

func unique(ids []string) []string {
	set := map[string]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// ofKind returns the resources of one type.
func (m template) ofKind(kind string) []resource {
	var found []resource
	for _, r := range m.resources {
		if r.kind == kind {
			found = append(found, r)
		}
	}
	return found
}

// at returns what lies at a path of names in a resource's body.
func (r resource) at(path ...string) any {
	var v any = r.body
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// each runs a check on the template of every environment.
func each(t *testing.T, check func(t *testing.T, m template)) {
	t.Helper()
	for _, file := range environments(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) { check(t, load(t, file)) })
	}
}
