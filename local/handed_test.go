package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
)

// told starts a host whose handler is a script that only says what it was given, and returns that and the host's own
// lines.
func told(t *testing.T, env ...string) (handed map[string]string, lines string) {
	t.Helper()
	shell := "/bin/sh"
	if _, err := os.Stat(shell); err != nil {
		t.Skipf("skipped: the handler is a script: %v", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"host.json":           `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"handler"},"enableForwardingHttpRequest":true}}`,
		"sweep/function.json": `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"0 */5 * * * *"}]}`,
		"handler":             "#!" + shell + "\necho \"QUEUE_URL=$QUEUE_URL\"\necho \"STORE_URL=$STORE_URL\"\necho end\nexec tail -f /dev/null\n", // a handler that ends by itself ends the host
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--listen", "127.0.0.1:0", "--data", "memory", "--package", dir}, env, io.Discard, in)
		_ = in.Close() // always nil
	}()
	handed = map[string]string{}
	var own strings.Builder
	for s := bufio.NewScanner(out); s.Scan(); {
		line, ofHandler := strings.CutPrefix(s.Text(), "handler: ")
		if name, value, ok := strings.Cut(line, "="); ofHandler && ok {
			handed[name] = value
		} else if line == "end" {
			stop()
		} else {
			own.WriteString(line + "\n")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return handed, own.String()
}

// TestHandlerGetsThisHostsQueues: what a shell still says of another host does not count, and is told without its
// value, which may hold a key.
func TestHandlerGetsThisHostsQueues(t *testing.T) {
	for _, c := range []struct {
		given string
		lines int
	}{{"", 0}, {"http://127.0.0.1:9", 1}, {"Endpoint=sb://n.example;SharedAccessKeyName=n;SharedAccessKey=hush-hush", 1}} {
		handed, lines := told(t, "QUEUE_URL="+c.given)
		if url := handed["QUEUE_URL"]; url == c.given || !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("%q: the handler sends to %q", c.given, url)
		}
		if n := strings.Count(lines, "QUEUE_URL is not used"); n != c.lines || strings.Contains(lines, "hush") {
			t.Errorf("%q: %s", c.given, lines)
		}
	}
}

// TestHandlerGetsTheSameFile: a relative file is one below the host's folder for both.
func TestHandlerGetsTheSameFile(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"sqlite:rel.db":               "sqlite:" + filepath.Join(here, "rel.db"),
		"sqlite:./odd name?%20.db":    "sqlite:" + filepath.Join(here, "odd name?%20.db"),
		"sqlite:" + here + "/sure.db": "sqlite:" + filepath.Join(here, "sure.db"),
		"memory:":                     "memory:",
		"sqlite:a/../over.db":         "sqlite:" + filepath.Join(here, "over.db"),
	} {
		handed, _ := told(t, "STORE_URL="+given)
		if got := handed["STORE_URL"]; got != want {
			t.Errorf("%q: the handler keeps its records in %q, want %q", given, got, want)
		}
		if file, ok := strings.CutPrefix(want, "sqlite:"); ok {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%q: the host reads another file: %v", given, err)
			}
		}
	}
}

// TestErrorsHoldNoMarker asks for queues, properties and methods of hostile names.
func TestErrorsHoldNoMarker(t *testing.T) {
	d, err := openData(options{data: inMemory}, settings{}.withQueues(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.close() })
	var log bytes.Buffer
	h := &host{settings: settings{"GANGWAY_URL=http://prow.example"}.withQueues(), clock: time.Now, logTo: &log, log: newLog(&log, true), data: d, url: "http://127.0.0.1:1"}
	mux, err := h.routes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	marker := strings.ToUpper(gate.Marker(gate.KnownIssueEligible))
	for _, c := range []struct {
		method, path, properties string
		status                   int
	}{
		{"GET", "/" + marker, "", 404},
		{"GET", "/gate-poll/" + marker, "", 400},
		{"POST", "/" + marker + "/messages", "", 404},
		{"POST", "/gate-poll/messages", fmt.Sprintf(`{%q:1}`, marker), 400},
		{marker, "/gate-poll", "", 405},
		{"GET", "/api/" + marker, "", 404},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody)
		r.Header.Set("BrokerProperties", c.properties)
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, r); w.Code != c.status || gate.HasMarker(w.Body.String()) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
