package azurefn

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
)

// httpPrefix is where the host serves functions with an HTTP trigger (host.json,
// extensions.http.routePrefix; the default).
const httpPrefix = "/api/"

// HTTPFunction is the function with an HTTP trigger. With enableForwardingHttpRequest in host.json the host
// hands on as they are the requests to a function that has an HTTP trigger, an HTTP output and nothing
// else, under their own path, and the answers likewise; every other function is invoked as ever
// (azure-functions-host, DefaultHttpWorkerService.cs, InvokeAsync). Without it a page could not be
// answered: the host writes an output's text as text/plain or as JSON, and answers 406 for any other
// content type (the same, ScriptObjectResult.cs).
//
// Who may call it is the platform's business, before the handler hears of it. Where no platform stands in front, a
// shared secret (Config.Secret) keeps everybody but the host out.
type HTTPFunction struct {
	Name    string
	Handler http.Handler // nil: there is no such function
}

// takes reports whether a request is one that the host hands on.
func (f HTTPFunction) takes(r *http.Request) bool {
	return f.Handler != nil && strings.HasPrefix(r.URL.Path, httpPrefix)
}

// handOn answers a request to the HTTP function. What it logs names the invocation as everywhere; there is no
// place for Logs in such an answer.
func (s *server) handOn(w http.ResponseWriter, r *http.Request) {
	in := Invocation{Function: s.HTTP.Name, ID: r.Header.Get(invocationHeader)}
	ctx := context.WithValue(r.Context(), scopeKey{}, &scope{in: in})
	if s.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		ctx = limited
	}
	defer func() {
		if p := recover(); p != nil {
			s.Log.ErrorContext(ctx, "the function panicked", "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			write(w, http.StatusInternalServerError, failed(nil, "the function panicked"))
		}
	}()
	s.HTTP.Handler.ServeHTTP(w, r.WithContext(ctx))
}
