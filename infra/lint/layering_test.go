package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module is the module's path.
const module = "prowgate"

// pkg is a package as `go list` shows it, with paths below the module.
type pkg struct {
	ImportPath                               string
	Imports, TestImports, XTestImports, Deps []string
}

// under reports whether the import path is the folder or lies below it.
func under(importPath, folder string) bool {
	return importPath == module+"/"+folder || strings.HasPrefix(importPath, module+"/"+folder+"/")
}

// list returns the packages that match the patterns. Broken ones are listed too: that is the compiler's case.
func list(t *testing.T, patterns ...string) []pkg {
	t.Helper()
	args := append([]string{"list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps"}, patterns...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var found []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
}

// A rule says what the packages in a folder may import: of this module what lies in or below the allowed
// folders, and, when std is set, from elsewhere nothing but that.
type rule struct {
	folder string
	why    string
	allow  []string
	std    []string
}

// rules are the layers, the innermost first. The rule with the longest folder is the one that holds.
func rules() []rule {
	return []rule{
		{"gangway/prow", "it is the vocabulary, and carries no technology", nil, []string{"time"}},
		{"shared/fault", "everything may depend on it", nil, []string{"context", "errors", "net/url", "strings", "time"}},
		{
			"shared/gate", "the decision is pure: no clock, no context, no I/O, no log",
			[]string{"gangway/prow", "shared/fault"},
			[]string{
				"bytes", "cmp", "crypto/sha256", "encoding/base32", "encoding/hex", "encoding/json", "errors", "fmt", "hash/fnv",
				"k8s.io/apimachinery/pkg/util/validation", "maps", "math", "path", "reflect", "regexp", "slices", "sort", "strconv",
				"strings", "time", "unicode", "unicode/utf8",
			},
		},
		{
			"shared/engine", "it declares what it needs, and adapters are wired by mains",
			[]string{"gangway/prow", "shared/budget", "shared/engine", "shared/fault", "shared/gate", "shared/queue", "shared/store"},
			[]string{
				"cmp", "context", "crypto/sha256", "encoding/hex", "encoding/json", "errors", "fmt", "hash/fnv", "log/slog", "maps",
				"math", "math/rand/v2", "slices", "sort", "strconv", "strings", "sync", "time",
			},
		},
		{"gangway", "clients know their server and the kinds of failure, and nothing of gates", []string{"gangway", "shared/fault", "shared/sent"}, nil},
		{"shared/budget", "sharing out is pure", nil, []string{"cmp", "errors", "fmt", "math", "slices", "time"}},
		{"shared/store/storeurl", "a store is chosen by a setting", []string{"shared/store", "shared/fault", "shared/config"}, nil},
		{"shared/queue/queueurl", "a queue is chosen by a setting", []string{"shared/queue", "shared/fault", "shared/config"}, nil},
		{"shared/store", "a store knows no gates", slices.Concat([]string{"shared/store", "shared/fault", "shared/sqlitedb"}, clouds()), nil},
		{"shared/queue", "a queue knows no gates", slices.Concat([]string{"shared/queue", "shared/fault", "shared/sqlitedb"}, clouds()), nil},
		{"shared/secret", "a secret knows no gates", slices.Concat([]string{"shared/secret", "shared/fault"}, clouds()), nil},
		{"shared/sent", "it watches a transport, whoever's that is", nil, []string{"context", "crypto/tls", "errors", "net", "net/http", "net/http/httptrace", "sync/atomic", "syscall"}},
		{"shared/azureid", "it only chooses an identity", nil, nil},
		{"shared/awsfault", "it only gives failures their kinds", []string{"shared/fault", "shared/sent"}, nil},
		{"shared/sqlitedb", "it only opens a file", []string{"shared/fault"}, nil},
		{
			"shared/telemetry", "it watches what others do, and reads no settings",
			[]string{"shared/telemetry", "shared/engine", "shared/fault", "shared/gate", "shared/queue", "shared/store"},
			nil,
		},
		{"shared/config", "settings are values", []string{"shared/config", "shared/fault"}, nil},
		{"shared", "nothing imports what is started", []string{"shared", "gangway"}, nil},
		{"functions", "handlers need no broker and no command", []string{"functions", "shared", "gangway"}, nil},
		{"infra", "commands speak to the service over its queues", []string{"infra", "shared", "gangway"}, nil},
	}
}

// clouds are what adapters of foreign services share.
func clouds() []string { return []string{"shared/sent", "shared/azureid", "shared/awsfault"} }

// Each program links the libraries of its own cloud alone.
func TestNoProgramLinksTheOtherCloud(t *testing.T) {
	for program, foreign := range map[string]string{
		"./functions/azure": "github.com/aws/", "./functions/lambda": "github.com/Azure/",
	} {
		for _, dep := range list(t, program)[0].Deps {
			if strings.HasPrefix(dep, foreign) {
				t.Errorf("%s links %s", program, dep)
			}
		}
	}
}

// breaches returns the imports that the rule does not allow.
func (r rule) breaches(p pkg) []string {
	var found []string
	for _, imported := range p.Imports {
		if !r.allows(imported) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", p.ImportPath, imported, r.why))
		}
	}
	return found
}

