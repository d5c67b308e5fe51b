package gangwaytest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const maxRequest = 4 << 20

const loginPage = `<!DOCTYPE html>
<html><head><title>Log In</title></head>
<body><h1>Log in with OpenShift</h1><form method="GET" action="/oauth/start"></form></body></html>
`

func proxyPage(code int) string {
	title := strconv.Itoa(code) + " " + http.StatusText(code)
	return "<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title +
		"</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
}

// breakage says how an answer fails to arrive.
type breakage int

const (
	whole breakage = iota
	cutConnection
	cutBody
	noAnswer
	refused
)

// reply is an answer before it is written to a socket or handed over in process.
type reply struct {
	status int
	header http.Header
	body   []byte
	broken breakage
}

func newReply(status int, contentType string, body []byte) reply {
	return reply{status: status, header: http.Header{"Content-Type": {contentType}}, body: body}
}

func jsonReply(status int, body []byte) reply { return newReply(status, "application/json", body) }

func htmlReply(status int, page string) reply {
	return newReply(status, "text/html; charset=utf-8", []byte(page))
}

func textReply(status int, text string) reply {
	return newReply(status, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// call is a request under way.
type call struct {
	*http.Request
	now     time.Time
	body    []byte
	arg     string // the variable part of the path
	fault   Fault
	changed bool // the World's lasting state was changed
}

type handler func(*World, *call) reply

// ServeHTTP serves all surfaces. It works below a path prefix with http.StripPrefix.
func (w *World) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rep := w.answer(r)
	switch rep.broken {
	case cutConnection, refused:
		panic(http.ErrAbortHandler)
	case noAnswer:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case whole, cutBody:
	}
	for k, v := range rep.header {
		rw.Header()[k] = v
	}
	rw.Header().Set("Content-Length", strconv.Itoa(len(rep.body)))
	rw.WriteHeader(rep.status)
	if rep.broken == cutBody {
		_, _ = rw.Write(rep.body[:len(rep.body)/2])
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = rw.Write(rep.body) // a client that has gone needs no answer
}

// answer works on a request and returns what the client gets.
func (w *World) answer(r *http.Request) reply {
	c := &call{Request: r}
	if r.Body != nil {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
		if err != nil {
			return reply{broken: cutConnection}
		}
		c.body = body
	}
	var rep reply
	w.locked(func(now time.Time) {
		c.now = now
		rep = w.dispatch(c)
	})
	if rep.header != nil {
		rep.header.Set("Date", c.now.UTC().Format(http.TimeFormat))
	}
	if c.changed {
		w.changed()
	}
	return rep
}

func (w *World) dispatch(c *call) reply {
	e, handle, ok := route(c)
	if !ok {
		return textReply(http.StatusNotFound, "404 page not found")
	}
	if e == "" {
		return handle(w, c)
	}
	w.counts[e]++
	c.fault = w.fault(e, w.counts[e])
	if c.fault.Mode == Refuse {
		return c.fault.spoil(reply{})
	}
	if !e.gangway() {
		return w.faulty(c, handle)
	}
	rep := w.behindProxy(e, c, handle)
	w.requests = append(w.requests, Request{At: c.now, Endpoint: e, Status: rep.status})
	return rep
}

// behindProxy lets a request pass the rate limit and the login, as nginx orders them.
func (w *World) behindProxy(e Endpoint, c *call, handle handler) reply {
	if !w.limit.allow(c.now, w.opts.RatePerMinute, w.opts.Burst) {
		return Fault{Status: http.StatusTooManyRequests, RetryAfter: w.opts.RetryAfter}.answer()
	}
	bad := w.opts.Token != "" && c.Header.Get("Authorization") != "Bearer "+w.opts.Token
	if bad || e == BulkChange && w.opts.BulkForbidden {
		handle = func(*World, *call) reply { return htmlReply(http.StatusForbidden, loginPage) }
	}
	return w.faulty(c, handle)
}

func (w *World) faulty(c *call, handle handler) reply {
	if c.fault.instead() {
		return c.fault.spoil(jsonReply(http.StatusOK, []byte(`{"id":"00000000-0000-0000-0000-000000000000"}`)))
	}
	return c.fault.spoil(handle(w, c))
}

// route finds what serves a request; the endpoint is empty for pages and the admin surface.
func route(c *call) (Endpoint, handler, bool) {
	path := c.URL.Path
	switch {
	case path == "/v1/executions" && c.Method == http.MethodPost:
		return Create, (*World).create, true
	case path == "/v1/bulk-job-status-update" && c.Method == http.MethodPost:
		return BulkChange, (*World).bulkChange, true
	case strings.HasPrefix(path, "/admin/"):
		return "", (*World).admin, true
	case c.Method != http.MethodGet && c.Method != http.MethodHead:
		return "", nil, false
	case path == "/v1/executions":
		return List, (*World).list, true
	case path == "/prowjob":
		return DeckJob, (*World).deckJob, true
	case path == "/prowjobs.js":
		return DeckJobs, (*World).deckJobs, true
	case path == "/storage/v1/b/"+Bucket+"/o":
		return ObjectList, (*World).listObjects, true
	}
	return routePrefix(c, path)
}

func routePrefix(c *call, path string) (Endpoint, handler, bool) {
	for _, p := range []struct {
		prefix   string
		endpoint Endpoint
		handle   handler
	}{
		{"/v1/executions/", Get, (*World).get},
		{"/view/gs/" + Bucket + "/", "", (*World).view},
		{"/" + Bucket + "/", ObjectRead, (*World).readObject},
	} {
		if rest, ok := strings.CutPrefix(path, p.prefix); ok {
			c.arg = rest
			return p.endpoint, p.handle, true
		}
	}
	return "", nil, false
}

// grpcError is an error as the transcoding proxy puts it: the gRPC code and its message.
func grpcError(code int, format string, args ...any) reply {
	status := map[int]int{invalidArgument: http.StatusBadRequest}[code]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return jsonReply(status, marshal(map[string]any{
		"code": code, "message": fmt.Sprintf(format, args...), "details": []any{},
	}))
}

// The gRPC codes Gangway uses. An error without a code is unknown.
const (
	unknown         = 2
	invalidArgument = 3
)
