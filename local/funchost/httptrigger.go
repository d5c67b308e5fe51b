package funchost

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"

	"github.com/google/uuid"

	"prowgate/shared/gate"
)

// RoutePrefix is where the HTTP functions are (host.json, extensions.http.routePrefix; the default).
const RoutePrefix = "/api/"

// HTTPTrigger says which requests a function takes.
type HTTPTrigger struct {
	Route   string   // below RoutePrefix; {*name} at its end is any path
	Methods []string // in upper case; empty: all
}

// httpTrigger reads a function of an HTTP trigger and an HTTP output, the kind whose requests the host hands
// to the handler as they are (DefaultHttpWorkerService.cs, IsHttpInAndOutFunction).
func (f *Function) httpTrigger(b binding) (field string, err error) {
	route := b.Route
	if route == "" {
		route = f.Name
	}
	if head, rest, open := strings.Cut(route, "{"); open && (!strings.HasPrefix(rest, "*") || !strings.HasSuffix(rest, "}") ||
		head != "" && !strings.HasSuffix(head, "/")) {
		return "route", fmt.Errorf("is %q, only {*name} at its end is supported here", route)
	}
	levels := []string{"", "anonymous", "function", "admin"} // keys are the platform's; this host is on loopback
	if !slices.Contains(levels, b.AuthLevel) {
		return "authLevel", fmt.Errorf("is %q, must be one of anonymous, function, admin", b.AuthLevel)
	}
	f.HTTP = &HTTPTrigger{Route: route}
	for _, m := range b.Methods {
		f.HTTP.Methods = append(f.HTTP.Methods, strings.ToUpper(m))
	}
	return "", nil
}

// takes reports whether the route leads to this function.
func (t *HTTPTrigger) takes(path string) bool {
	path, ok := strings.CutPrefix(path, RoutePrefix)
	if !ok {
		return false
	}
	head, _, open := strings.Cut(t.Route, "{*")
	return open && strings.HasPrefix(path+"/", head) || path == t.Route
}

// ServeHTTP hands a request for an HTTP function to the handler and its answer back, both as they are.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(h.Package.Functions, func(f Function) bool { return f.HTTP != nil && f.HTTP.takes(r.URL.Path) })
	if i < 0 {
		refuse(w, http.StatusNotFound, "no function has this route")
		return
	}
	f := h.Package.Functions[i]
	if m := f.HTTP.Methods; len(m) > 0 && !slices.Contains(m, r.Method) {
		w.Header().Set("Allow", strings.Join(m, ", "))
		refuse(w, http.StatusMethodNotAllowed, "the function takes no "+r.Method)
		return
	}
	to := h.serving.Load()
	if to == nil {
		refuse(w, http.StatusServiceUnavailable, "the handler is not ready")
		return
	}
	h.forward(f, to).ServeHTTP(w, r)
}

func (h *Host) forward(f Function, to *target) http.Handler {
	id := uuid.NewString()
	return &httputil.ReverseProxy{
		Transport: h.client.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to.base)
			r.Out.Host = r.In.Host
			to.sign(r.Out.Header, id)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			h.Log.Warn("request not answered", "function", f.Name, "invocation", id, "error", err)
			refuse(w, http.StatusBadGateway, "the handler did not answer")
		},
	}
}

// refuse answers by itself. A text may repeat the request's method, which is any word.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"error\":%q}\n", gate.Neutralise(text)) // our own texts are the same in JSON
}
