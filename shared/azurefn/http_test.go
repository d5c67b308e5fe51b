package azurefn_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"prowgate/shared/azurefn"
)

// httpHost is a handler with an HTTP function beside a function for messages.
func httpHost(t *testing.T, page http.HandlerFunc, timeout time.Duration) (func(method, path string) *httptest.ResponseRecorder, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	log := slog.New(azurefn.NewLog(&out, slog.LevelDebug))
	work := func(context.Context, azurefn.Invocation) error { return nil }
	c := azurefn.Config{Functions: map[string]azurefn.Handler{"work": work}, Log: log, Timeout: timeout}
	if page != nil {
		c.HTTP = azurefn.HTTPFunction{Name: "page", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			log.InfoContext(r.Context(), "asked")
			page(w, r)
		})}
	}
	h := azurefn.New(c)
	return func(method, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(`{"Data":{"message":"{}"}}`))
		r.Header.Set("X-Azure-Functions-InvocationId", "i-1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}, &out
}

// TestHTTPFunctionAnswersAsItIs: whatever the answer's kind, the host gets it as it was made.
func TestHTTPFunctionAnswersAsItIs(t *testing.T) {
	call, out := httpHost(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "<p>%s %s", r.Method, r.URL.RequestURI())
	}, 0)
	w := call(http.MethodGet, "/api/page?code=k&q=a%20b")
	if w.Code != http.StatusTeapot || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Body.String() != "<p>GET /api/page?code=k&q=a%20b" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if text := out.String(); !strings.Contains(text, `"function":"page","invocation":"i-1"`) || strings.Contains(text, "code=k") {
		t.Errorf("log %s", text)
	}
	if w := call(http.MethodGet, "/"); !strings.Contains(w.Body.String(), `["page","work"]`) {
		t.Errorf("ready: %s", w.Body)
	}
	if w := call(http.MethodPost, "/work"); w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), `{"Outputs":{}`) {
		t.Errorf("a message: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/page", "/api", "/apipage"} {
		if w := call(http.MethodPost, path); w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestHTTPFunctionMayPanic(t *testing.T) {
	call, out := httpHost(t, func(http.ResponseWriter, *http.Request) { panic("oh") }, 0)
	w := call(http.MethodGet, "/api/page")
	if body, err := io.ReadAll(w.Body); w.Code != 500 || err != nil || strings.Contains(string(body), "oh") || !strings.Contains(out.String(), `"error":"oh"`) {
		t.Errorf("%d %s, log %s", w.Code, body, out)
	}
}

func TestHTTPFunctionHasItsTime(t *testing.T) {
	call, _ := httpHost(t, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		w.WriteHeader(http.StatusGatewayTimeout)
	}, time.Millisecond)
	if w := call(http.MethodGet, "/api/page"); w.Code != http.StatusGatewayTimeout {
		t.Error(w.Code)
	}
}

func TestWithoutHTTPFunction(t *testing.T) {
	call, _ := httpHost(t, nil, 0)
	if w := call(http.MethodGet, "/api/page"); w.Code != http.StatusNotFound {
		t.Error(w.Code)
	}
}
