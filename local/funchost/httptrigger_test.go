package funchost

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"prowgate/shared/azurefn"
	"prowgate/shared/gate"
)

const (
	forwardingHost = `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"handler"},"enableForwardingHttpRequest":true}}`
	goodHTTP       = `{"bindings":[{"type":"httpTrigger","direction":"in","name":"req","authLevel":"function","methods":["get"],"route":"{*path}"},{"type":"http","direction":"out","name":"res"}]}`
)

func TestLoadHTTP(t *testing.T) {
	p, err := Load(folder(t, map[string]string{"host.json": forwardingHost, "handler": "", "page/function.json": goodHTTP}), someSettings)
	if err != nil || len(p.Functions) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	f := p.Functions[0]
	if f.Name != "page" || f.Queue != "" || f.Schedule != nil || f.HTTP == nil || f.HTTP.Route != "{*path}" || len(f.HTTP.Methods) != 1 || f.HTTP.Methods[0] != "GET" {
		t.Errorf("%+v", f)
	}
	for _, c := range []struct{ file, old, new, want string }{
		{"host.json", "true", "false", "host.json: customHandler.enableForwardingHttpRequest: must be true"},
		{"page/function.json", `,{"type":"http","direction":"out","name":"res"}`, "", "needs a binding of type http"},
		{"page/function.json", `"out"`, `"in"`, "has 2 entries"},
		{"page/function.json", `"type":"http",`, `"type":"queue",`, "has 2 entries"},
		{"page/function.json", `{*path}`, `{id}`, "bindings[0].route"},
		{"page/function.json", `{*path}`, `a{*path}`, "bindings[0].route"},
		{"page/function.json", `{*path}`, `{*path}/a`, "bindings[0].route"},
		{"page/function.json", `"function"`, `"everybody"`, "bindings[0].authLevel"},
		{"page/function.json", `"authLevel"`, `"authlevel2"`, "unknown field"},
	} {
		files := map[string]string{"host.json": forwardingHost, "handler": "", "page/function.json": goodHTTP}
		files[c.file] = strings.Replace(files[c.file], c.old, c.new, 1)
		if _, err := Load(folder(t, files), someSettings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %q: %v, want %q", c.file, c.new, err, c.want)
		}
	}
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		route, path string
		want        bool
	}{
		{"{*path}", "/api/page", true},
		{"{*path}", "/api/gates/g1", true},
		{"{*path}", "/page", false},
		{"status/{*rest}", "/api/status/a/b", true},
		{"status/{*rest}", "/api/status", true},
		{"status/{*rest}", "/api/statuses", false},
		{"page", "/api/page", true},
		{"page", "/api/page/a", false},
	} {
		if got := (&HTTPTrigger{Route: c.route}).takes(c.path); got != c.want {
			t.Errorf("%s takes %s: %v", c.route, c.path, got)
		}
	}
}

// forwarder is a host whose handler is at that address; nowhere when it is empty.
func forwarder(t *testing.T, address string) *Host {
	t.Helper()
	h := testHost(t, Package{MaxConcurrentCalls: 1, Functions: []Function{{Name: "page", HTTP: &HTTPTrigger{Route: "{*path}", Methods: []string{"GET"}}}}}, testBroker())
	if address != "" {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		h.serving.Store(&target{base: u, secret: "s"})
	}
	return h
}

func ask(t *testing.T, h http.Handler, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w
}

// TestForwarding hands a request over as it is, and the answer back.
func TestForwarding(t *testing.T) {
	handler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %v %s %s", r.Method, r.URL, r.Host, r.Header.Get("X-Azure-Functions-InvocationId") != "", r.Header.Get("X-Azure-Functions-HostVersion"), r.Header.Get(azurefn.SecretHeader))
	}))
	t.Cleanup(handler.Close)
	w := ask(t, forwarder(t, handler.URL), http.MethodGet, "http://gate.example/api/page?q=a%20b&code=k")
	if want := "GET /api/page?q=a%20b&code=k gate.example true " + hostVersion + " s"; w.Code != http.StatusTeapot || w.Body.String() != want || w.Header().Get("Content-Type") != "text/html" {
		t.Errorf("%d %v %s, want %s", w.Code, w.Header(), w.Body, want)
	}
	for path, want := range map[string]int{"/other": 404} {
		if w := ask(t, forwarder(t, handler.URL), http.MethodGet, path); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := ask(t, forwarder(t, handler.URL), http.MethodPost, "/api/page"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET" {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}
}

func TestForwardingToNobody(t *testing.T) {
	if w := ask(t, forwarder(t, ""), http.MethodGet, "/api/page"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("before the handler is ready: %d", w.Code)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if w := ask(t, forwarder(t, gone.URL), http.MethodGet, "/api/page"); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), `"error"`) {
		t.Errorf("after it has died: %d %s", w.Code, w.Body)
	}
}

// A method is any word; what says that it does not work repeats no marker.
func TestRefusalHoldsNoMarker(t *testing.T) {
	for _, method := range []string{gate.Marker(gate.KnownIssueEligible), strings.ToUpper(gate.Marker(gate.InfraPreconditionEligible))} {
		w := ask(t, forwarder(t, "http://127.0.0.1:1"), method, "/api/page")
		if rest := method[len(method)-9:]; w.Code != http.StatusMethodNotAllowed || gate.HasMarker(w.Body.String()) || !strings.Contains(w.Body.String(), rest) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
