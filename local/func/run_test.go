package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tools puts programs of our own in place of everything on PATH. Each writes down how it was called, and does
// what its text says.
func tools(t *testing.T, programs map[string]string) (calls func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	for name, text := range programs {
		script := "#!/bin/sh\necho \"" + name + " $*\" >>'" + log + "'\n" + text + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return func() string {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	const good = "exit 0"
	for _, c := range []struct {
		programs map[string]string
		eula     string
		want     []string
	}{
		{nil, "", []string{"func is not installed", "docker is not installed", "ACCEPT_EULA"}},
		{map[string]string{"func": good, "docker": `[ "$1" = compose ] && exit 1; exit 0`}, "Y", []string{"Compose"}},
		{map[string]string{"func": good, "docker": `[ "$1" = info ] && exit 1; exit 0`}, "Y", []string{"daemon"}},
		{map[string]string{"func": good, "docker": good}, "y", []string{"ACCEPT_EULA"}},
		{map[string]string{"docker": good}, "Y", []string{"func is not installed"}},
		{map[string]string{"func": good, "docker": good}, "Y", nil},
	} {
		tools(t, c.programs)
		t.Setenv("ACCEPT_EULA", c.eula)
		err := run(t.Context(), []string{"--files", ".", "--check"}, io.Discard, time.Now)
		lines := 0
		if err != nil {
			lines = strings.Count(err.Error(), "\n") - 1 // the first line and the last say it of all
		}
		if (err == nil) != (c.want == nil) || lines != len(c.want) && err != nil {
			t.Errorf("%v: %v", c.programs, err)
		}
		for _, w := range c.want {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%v: %v does not say %s", c.programs, err, w)
			}
		}
	}
}

// files is a folder with settings that point at the given services, and a deployable folder without anything.
func files(t *testing.T, prow, tables string) (args []string, dist string) {
	t.Helper()
	dir, dist := t.TempDir(), t.TempDir()
	store := "AccountName=devstoreaccount1;AccountKey=a2V5;TableEndpoint=" + tables + "/devstoreaccount1;TableName=gates"
	text, err := json.Marshal(map[string]any{"Values": map[string]string{"GANGWAY_URL": prow, "STORE_URL": store}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, settingsFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--files", dir, "--package", dist}, dist
}

// free is a base URL at which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// emulators is a Service Bus emulator that becomes ready and a storage that makes tables, or answers otherwise.
func emulators(t *testing.T, tableStatus int) *httptest.Server {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			if asked++; asked == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(tableStatus)
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestRunStartsEverythingAndEndsIt(t *testing.T) {
	t.Setenv("ACCEPT_EULA", "Y")
	for _, c := range []struct {
		name, docker, fn string
		tables           int
		want             string // of the error
		started          bool
	}{
		{"all is well", "exit 0", "exit 0", http.StatusCreated, "", true},
		{"the table is there already", "exit 0", "exit 0", http.StatusConflict, "", true},
		{"the table cannot be made", "exit 0", "exit 0", http.StatusForbidden, "table", false},
		{"the containers do not start", `[ "$4" = up ] && exit 1; exit 0`, "exit 0", http.StatusCreated, "docker compose up", false},
		{"func fails", "exit 0", "exit 3", http.StatusCreated, "func start", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := emulators(t, c.tables)
			args, dist := files(t, free(t), server.URL)
			calls := tools(t, map[string]string{"docker": c.docker, "func": c.fn})
			err := run(t.Context(), append(args, "--health", server.URL+"/health"), io.Discard, time.Now)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || strings.Contains(errorText(err), "a2V5") {
				t.Errorf("got %v", err)
			}
			if got := strings.Contains(calls(), "func start"); got != c.started {
				t.Errorf("func was started: %t\n%s", got, calls())
			}
			if !strings.HasSuffix(calls(), " down --volumes\n") {
				t.Errorf("the containers are left running: %s", calls())
			}
			if _, err := os.Stat(filepath.Join(dist, settingsFile)); (err == nil) != c.started {
				t.Errorf("settings in the folder: %v", err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// While func runs the stand-in for Prow answers; the end of the context ends func as a person would.
func TestRunServesProwUntilItIsStopped(t *testing.T) {
	t.Setenv("ACCEPT_EULA", "Y")
	server, prow := emulators(t, http.StatusCreated), free(t)
	args, _ := files(t, prow, server.URL)
	tools(t, map[string]string{"docker": "exit 0", "func": "/bin/sleep 60 >/dev/null 2>&1 &\ntrap 'kill $!; echo stopped; exit 130' INT\necho started\nwait"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append(args, "--health", server.URL+"/health"), in, time.Now)
		_ = in.Close() // always nil
		ended <- err
	}()
	line := make([]byte, len("started\n"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "started\n" {
		t.Fatalf("%q, %v", line, err)
	}
	answer, err := http.Get(prow + "/prowjobs.js")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("the stand-in: %v, %v", answer, err)
	}
	_ = answer.Body.Close()
	stop()
	rest, err := io.ReadAll(out)
	if err != nil || !strings.Contains(string(rest), "stopped") {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestProwElsewhereIsLeftAlone(t *testing.T) {
	end, err := serveProw(t.Context(), "https://gangway.example", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := serveProw(t.Context(), "", time.Now); err == nil {
		t.Error("no URL is taken for one")
	}
}

func TestEmulatorThatIsNeverReady(t *testing.T) {
	sick := httptest.NewServer(http.NotFoundHandler())
	defer sick.Close()
	if err := ready(t.Context(), sick.URL, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestBadCommandLine(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--what"}, &out, time.Now); err == nil || !strings.Contains(out.String(), "--what") && !strings.Contains(err.Error(), "what") {
		t.Errorf("%v, %s", err, out.String())
	}
	if err := run(t.Context(), []string{"rest"}, &out, time.Now); err == nil {
		t.Error("an argument too many")
	}
	if err := run(t.Context(), []string{"-h"}, &out, time.Now); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
	if err := run(t.Context(), []string{"--files", t.TempDir()}, &out, time.Now); err == nil || !strings.Contains(err.Error(), settingsFile) {
		t.Errorf("no settings: %v", err)
	}
}
