package funchost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	goodHost = `{"version":"2.0","functionTimeout":"00:05:00","logging":{"logLevel":{"default":"Information"}},
		"customHandler":{"description":{"defaultExecutablePath":"handler"}},
		"extensions":{"serviceBus":{"maxConcurrentCalls":8,"maxAutoLockRenewalDuration":"1.00:05:00","autoCompleteMessages":true}}}`
	goodQueue = `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"message","queueName":"%SUBMIT_QUEUE%","connection":"SERVICEBUS","cardinality":"one"}]}`
	goodTimer = `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"30 */2 * * * *","runOnStartup":false,"useMonitor":true}]}`
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "odd [name]*?")
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func someSettings(name string) (string, bool) {
	v, ok := map[string]string{"SUBMIT_QUEUE": "gate-submit"}[name]
	return v, ok
}

func TestLoad(t *testing.T) {
	dir := folder(t, map[string]string{
		"host.json": goodHost, "handler": "", "b/function.json": goodQueue, "a/function.json": goodTimer, "c/other.json": "{",
	})
	p, err := Load(dir, someSettings)
	if err != nil {
		t.Fatal(err)
	}
	if p.Executable != filepath.Join(dir, "handler") || p.FunctionTimeout != 5*time.Minute ||
		p.MaxConcurrentCalls != 8 || p.MaxLockRenewal != 24*time.Hour+5*time.Minute || len(p.Functions) != 2 {
		t.Errorf("package %+v", p)
	}
	a, b := p.Functions[0], p.Functions[1]
	if b.Name != "b" || b.Binding != "message" || b.Queue != "gate-submit" || b.Schedule != nil {
		t.Errorf("queue function %+v", b)
	}
	at := time.Date(2026, 5, 1, 10, 3, 0, 0, time.UTC)
	if a.Name != "a" || a.Binding != "timer" || !a.Schedule.Next(at).Equal(at.Add(time.Minute+30*time.Second)) {
		t.Errorf("timer function %+v, next %v", a, a.Schedule.Next(at))
	}
}

func TestLoadDefaults(t *testing.T) {
	dir := folder(t, map[string]string{
		"host.json": `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"handler"}}}`, "handler": "", "b/function.json": goodQueue,
	})
	p, err := Load(dir, someSettings)
	if err != nil || p.FunctionTimeout != 30*time.Minute || p.MaxConcurrentCalls != 16 || p.MaxLockRenewal != 5*time.Minute {
		t.Errorf("package %+v, %v", p, err)
	}
}

