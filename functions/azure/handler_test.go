package main

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestTheProgram(t *testing.T) {
	exe := build(t)
	t.Run("one message", func(t *testing.T) { oneMessage(t, exe) })
	t.Run("bad messages", func(t *testing.T) { badMessages(t, exe) })
	t.Run("bad settings", func(t *testing.T) { badSettings(t, exe) })
	t.Run("kill", func(t *testing.T) { killed(t, exe) })
	t.Run("size", func(t *testing.T) { size(t, exe) })
}

const dryRun = `{"gateId":"g-1","jobName":"job","cloud":"public","environment":"int","region":"uksouth","dryRun":true}`

// completion waits for the verdict of a gate.
func completion(t *testing.T, messages <-chan sent) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		select {
		case m := <-messages:
			if m.queue == "gate-completion" && m.body["kind"] == "completion" {
				return m.body
			}
		case <-ctx.Done():
			t.Fatal("no completion came")
		}
	}
}

// A dry run goes the whole way: host, function, engine, store, queue.
func oneMessage(t *testing.T, exe string) {
	url, messages := broker(t)
	h := launch(t, exe, settings(t, url)...)
	if status, body := h.invoke("submit", dryRun); status != http.StatusOK {
		t.Errorf("submit: %d %s", status, body)
	}
	if got := completion(t, messages); got["gateId"] != "g-1" || got["outcome"] != "dry-run" {
		t.Errorf("completion: %v", got)
	}
	if status, body := h.do(http.MethodPost, "/sweep", strings.NewReader(`{"Data":{"timer":{"IsPastDue":false}},"Metadata":{}}`)); status != http.StatusOK {
		t.Errorf("sweep: %d %s", status, body)
	}
	h.alive()
	if out := h.end() + h.stderr.String(); strings.Contains(out, "hush-hush") {
		t.Errorf("the token is in the output: %s", out)
	}
}

func badMessages(t *testing.T, exe string) {
	url, messages := broker(t)
	h := launch(t, exe, settings(t, url)...)
	for function, message := range map[string]string{"submit": `{}`, "poll": `hello`, "cancel": `[]`} {
		if status, _ := h.invoke(function, message); status != http.StatusInternalServerError {
			t.Errorf("%s %s: %d", function, message, status)
		}
	}
	if status, _ := h.do(http.MethodPost, "/submit", strings.NewReader(`[]`)); status != http.StatusBadRequest {
		t.Errorf("garbage: %d", status)
	}
	if status, body := h.invoke("submit", strings.Replace(dryRun, `"job"`, `""`, 1)); status != http.StatusOK {
		t.Errorf("a message that breaks a rule: %d %s", status, body)
	}
	if got := completion(t, messages); got["outcome"] != "rejected" {
		t.Errorf("completion: %v", got)
	}
	h.alive()
	if out := h.end(); strings.Count(out, `"invocation":"i-1"`) < 3 {
		t.Errorf("failed invocations are not in the log: %s", out)
	}
}

// Everything that is wrong is told at once, and the host is told to try again.
func badSettings(t *testing.T, exe string) {
	cmd, stderr := command(t, exe, "GANGWAY_URL=gangway", "GANGWAY_BURST=many", "GANGWAY_TOKEN=hush-hush", "STORE_URL=memory:")
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d (%v)", code, err)
	}
	for _, name := range []string{"GANGWAY_URL", "GANGWAY_BURST", "QUEUE_URL"} {
		if !strings.Contains(stderr.String(), name) {
			t.Errorf("stderr does not name %s: %s", name, stderr)
		}
	}
	if strings.Contains(stderr.String(), "hush-hush") {
		t.Errorf("the token is in the error: %s", stderr)
	}
}

// The host ends its handler by killing it; the next one finds what the first has stored.
func killed(t *testing.T, exe string) {
	url, messages := broker(t)
	env := settings(t, url)
	first := launch(t, exe, env...)
	if status, body := first.invoke("submit", dryRun); status != http.StatusOK {
		t.Fatalf("submit: %d %s", status, body)
	}
	want := completion(t, messages)
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait() // "signal: killed"
	second := launch(t, exe, env...)
	if status, body := second.invoke("submit", dryRun); status != http.StatusOK {
		t.Errorf("the repeated message: %d %s", status, body)
	}
	second.end()
	for len(messages) > 0 {
		if again := <-messages; again.body["outcome"] != nil && again.body["outcome"] != want["outcome"] {
			t.Errorf("first %v, then %v", want, again.body)
		}
	}
}

// What a start costs is paid for each burst of messages.
func size(t *testing.T, exe string) {
	info, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	if mib := info.Size() >> 20; mib >= 25 {
		t.Errorf("the program has %d MiB", mib)
	}
	url, _ := broker(t)
	h := launch(t, exe, settings(t, url)...)
	t.Logf("%.1f MiB, first answer after %v", float64(info.Size())/(1<<20), h.ready)
	if status, body := h.invoke("submit", dryRun); status != http.StatusOK {
		t.Errorf("submit: %d %s", status, body)
	}
	if runtime.GOOS != "linux" {
		t.Skip("resident memory is read from /proc, which only Linux has")
	}
	rss := h.rss()
	t.Logf("resident after one message: %.1f MiB", float64(rss)/(1<<20))
	if rss >= 30<<20 {
		t.Errorf("%d MiB are resident", rss>>20)
	}
	h.end()
}