func (r rule) allows(imported string) bool {
	if imported == module || strings.HasPrefix(imported, module+"/") {
		return slices.ContainsFunc(r.allow, func(a string) bool { return under(imported, a) })
	}
	return r.std == nil || slices.Contains(r.std, imported)
}

// ruleOf returns the rule that holds for a package; ok is false where anything goes.
func ruleOf(importPath string) (found rule, ok bool) {
	for _, r := range rules() {
		if under(importPath, r.folder) && len(r.folder) > len(found.folder) {
			found, ok = r, true
		}
	}
	return found, ok
}

func TestLayering(t *testing.T) {
	for _, p := range list(t, "./...") {
		if under(p.ImportPath, "local") {
			continue
		}
		r, ok := ruleOf(p.ImportPath)
		if !ok {
			t.Errorf("%s belongs to no layer", p.ImportPath)
			continue
		}
		for _, breach := range r.breaches(p) {
			t.Error(breach)
		}
	}
}

// An adapter is chosen by a main: the engine may know the contract of a store, not one of its kinds.
func TestEngineKnowsNoAdapter(t *testing.T) {
	known := []string{"gangway/prow", "shared/budget", "shared/fault", "shared/gate", "shared/queue", "shared/store", "shared/engine"}
	for _, p := range list(t, "./shared/engine") {
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, module+"/") && !slices.Contains(known, strings.TrimPrefix(dep, module+"/")) {
				t.Errorf("the engine depends on %s", dep)
			}
		}
	}
}

// What is watched does not know by what: OpenTelemetry is spoken in one package, which only the mains and what
// assembles their engine wire.
func TestOnlyTelemetryKnowsOpenTelemetry(t *testing.T) {
	wires := []string{module + "/functions/assemble", module + "/functions/azure", module + "/functions/lambda"}
	wired := 0
	for _, p := range list(t, "./...") {
		for _, imported := range p.Imports {
			switch {
			case strings.HasPrefix(imported, "go.opentelemetry.io/") && !under(p.ImportPath, "shared/telemetry"):
				t.Errorf("%s imports %s", p.ImportPath, imported)
			case imported == module+"/shared/telemetry" && !slices.Contains(wires, p.ImportPath):
				t.Errorf("%s imports %s", p.ImportPath, imported)
			case imported == module+"/shared/telemetry":
				wired++
			}
		}
	}
	if wired != len(wires) {
		t.Errorf("%d packages wire telemetry, want %d", wired, len(wires))
	}
}

// Tests may reach further than what they test, but not into a program: programs are built and run. The
// services of the wire tests are no program of ours.
func TestNothingImportsPrograms(t *testing.T) {
	for _, p := range list(t, "./...") {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for _, folder := range []string{"functions", "local", "infra"} {
				if under(imported, folder) && !under(p.ImportPath, folder) && imported != module+"/infra/wire" {
					t.Errorf("%s imports %s", p.ImportPath, imported)
				}
			}
		}
	}
}

// The test framework registers flags in whatever links it. Packages that support tests are named ...test,
// or wire.
func TestOnlyTestPackagesImportTesting(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := path.Base(p.ImportPath)
		if !strings.HasSuffix(name, "test") && name != "wire" && slices.Contains(p.Imports, "testing") {
			t.Errorf("%s imports testing outside its tests", p.ImportPath)
		}
	}
}

// The handler is started for each burst of messages: what it links costs memory and time at every start.
func TestHandlerIsLean(t *testing.T) {
	heavy := []string{
		module + "/gangway/gangwaytest", module + "/local", module + "/infra", module + "/shared/queue/broker", module + "/shared/sim",
		"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/robfig/cron", "github.com/google/go-cmp", "testing",
	}
	handler := list(t, "./functions/azure")[0]
	if !slices.Contains(handler.Deps, module+"/shared/engine") {
		t.Fatal("the handler does not link the engine: is this the handler?")
	}
	for _, dep := range handler.Deps {
		for _, h := range heavy {
			if dep == h || strings.HasPrefix(dep, h+"/") {
				t.Errorf("the handler links %s", dep)
			}
		}
	}
}

func TestSharedIsNoPackage(t *testing.T) {
	for _, s := range files(t, ".go") {
		if path.Dir(s.path) == "shared" {
			t.Errorf("%s: shared/ holds packages and is none", s.path)
		}
	}
}

func TestLayeringRule(t *testing.T) {
	r := rule{"shared/a", "why", []string{"shared/b"}, []string{"time"}}
	p := pkg{ImportPath: module + "/shared/a/c", Imports: []string{"time", "os", module + "/shared/b/d", module + "/shared/bad"}}
	want := []string{module + "/shared/a/c imports os: why", module + "/shared/a/c imports " + module + "/shared/bad: why"}
	if d := cmp.Diff(want, r.breaches(p)); d != "" {
		t.Error(d)
	}
	for path, folder := range map[string]string{
		"/shared/gate": "shared/gate", "/shared/gate/x": "shared/gate", "/shared/gates": "shared",
		"/shared/store/storeurl": "shared/store/storeurl", "/shared/store/sqlite": "shared/store", "/local": "",
	} {
		if got, _ := ruleOf(module + path); got.folder != folder {
			t.Errorf("the rule of %s is that of %q, not of %q", path, got.folder, folder)
		}
	}
}
