package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"prowgate/functions"
	"prowgate/functions/page"
	"prowgate/shared/config"
)

// root is where host.json and the folders of the functions are, seen from here.
const root = "../.."

// hostFile is host.json, as far as prowgate uses it; anything else in it is a mistake.
type hostFile struct {
	Version         string `json:"version"`
	FunctionTimeout string `json:"functionTimeout"`
	CustomHandler   struct {
		Description struct {
			DefaultExecutablePath string `json:"defaultExecutablePath"`
		} `json:"description"`
		EnableForwardingHTTPRequest *bool `json:"enableForwardingHttpRequest"`
	} `json:"customHandler"`
	ExtensionBundle struct {
		ID      string `json:"id"`
		Version string `json:"version"`
	} `json:"extensionBundle"`
	Extensions struct {
		ServiceBus struct {
			AutoCompleteMessages       bool   `json:"autoCompleteMessages"`
			MaxAutoLockRenewalDuration string `json:"maxAutoLockRenewalDuration"`
			MaxConcurrentCalls         int    `json:"maxConcurrentCalls"`
		} `json:"serviceBus"`
	} `json:"extensions"`
	Logging struct {
		LogLevel            map[string]string `json:"logLevel"`
		ApplicationInsights struct {
			SamplingSettings struct {
				IsEnabled     bool   `json:"isEnabled"`
				ExcludedTypes string `json:"excludedTypes"`
			} `json:"samplingSettings"`
		} `json:"applicationInsights"`
	} `json:"logging"`
}

// binding is a trigger in a function.json.
type binding struct {
	Type         string `json:"type"`
	Direction    string `json:"direction"`
	Name         string `json:"name"`
	QueueName    string `json:"queueName"`
	Connection   string `json:"connection"`
	Cardinality  string `json:"cardinality"`
	Schedule     string `json:"schedule"`
	RunOnStartup *bool  `json:"runOnStartup"`
	UseMonitor   *bool  `json:"useMonitor"`

	AuthLevel string   `json:"authLevel"`
	Methods   []string `json:"methods"`
	Route     string   `json:"route"`
}

type functionFile struct {
	Bindings []binding `json:"bindings"`
}

// strict decodes a file in which every field has to be known.
func strict(t *testing.T, into any, path ...string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.More() {
		t.Fatalf("%s: %v", filepath.Join(path...), err)
	}
}

// span reads the host's hh:mm:ss.
func span(t *testing.T, text string) time.Duration {
	t.Helper()
	at, err := time.Parse(time.TimeOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.Sub(at.Truncate(24 * time.Hour))
}

func TestHostFile(t *testing.T) {
	var h hostFile
	strict(t, &h, "host.json")
	if h.Version != "2.0" || h.CustomHandler.Description.DefaultExecutablePath != "handler" {
		t.Errorf("version %q, executable %q", h.Version, h.CustomHandler.Description.DefaultExecutablePath)
	}
	if h.ExtensionBundle.ID != "Microsoft.Azure.Functions.ExtensionBundle" || h.ExtensionBundle.Version != "[4.*, 5.0.0)" {
		t.Errorf("bundle %+v", h.ExtensionBundle)
	}
	// The page cannot be answered otherwise; see azurefn.HTTPFunction. No other function is touched by it.
	if f := h.CustomHandler.EnableForwardingHTTPRequest; f == nil || !*f {
		t.Error("enableForwardingHttpRequest must be true")
	}
	bus := h.Extensions.ServiceBus
	if !bus.AutoCompleteMessages || bus.MaxConcurrentCalls < 1 {
		t.Errorf("%+v", bus)
	}
	// The host restarts the whole process at its own limit; an invocation has to give up before, and
	// its lock has to last until then.
	if limit := span(t, h.FunctionTimeout); limit < invocationTimeout+30*time.Second {
		t.Errorf("the host's limit %v leaves no room above ours, %v", limit, invocationTimeout)
	}
	if lock := span(t, bus.MaxAutoLockRenewalDuration); lock < invocationTimeout {
		t.Errorf("the lock is renewed for %v, an invocation may take %v", lock, invocationTimeout)
	}
}

// packaged returns the names of the folders that hold a function.json.
func packaged(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "functions", "*", "function.json"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	return names
}

func TestFoldersAreTheFunctions(t *testing.T) {
	all := append(slices.Collect(maps.Keys(functions.Set(nil))), page.Name)
	slices.Sort(all)
	if diff := cmp.Diff(all, packaged(t)); diff != "" {
		t.Error(diff)
	}
}

func TestFunctionFiles(t *testing.T) {
	for _, name := range packaged(t) {
		var f functionFile
		strict(t, &f, "functions", name, "function.json")
		if name == page.Name {
			checkHTTP(t, name, f.Bindings)
			continue
		}
		// azurefn takes the one value in Data for the message.
		if len(f.Bindings) != 1 {
			t.Fatalf("%s: %d bindings", name, len(f.Bindings))
		}
		b := f.Bindings[0]
		if b.Direction != "in" || b.Name == "" {
			t.Errorf("%s: %+v", name, b)
		}
		switch b.Type {
		case "serviceBusTrigger":
			checkQueue(t, name, b)
		case "timerTrigger":
			checkTimer(t, name, b)
		default:
			t.Errorf("%s: trigger %q", name, b.Type)
		}
	}
}

func checkQueue(t *testing.T, name string, b binding) {
	t.Helper()
	setting := strings.Trim(b.QueueName, "%")
	if want := strings.ToUpper(name) + "_QUEUE"; setting != want || b.QueueName != "%"+want+"%" {
		t.Errorf("%s: queue %q, want the setting %s", name, b.QueueName, want)
	}
	known := func(s config.Setting) bool { return s.Name == setting }
	if !slices.ContainsFunc(config.Describe(), known) {
		t.Errorf("%s: there is no setting %s", name, setting)
	}
	if b.Connection != "SERVICEBUS" || b.Cardinality != "one" {
		t.Errorf("%s: %+v", name, b)
	}
	if b.Schedule != "" || b.RunOnStartup != nil || b.UseMonitor != nil {
		t.Errorf("%s: a queue's trigger has no schedule: %+v", name, b)
	}
}

func checkTimer(t *testing.T, name string, b binding) {
	t.Helper()
	schedule, err := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(b.Schedule)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	at := time.Date(2026, 11, 30, 8, 59, 0, 0, time.UTC)
	if next := schedule.Next(at); next != at.Add(time.Minute) {
		t.Errorf("%s: after %v comes %v", name, at, next)
	}
	if b.RunOnStartup == nil || *b.RunOnStartup || b.UseMonitor == nil || !*b.UseMonitor {
		t.Errorf("%s: %+v", name, b)
	}
	if b.QueueName != "" || b.Connection != "" {
		t.Errorf("%s: a timer has no queue: %+v", name, b)
	}
}

// checkHTTP wants a function that the host hands on as it is, for which it has to have an HTTP trigger, an HTTP
// output and nothing else; that is closed to whoever has no key; and that cannot be asked to change anything.
func checkHTTP(t *testing.T, name string, all []binding) {
	t.Helper()
	want := []binding{
		{Type: "httpTrigger", Direction: "in", Name: "req", AuthLevel: "function", Methods: []string{"get"}, Route: "{*path}"},
		{Type: "http", Direction: "out", Name: "res"},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if !strings.HasPrefix(page.Path, "/api/") {
		t.Errorf("%s is not below the host's prefix for HTTP functions", page.Path)
	}
}
