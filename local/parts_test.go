package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prowgate/shared/config"
	"prowgate/shared/gate"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"--listen", "127.0.0.1:0", "--data", "x.db", "--package", "p", "--standin-job-time", "3s", "--quiet"}, io.Discard)
	if err != nil || o.listen != "127.0.0.1:0" || !filepath.IsAbs(o.data) || filepath.Base(o.data) != "x.db" ||
		o.packageDir != "p" || o.jobTime != 3*time.Second || !o.quiet {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parseOptions(nil, io.Discard); err != nil || o.listen != "127.0.0.1:7071" || o.quiet {
		t.Errorf("defaults %+v, %v", o, err)
	}
	if o, err := parseOptions([]string{"--data", "memory"}, io.Discard); err != nil || o.data != inMemory {
		t.Errorf("memory: %+v, %v", o, err)
	}
	for _, args := range [][]string{{"--nothing"}, {"rest"}, {"--listen", "7071"}, {"--data", ""}, {"--data", "dir/"}, {"--standin-job-time", "0s"}} {
		if _, err := parseOptions(args, io.Discard); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := parseOptions([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) || errors.As(err, new(usageError)) {
		t.Errorf("help: %v", err)
	}
}

func TestSettings(t *testing.T) {
	s := settings{"A=1", "B=", "A=2", "GANGWAY_TOKEN=secret", "GANGWAY_TOKEN_URI=https://v.vault.azure.net/secrets/t", "PROW_URL=http://deck"}
	if v, ok := s.lookup("A"); v != "2" || !ok {
		t.Errorf("A is %q", v)
	}
	if _, ok := s.lookup("B"); ok {
		t.Error("an empty setting counts as missing")
	}
	s = s.withQueues().filled("B", "3").withStandIn("http://standin")
	for name, want := range map[string]string{
		"B": "3", "POLL_QUEUE": "gate-poll", "GANGWAY_URL": "http://standin", "PROW_URL": "http://deck",
		"ARTIFACTS_URL": "http://standin", "GANGWAY_TOKEN": "local", "GANGWAY_TOKEN_URI": "",
	} {
		if v, _ := s.lookup(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if _, err := (settings{"N=x"}).number("N", 1, 1); err == nil {
		t.Error("x is no number")
	}
	if _, err := (settings{"N=0"}).number("N", 1, 1); err == nil {
		t.Error("0 is too small")
	}
	if n, err := (settings{"N=0"}).number("N", 1, 0); n != 0 || err != nil {
		t.Errorf("0 is %d, %v", n, err)
	}
}

// TestSameDefaults compares what the host fills in with what the handler would take by itself.
func TestSameDefaults(t *testing.T) {
	want := map[string]string{rateSetting: "9", burstSetting: "5"}
	for _, q := range queueSettings {
		want[q.setting] = q.name
	}
	for _, s := range config.Describe() {
		if v, ok := want[s.Name]; ok && v != s.Default {
			t.Errorf("%s: the handler takes %q, the host %q", s.Name, s.Default, v)
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("settings that the handler does not know: %v", want)
	}
}

func TestGuard(t *testing.T) {
	inner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	ask := func(loopback bool, method, host, origin string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "/gate-submit/messages", nil)
		r.Host = host
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		guarded(inner, loopback).ServeHTTP(w, r)
		return w.Code
	}
	for _, host := range []string{"127.0.0.1:7071", "localhost:7071", "LOCALHOST", "[::1]:7071", "[::1]", "127.0.0.1"} {
		if code := ask(true, "POST", host, ""); code != http.StatusNoContent {
			t.Errorf("%s: %d", host, code)
		}
	}
	for _, host := range []string{"evil.example:7071", "127.0.0.1.evil.example", "", "localhost.evil.example", "10.0.0.1:7071"} {
		if code := ask(true, "GET", host, ""); code != http.StatusMisdirectedRequest {
			t.Errorf("%q: %d", host, code)
		}
	}
	if code := ask(false, "GET", "gate.example:7071", ""); code != http.StatusNoContent {
		t.Errorf("not on loopback: %d", code)
	}
	if code := ask(true, "POST", "localhost:7071", "http://evil.example"); code != http.StatusForbidden {
		t.Errorf("a page of another origin: %d", code)
	}
	if code := ask(true, "POST", "localhost:7071", "http://localhost:7071"); code != http.StatusNoContent {
		t.Errorf("our own page: %d", code)
	}
}

func TestLogHoldsNoMarker(t *testing.T) {
	var b bytes.Buffer
	newLog(&b, true).Info("not logged when quiet")
	newLog(&b, true).Warn("failed", "why", strings.ToUpper(gate.Marker(gate.KnownIssueEligible)))
	if gate.HasMarker(b.String()) || strings.Count(b.String(), "\n") != 1 || !strings.HasPrefix(b.String(), "local: ") {
		t.Errorf("log %q", b.String())
	}
}

// TestMemoryLeavesNothing opens and closes data in memory.
func TestMemoryLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := openData(options{data: inMemory}, settings{}.withQueues(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(d.storeURL, "sqlite:")
	if _, err := os.Stat(file); err != nil || d.records == nil || d.db != nil {
		t.Errorf("%+v, %v", d, err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}
}

// TestOneHostPerFile opens a data file twice.
func TestOneHostPerFile(t *testing.T) {
	o := options{data: filepath.Join(t.TempDir(), "odd name?%20.db")}
	open := func() (*data, error) { return openData(o, settings{}.withQueues(), time.Now) }
	d, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("the second host: %v", err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if d, err = open(); err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

// TestOneHostPerFileBehindLinks: a link, one to nothing yet too, leads to the same lock.
func TestOneHostPerFileBehindLinks(t *testing.T) {
	dir := t.TempDir()
	file, link, linked := filepath.Join(dir, "host.db"), filepath.Join(dir, "link.db"), filepath.Join(dir, "folder")
	if err := errors.Join(os.Symlink("host.db", link), os.Symlink(dir, linked)); err != nil {
		t.Skipf("skipped: no symbolic links here: %v", err)
	}
	open := func(path string) (*data, error) {
		return openData(options{data: path}, settings{}.withQueues(), time.Now)
	}
	ways := []string{link, file, filepath.Join(linked, "host.db"), filepath.Join(linked, "link.db")}
	for _, first := range ways {
		d, err := open(first)
		if err != nil {
			t.Fatal(err)
		}
		for _, second := range ways {
			if _, err := open(second); err == nil || !strings.Contains(err.Error(), "another host") {
				t.Errorf("%s beside %s: %v", second, first, err)
			}
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := open(filepath.Join(dir, "nowhere", "host.db")); err == nil || !strings.Contains(err.Error(), "data: ") {
		t.Errorf("no such folder: %v", err)
	}
}

// TestSettingsAreCheckedAtOnce: everything that this host cannot work with, in one go.
func TestSettingsAreCheckedAtOnce(t *testing.T) {
	env := []string{rateSetting + "=none", burstSetting + "=-1", "POLL_QUEUE=q", "CANCEL_QUEUE=q", "SUBMIT_QUEUE=q"}
	err := run(t.Context(), []string{"--package", t.TempDir(), "--data", "memory", "--listen", "127.0.0.1:0"}, env, io.Discard, io.Discard)
	for _, name := range []string{"host.json", rateSetting, burstSetting, "POLL_QUEUE", "CANCEL_QUEUE"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	if err := settings(append(env[:2:2], "GANGWAY_URL=http://prow")).withQueues().check(); err != nil {
		t.Errorf("the numbers are the handler's alone where there is no stand-in: %v", err)
	}
}

func TestStoreElsewhere(t *testing.T) {
	d, err := openData(options{data: inMemory}, settings{"STORE_URL=memory:"}.withQueues(), time.Now)
	if err != nil || d.records != nil || d.storeURL != "memory:" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := openData(options{data: inMemory}, settings{"STORE_URL=nonsense"}.withQueues(), time.Now); err == nil || !strings.Contains(err.Error(), "STORE_URL") {
		t.Errorf("nonsense: %v", err)
	}
}

// TestRunFails starts hosts that cannot run, and wants the reason and nothing on the output.
func TestRunFails(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args, env []string
		want      string
	}{
		{[]string{"--package", dir}, nil, "host.json"},
		{[]string{"--what"}, nil, "not defined"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), slices.Concat(c.args, []string{"--data", "memory", "--listen", "127.0.0.1:0"}), c.env, &out, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
			t.Errorf("%v: %v, said %q", c.args, err, out.String())
		}
	}
}