// TestLoadProblems breaks one thing at a time and wants the file and the field named.
func TestLoadProblems(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"host.json", goodHost, "", "host.json: EOF"},
		{"host.json", `"2.0"`, `"3.0"`, "host.json: version"},
		{"host.json", `"handler"`, `""`, "host.json: customHandler.description.defaultExecutablePath: is missing"},
		{"host.json", `"handler"`, `"gone"`, "host.json: customHandler.description.defaultExecutablePath: gone"},
		{"host.json", `"handler"`, `"b"`, "is not a file"},
		{"host.json", `00:05:00"`, `5m"`, "host.json: functionTimeout"},
		{"host.json", `"00:05:00"`, `"00:00:00"`, "host.json: functionTimeout"},
		{"host.json", `"00:05:00"`, `"00:65:00"`, "host.json: functionTimeout"},
		{"host.json", `:8`, `:0`, "host.json: extensions.serviceBus.maxConcurrentCalls"},
		{"host.json", `:8`, `:"8"`, "maxConcurrentCalls"},
		{"host.json", `1.00:05:00`, `never`, "host.json: extensions.serviceBus.maxAutoLockRenewalDuration"},
		{"host.json", `"autoCompleteMessages":true`, `"autoCompleteMessages":false`, "host.json: extensions.serviceBus.autoCompleteMessages"},
		{"b/function.json", goodQueue, `{"bindings":[]}`, "function.json: bindings: has 0 entries"},
		{"b/function.json", goodQueue, goodQueue + "{}", "function.json: more than one JSON value"},
		{"b/function.json", `"cardinality"`, `"cardinalty"`, `b/function.json: json: unknown field "cardinalty"`},
		{"b/function.json", `"one"`, `"many"`, "b/function.json: bindings[0].cardinality"},
		{"b/function.json", `"name":"message"`, `"name":""`, "b/function.json: bindings[0].name: is missing"},
		{"b/function.json", `"in"`, `"out"`, "b/function.json: bindings[0].direction"},
		{"b/function.json", `serviceBusTrigger`, `blobTrigger`, "b/function.json: bindings[0].type"},
		{"b/function.json", `%SUBMIT_QUEUE%`, `%OTHER_QUEUE%`, "bindings[0].queueName: \"%OTHER_QUEUE%\": no setting for %OTHER_QUEUE%"},
		{"b/function.json", `%SUBMIT_QUEUE%`, ``, "bindings[0].queueName: is missing"},
		{"b/function.json", `"SERVICEBUS"`, `""`, "bindings[0].connection: is missing"},
		{"b/function.json", `"cardinality":"one"`, `"isSessionsEnabled":true`, "bindings[0].isSessionsEnabled"},
		{"b/function.json", `"cardinality":"one"`, `"dataType":"binary"`, "bindings[0].dataType"},
		{"b/function.json", `"cardinality":"one"`, `"autoCompleteMessages":false`, "bindings[0].autoCompleteMessages"},
		{"b/function.json", `"bindings"`, `"disabled":true,"bindings"`, "function.json: disabled"},
		{"a/function.json", `30 */2 * * * *`, `30 */2 * *`, "a/function.json: bindings[0].schedule"},
		{"a/function.json", `30 */2 * * * *`, `61 * * * * *`, "a/function.json: bindings[0].schedule"},
		{"a/function.json", `30 */2 * * * *`, `0 0 0 1 * 1`, "limits both day and weekday"},
		{"a/function.json", `"runOnStartup":false`, `"runOnStartup":true`, "a/function.json: bindings[0].runOnStartup"},
	} {
		files := map[string]string{"host.json": goodHost, "handler": "", "b/function.json": goodQueue, "a/function.json": goodTimer}
		if files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1); files[c.file] == goodHost || files[c.file] == goodQueue || files[c.file] == goodTimer {
			t.Fatalf("%q changes nothing", c.old)
		}
		_, err := Load(folder(t, files), someSettings)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, want %q", c.file, c.new, err, c.want)
		}
	}
}

// TestLoadReportsAll wants the problems of all files at once.
func TestLoadReportsAll(t *testing.T) {
	_, err := Load(folder(t, map[string]string{"host.json": "{}", "a/function.json": "{}", "b/function.json": "[]"}), someSettings)
	for _, want := range []string{"host.json: version", "a/function.json", "b/function.json"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := Load(t.TempDir(), someSettings); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("empty folder: %v", err)
	}
}

func TestSchedules(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 3, 0, 0, time.UTC) // a Friday
	for text, want := range map[string]time.Duration{
		"0 * * * * *":      time.Minute,
		"* * * * *":        time.Minute,
		"15,45 * * * * *":  15 * time.Second,
		"00:00:30":         30 * time.Second,
		"0 0 12 * * Sat":   24*time.Hour + 117*time.Minute,
		"0 30 9-10 1 * *":  27 * time.Minute,
		"0 0 0 * 6 *":      31*24*time.Hour - 10*time.Hour - 3*time.Minute,
		"*/20 * * * 5 1-5": 20 * time.Second,
	} {
		s, err := parseSchedule(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := s.Next(at).Sub(at); got != want {
			t.Errorf("%q comes after %v, want %v", text, got, want)
		}
	}
}

// TestOwnPackage reads the folder that this repository deploys.
func TestOwnPackage(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"submit", "poll", "cancel", "sweep", "page"} {
		writeFile(t, filepath.Join(dir, name, "function.json"), readFile(t, "../../functions/"+name+"/function.json"))
	}
	writeFile(t, filepath.Join(dir, "host.json"), readFile(t, "../../host.json"))
	writeFile(t, filepath.Join(dir, "handler"), "")
	p, err := Load(dir, func(name string) (string, bool) { return "value of " + name, true })
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Functions) != 5 {
		t.Errorf("functions %+v", p.Functions)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
