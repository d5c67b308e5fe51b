package azurefn_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"prowgate/shared/azurefn"
)

// knock is a request with that Host and those headers, and what the handler says to it.
func knock(t *testing.T, h http.Handler, request, host string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(`{"Data":{"message":"{}"}}`))
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if !json.Valid(w.Body.Bytes()) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s: %v %s", request, w.Header(), w.Body)
	}
	return w
}

const called = "X-Azure-Functions-InvocationId"

// TestOnlyTheHostIsAnswered: what a page in a browser can send reaches no function.
func TestOnlyTheHostIsAnswered(t *testing.T) {
	calls := 0
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	})
	handler := func(secret string) http.Handler {
		return azurefn.New(azurefn.Config{
			Functions: map[string]azurefn.Handler{"submit": func(context.Context, azurefn.Invocation) error { calls++; return nil }},
			HTTP:      azurefn.HTTPFunction{Name: "page", Handler: page}, Secret: secret,
		})
	}
	const post, look, local, public = "POST /submit", "GET /api/gates", "127.0.0.1:8080", "gates.example"
	for _, c := range []struct {
		secret, request, host string
		headers               []string
		want                  int
	}{
		{"", post, local, []string{called, "i"}, 200},
		{"", post, "localhost:8080", []string{called, "i", "Content-Type", "text/plain"}, 200},
		{"", post, "[::1]:8080", []string{called, "i"}, 200},
		{"", look, public, []string{called, "i"}, 200},                                 // handed on
		{"", look, public, []string{called, "i", "Sec-Fetch-Site", "cross-site"}, 200}, // a link to the page
		{"", post, local, []string{"Content-Type", "text/plain"}, 403},                 // a form, without preflight
		{"", look, local, nil, 403},                                                    // an image, a script
		{"", post, local, []string{called, "i", "Sec-Fetch-Site", "cross-site"}, 403},
		{"", post, local, []string{called, "i", "Origin", "http://" + public}, 403},
		{"", post, public, []string{called, "i", "Sec-Fetch-Site", "same-origin"}, 421}, // a name that was let point here
		{"", post, "127.0.0.1.evil.example", []string{called, "i"}, 421},
		{"", post, "", []string{called, "i"}, 421},
		{"s", post, local, []string{called, "i", azurefn.SecretHeader, "s"}, 200},
		{"s", look, public, []string{called, "i", azurefn.SecretHeader, "s"}, 200},
		{"s", look, public, []string{called, "i"}, 403},
		{"s", look, local, []string{called, "i", azurefn.SecretHeader, "t"}, 403},
		{"s", post, local, []string{called, "i", azurefn.SecretHeader, ""}, 403},
		{"s", post, local, []string{azurefn.SecretHeader, "s"}, 403},
		{"s", "OPTIONS /submit", local, []string{"Access-Control-Request-Headers", called}, 403}, // a preflight
		{"s", "GET /", local, nil, 200},                                                          // is it ready?
	} {
		calls = 0
		w := knock(t, handler(c.secret), c.request, c.host, c.headers...)
		if w.Code != c.want || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
		if passed := calls == 1; passed != (c.request == post && c.want == 200) {
			t.Errorf("%+v: the function was called %d times", c, calls)
		}
	}
}

// TestReadyProvesTheSecret: who knows it sees that this is the handler that was given it, and nobody learns it.
func TestReadyProvesTheSecret(t *testing.T) {
	seen := map[string]bool{}
	for _, secret := range []string{"", "one", "other"} {
		w := knock(t, azurefn.New(azurefn.Config{Secret: secret}), "GET /", "127.0.0.1")
		proof := w.Header().Get(azurefn.ProofHeader)
		if proof != azurefn.Proof(secret) || seen[proof] || secret != "" && strings.Contains(proof+w.Body.String(), secret) {
			t.Errorf("%q: %q", secret, proof)
		}
		seen[proof] = true
	}
}
