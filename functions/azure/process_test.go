package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sent is a message that the handler has put on a queue.
type sent struct {
	queue string
	body  map[string]any
}

// broker is the sending side of the local host's queues.
func broker(t *testing.T) (url string, messages <-chan sent) {
	t.Helper()
	got := make(chan sent, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queue, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "/messages")
		s := sent{queue: queue}
		if err := json.NewDecoder(r.Body).Decode(&s.body); err != nil || r.Method != http.MethodPost || !ok {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- s
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, got
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	var listen net.ListenConfig
	ln, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

// handler is a running process of the built program.
type handler struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	ready  time.Duration // from the start to the first answer
	stdout *bufio.Reader
	stderr *bytes.Buffer
}

// build makes the program as it is packaged.
func build(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "handler")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", exe, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return exe
}

// command prepares the program with these settings alone.
func command(t *testing.T, exe string, env ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env, cmd.Stderr = env, &stderr
	return cmd, &stderr
}

// launch starts the program and waits until it answers. The host retries a refused connection; the
// test waits for the line that says that it listens.
func launch(t *testing.T, exe string, env ...string) *handler {
	t.Helper()
	port := freePort(t)
	cmd, stderr := command(t, exe, append(env, "FUNCTIONS_CUSTOMHANDLER_PORT="+strconv.Itoa(port))...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	h := &handler{t: t, cmd: cmd, url: fmt.Sprintf("http://127.0.0.1:%d", port), stdout: bufio.NewReader(stdout), stderr: stderr}
	if line, err := h.stdout.ReadString('\n'); err != nil || !strings.Contains(line, `"listening"`) {
		t.Fatalf("stdout %q, %v, stderr %s", line, err, stderr)
	}
	h.alive()
	h.ready = time.Since(start)
	return h
}

func (h *handler) alive() {
	h.t.Helper()
	if status, body := h.do(http.MethodGet, "/", nil); status != http.StatusOK || !strings.Contains(body, `"sweep"`) {
		h.t.Errorf("GET /: %d %s", status, body)
	}
}

func (h *handler) do(method, path string, body io.Reader) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("X-Azure-Functions-InvocationId", "i-1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil || !json.Valid(raw) || res.Header.Get("Content-Type") != "application/json" {
		h.t.Errorf("%s %s: %v, %s %q", method, path, err, res.Header.Get("Content-Type"), raw)
	}
	return res.StatusCode, string(raw)
}

// invoke calls a function with a message in the form in which the host sends a text.
func (h *handler) invoke(function, message string) (int, string) {
	h.t.Helper()
	literal, err := json.Marshal(message)
	if err != nil {
		h.t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		"Data":     map[string]any{"message": string(literal)},
		"Metadata": map[string]any{"DeliveryCount": "1", "MessageId": `"m-1"`, "sys": map[string]any{"MethodName": function}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.do(http.MethodPost, "/"+function, bytes.NewReader(body))
}

// end sends SIGTERM and waits; whoever reads the rest of stdout first waits for nothing.
func (h *handler) end() string {
	h.t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		h.t.Fatal(err)
	}
	rest, err := io.ReadAll(h.stdout)
	if err != nil {
		h.t.Error(err)
	}
	if err := h.cmd.Wait(); err != nil {
		h.t.Errorf("SIGTERM: %v, stderr %s", err, h.stderr)
	}
	return string(rest)
}

// rss returns the resident memory of the process in bytes.
func (h *handler) rss() int {
	h.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	if err != nil {
		h.t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "VmRSS:")
	fields := strings.Fields(text)
	if len(fields) == 0 {
		h.t.Fatal("no VmRSS in the process's status")
	}
	kib, err := strconv.Atoi(fields[0])
	if err != nil {
		h.t.Fatal(err)
	}
	return kib << 10
}

// settings are those of a handler beside a broker; the record store is a file of its own.
func settings(t *testing.T, brokerURL string) []string {
	t.Helper()
	// Nobody listens there: these messages need no job.
	nowhere := fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	return []string{
		"QUEUE_URL=" + brokerURL, "STORE_URL=sqlite:" + filepath.Join(t.TempDir(), "records.db"),
		"GANGWAY_URL=" + nowhere, "PROW_URL=" + nowhere, "ARTIFACTS_URL=" + nowhere,
		"GANGWAY_TOKEN=hush-hush", "LOG_LEVEL=debug",
	}
}
