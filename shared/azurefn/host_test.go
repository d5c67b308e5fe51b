package azurefn_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"prowgate/shared/azurefn"
)

const invocationID = "7d2c5a0e-31f6-4a39-9a11-6c7d1b9d0f55"

// stdout is where the log goes; the host reads it while functions write.
type stdout struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *stdout) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *stdout) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// host is a Functions host that calls one function named submit.
type host struct {
	t   *testing.T
	url string
	out *stdout
}

func newHost(t *testing.T, handle azurefn.Handler) host {
	t.Helper()
	out := &stdout{}
	srv := httptest.NewServer(azurefn.New(azurefn.Config{
		Functions: map[string]azurefn.Handler{"submit": handle},
		Log:       slog.New(azurefn.NewLog(out, slog.LevelInfo)),
	}))
	t.Cleanup(srv.Close)
	return host{t, srv.URL, out}
}

// answer is what the host reads, strictly.
type answer struct {
	Outputs     map[string]any
	Logs        []string
	ReturnValue any
	Error       string
}

func (h host) send(method, path string, body io.Reader) (int, []byte) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("X-Azure-Functions-InvocationId", invocationID)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if ct := res.Header.Get("Content-Type"); ct != "application/json" {
		h.t.Errorf("%s %s: content type %q", method, path, ct)
	}
	return res.StatusCode, raw
}

func (h host) call(method, path string, body io.Reader) (int, answer) {
	h.t.Helper()
	status, raw := h.send(method, path, body)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		h.t.Fatalf("the answer is no JSON object: %v\n%s", err, raw)
	}
	for _, name := range []string{"Outputs", "Logs", "ReturnValue"} {
		if _, ok := fields[name]; !ok {
			h.t.Errorf("the answer has no %s: %s", name, raw)
		}
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil || a.Outputs == nil || a.Logs == nil {
		h.t.Errorf("the host cannot read the answer (%v): %s", err, raw)
	}
	return status, a
}

// alive asks for readiness, as the host does after a start.
func (h host) alive() {
	h.t.Helper()
	status, raw := h.send(http.MethodGet, "/", nil)
	if status != http.StatusOK || string(raw) != `{"functions":["submit"]}` {
		h.t.Errorf("GET /: %d %s", status, raw)
	}
}

// direct is a request of the host's without a connection.
func direct(t *testing.T, body io.Reader) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/submit", body)
	r.Header.Set("X-Azure-Functions-InvocationId", invocationID)
	return r
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// twice wraps a text as the host does.
func twice(t *testing.T, text string) []byte {
	t.Helper()
	literal, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"Data": map[string]any{"message": string(literal)}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}
