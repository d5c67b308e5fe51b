// Package azurefn speaks the custom-handler protocol of the Azure Functions host: the host posts one
// JSON document per invocation to /<function> and reads one JSON document back.
//
// The host is strict in one direction and loose in the other. A 2xx answer with an empty body leaves
// the invocation open for ever, and a wrong content type fails it (azure-functions-host,
// DefaultHttpWorkerService.cs); so every answer is encoded before its header is written, and there is
// one place that writes. What the host sends comes in several wrappings, which peel.go takes off by
// rule.
//
// Entry points: New for the http.Handler, NewLog for the log handler whose lines reach the host.
package azurefn

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// MaxBody is the largest invocation that is read, 4 MiB. The host encodes a text as JSON twice, which
// makes four bytes of each quotation mark and at most seven of any other character: 256 KB, the most
// that a message of prowgate may have, always fit, and so does 1 MiB of ordinary JSON.
const MaxBody = 4 << 20

// Invocation is one call of a function, with the host's wrappings taken off. What the host did not
// send, or sent in a form of which nothing can be made, is zero: only Body decides anything.
type Invocation struct {
	Function      string
	ID            string // the host's invocation id
	MessageID     string
	SessionID     string
	DeliveryCount int // 1 at the first delivery
	EnqueuedAt    time.Time
	Trace         string // the sender's W3C traceparent, as the message carries it and unchecked
	Body          []byte // the message as it was sent, or the timer's state
}

// Handler handles one invocation. An error fails it: the host gives the message back for redelivery
// at once, and the queue dead-letters it after its last delivery. ctx ends when the host hangs up or
// Config.Timeout has passed. Handlers run at once with others and with themselves.
type Handler func(ctx context.Context, in Invocation) error

// Config says what to serve.
type Config struct {
	Functions map[string]Handler // by the name of the function's folder
	HTTP      HTTPFunction       // the one with an HTTP trigger, if there is one
	Log       *slog.Logger       // nil is silent; see NewLog
	Timeout   time.Duration      // how long one invocation may take; 0 means without a limit
	Secret    string             // what every request but GET / has to bring as SecretHeader; empty: nothing

	// Wait says how long to hold the answer to a failed message, which the host gives back to its queue at once:
	// it is the only way to have it come again later. Nil holds none. delivery is 1 at the first delivery.
	Wait func(err error, delivery int) time.Duration
}

// New returns the handler that the host talks to. It answers every request with JSON, outlives a
// panicking function, and answers GET / as soon as it serves, which is what the host waits for. Anything else it
// answers to the host alone; see guard.go for how it tells.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	names := slices.Collect(maps.Keys(c.Functions))
	if c.HTTP.Handler != nil {
		names = append(names, c.HTTP.Name)
	}
	slices.Sort(names)
	return &server{Config: c, names: names}
}

type server struct {
	Config
	names []string
}

// ServeHTTP answers one request of the host.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	handle, ok := s.Functions[name]
	if name == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set(ProofHeader, Proof(s.Secret))
		write(w, http.StatusOK, ready{Functions: s.names})
		return
	}
	status, why := s.guard(r)
	switch {
	case status != 0:
		s.refuse(w, r, status, why)
	case s.HTTP.takes(r):
		s.handOn(w, r)
	case !ok && name != "":
		s.refuse(w, r, http.StatusNotFound, "there is no function of this name")
	case r.Method != http.MethodPost:
		s.refuse(w, r, http.StatusBadRequest, "a function is called by POST")
	case name == "":
		s.refuse(w, r, http.StatusNotFound, "POST needs the name of a function")
	default:
		s.invoke(w, r, name, handle)
	}
}

// refuse answers a request that is no invocation.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	s.Log.WarnContext(r.Context(), "request refused", "status", status, "method", r.Method, "path", r.URL.Path, "why", text)
	write(w, status, failed(nil, text))
}
