package httpqueue

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

// Broker is what Handler serves; the embedded broker is one. The only Refused error of Counts is that
// of a queue that does not exist.
type Broker interface {
	queue.Sender
	queue.Receiver
	Counts(ctx context.Context, queue string) (depth.Counts, error)
}

// The bounds of the query parameter timeout: what a receiver waits when it does not say, as in Service
// Bus, and the longest it may wait at once.
const (
	defaultWait = 60 * time.Second
	longestWait = 10 * time.Minute
)

// Handler serves the broker's queues below the path it is mounted at. A message received for good is
// removed when all of it has been written and before the answer's end is: a client that is gone, or a
// process that dies in between, leaves it in the queue, and a client that sees the end has it alone. Each of texts
// changes what an error says before it is answered; what errors may not say is the caller's to know.
func Handler(b Broker, texts ...func(string) string) http.Handler {
	s := server{b, texts}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, err := parseTarget(r)
		if err != nil {
			s.fail(w, http.StatusBadRequest, problem{Error: err.Error(), Code: codeBadRequest})
			return
		}
		if _, err := b.Counts(r.Context(), t.queue); fault.Is(err, fault.Refused) {
			s.fail(w, http.StatusNotFound, problem{Error: err.Error(), Code: codeUnknownQueue})
			return
		}
		s.route(w, r, t)
	})
}

type server struct {
	b     Broker
	texts []func(string) string
}

func (s server) route(w http.ResponseWriter, r *http.Request, t target) {
	verbs := map[string]map[string]func(http.ResponseWriter, *http.Request, target){
		"queue":    {"GET": s.counts},
		"messages": {"POST": s.send},
		"head":     {"POST": s.receive, "DELETE": s.receiveAndDelete},
		"lock":     {"DELETE": s.complete, "PUT": s.abandon, "POST": s.renew},
	}[t.kind]
	serve, ok := verbs[r.Method]
	if !ok {
		for verb := range verbs {
			w.Header().Add("Allow", verb)
		}
		s.fail(w, http.StatusMethodNotAllowed, problem{Error: r.Method + " does not work here", Code: codeBadRequest})
		return
	}
	serve(w, r, t)
}

func (s server) counts(w http.ResponseWriter, r *http.Request, t target) {
	c, err := s.b.Counts(r.Context(), t.queue)
	if err != nil {
		s.failWith(w, err)
		return
	}
	answer(w, http.StatusOK, c)
}

func (s server) send(w http.ResponseWriter, r *http.Request, t target) {
	m, err := readMessage(r.Header.Get(propertiesHeader))
	if bad := (*propertyError)(nil); errors.As(err, &bad) {
		s.fail(w, http.StatusBadRequest, problem{bad.Error(), codeBadRequest, bad.property})
		return
	}
	m.ContentType, m.Trace = r.Header.Get("Content-Type"), readTrace(r.Header.Get(traceHeader))
	m.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		s.fail(w, http.StatusRequestEntityTooLarge, problem{Error: "the body has more than 262144 bytes", Code: codeTooLarge})
		return
	}
	if err != nil {
		s.fail(w, http.StatusBadRequest, problem{Error: "the body could not be read", Code: codeBadRequest})
		return
	}
	if m.ID == "" {
		m.ID = uuid.NewString()
	}
	if err := s.b.Send(r.Context(), t.queue, m); err != nil {
		s.failWith(w, err)
		return
	}
	answer(w, http.StatusCreated, map[string]string{"messageId": m.ID})
}

func (s server) complete(w http.ResponseWriter, r *http.Request, t target) {
	s.settled(w, s.b.Complete(r.Context(), t.queue, queue.Delivery{Lock: t.lock}))
}

func (s server) abandon(w http.ResponseWriter, r *http.Request, t target) {
	s.settled(w, s.b.Abandon(r.Context(), t.queue, queue.Delivery{Lock: t.lock}))
}

func (s server) renew(w http.ResponseWriter, r *http.Request, t target) {
	until, err := s.b.Renew(r.Context(), t.queue, queue.Delivery{Lock: t.lock})
	if err != nil {
		s.failWith(w, err)
		return
	}
	p := properties{LockToken: t.lock, LockedUntil: formatTime(until)}
	if value, err := headerValue(p); err == nil {
		w.Header().Set(propertiesHeader, value)
	}
	answer(w, http.StatusOK, p)
}

func (s server) settled(w http.ResponseWriter, err error) {
	if err != nil {
		s.failWith(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]bool{"settled": true})
}

// waitOf reads the query parameter timeout, in seconds.
func waitOf(r *http.Request) (time.Duration, error) {
	s := r.URL.Query().Get("timeout")
	if s == "" {
		return defaultWait, nil
	}
	seconds, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 {
		return 0, errors.New("timeout must be a number of seconds, 0 or more")
	}
	return min(duration(seconds), longestWait), nil
}
