package sim

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
)

// How long calls may take.
const (
	storeTime = 100 * time.Millisecond
	queueTime = 200 * time.Millisecond
	wireTime  = 4 * time.Second
)

// faultyStore is the store behind a network.
type faultyStore struct {
	w *world
	store.Store
}

func (s faultyStore) Load(ctx context.Context, key string) (e store.Entry, ok bool, err error) {
	err = s.w.call(storeTime, s.w.rates.storeFault, "store load", func() error {
		e, ok, err = s.Store.Load(ctx, key)
		return err
	})
	return e, ok, err
}

func (s faultyStore) Save(ctx context.Context, e store.Entry) (version string, err error) {
	s.w.watch(e)
	err = s.w.call(storeTime, s.w.rates.storeFault, "store save", func() error {
		version, err = s.Store.Save(ctx, e)
		if err == nil {
			s.w.saved(e)
		}
		return err
	})
	return version, err
}

func (s faultyStore) Delete(ctx context.Context, key, version string) error {
	return s.w.call(storeTime, s.w.rates.storeFault, "store delete", func() error { return s.Store.Delete(ctx, key, version) })
}

func (s faultyStore) Due(ctx context.Context, before time.Time, limit int) (entries []store.Entry, err error) {
	err = s.w.call(storeTime, s.w.rates.storeFault, "store due", func() error {
		entries, err = s.Store.Due(ctx, before, limit)
		return err
	})
	return entries, err
}

// call runs one call to a service: time passes on both sides of the work, and it may go wrong on either.
func (w *world) call(most time.Duration, rate float64, name string, do func() error) error {
	w.boundary(most)
	if w.strikes(rate, name+" before") {
		w.running.hurt = true
		return &fault.Error{Kind: fault.NothingHappened, Op: name, Text: "the service is away"}
	}
	err := do()
	w.boundary(most)
	if w.strikes(rate, name+" after") {
		w.running.hurt = true
		return &fault.Error{Kind: fault.MayHaveHappened, Op: name, Text: "the answer was lost"}
	}
	return err
}

// faultyQueue is the queue behind a network that also repeats and delays messages.
type faultyQueue struct{ w *world }

func (q faultyQueue) Send(ctx context.Context, name string, m queue.Message) error {
	w := q.w
	w.watchMessage(name, m)
	return w.call(queueTime, w.rates.queueFault, "queue send", func() error {
		if name == pollQueue {
			if w.strikes(w.rates.lose, "message lost") {
				return nil
			}
			m = w.meddle(name, m)
		}
		w.tracef("-> %s %s: %s", name, m.ID, m.Body)
		return w.broker.Send(ctx, name, m)
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// meddle delivers a message late, as every one may be in this world, or twice: the second copy under an id of its own, as a broker whose
// memory of ids has ended would.
func (w *world) meddle(name string, m queue.Message) queue.Message {
	if w.strikes(w.rates.delay, "message late") {
		m.ScheduledAt = later(m.ScheduledAt, w.now).Add(time.Duration(w.rng.Int64N(int64(5 * time.Minute))))
	}
	if w.rates.lag > 0 {
		w.count("fault: every message late")
		m.ScheduledAt = later(m.ScheduledAt, w.now).Add(w.rates.lag)
	}
	if w.strikes(w.rates.duplicate, "message repeated") {
		again := m
		again.ID = w.newID("again")()
		again.ScheduledAt = m.ScheduledAt.Add(time.Duration(w.rng.Int64N(int64(2 * time.Minute))))
		w.after(0, func() { _ = w.broker.Send(context.Background(), name, again) })
	}
	return m
}

// wire is the network between the clients and Prow.
type wire struct{ w *world }

// deadline is what a client gives a request; the clients' own deadlines run on a clock that stands still
// here.
const deadline = 30 * time.Second

// RoundTrip lets time pass on both ways. A time-out takes the client's whole deadline; one that has
// passed before the request could be sent keeps it from being sent.
func (t wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w, until := t.w, t.w.now.Add(deadline)
	if gangwayCall(r) {
		w.sent = append(w.sent, w.now)
	}
	w.count("requests: " + kindOfRequest(r))
	w.boundary(wireTime)
	if kindOfRequest(r) == "artifacts" && w.strikes(w.rates.slowBucket, "slow bucket") {
		w.wait(time.Duration(w.rng.IntN(25)) * time.Second)
	}
	if w.now.After(until) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	resp, err := w.prow.Transport().RoundTrip(w.misdirected(r))
	w.tracef("%s %s: %s", r.Method, r.URL.Path, outcome(resp, err))
	if gangwayCall(r) && strings.HasSuffix(r.URL.Path, "/executions") {
		w.jobMade()
	}
	if isTimeout(err) {
		w.wait(until.Sub(w.now))
	}
	w.boundary(wireTime)
	if err == nil && w.now.After(until) {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	return resp, err
}

// misdirected lets Deck answer about another job than the one it was asked for, as a cache that mixes up
// its keys would.
func (w *world) misdirected(r *http.Request) *http.Request {
	jobs := w.prow.Jobs()
	if r.URL.Path != "/prowjob" || len(jobs) == 0 || !w.strikes(w.rates.deckJob/5, "deck-job answers about another job") {
		return r
	}
	other := r.Clone(r.Context())
	other.URL.RawQuery = url.Values{"prowjob": {jobs[w.rng.IntN(len(jobs))].ID}}.Encode()
	return other
}

func gangwayCall(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") }

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func kindOfRequest(r *http.Request) string {
	switch {
	case gangwayCall(r):
		return "Gangway"
	case strings.HasPrefix(r.URL.Path, "/prowjob"):
		return "Deck"
	}
	return "artifacts"
}

func outcome(resp *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	return resp.Status
}

// coveredDelay is how long after its lost answer a job may come into being and still be found: the 45 s
// that a listing must be younger than the answer, less the 30 s that Deck's list may be old.
const coveredDelay = 15 * time.Second

// jobMade looks at the job that a request has just made. Now and then somebody else's starts in the same
// second, or in the one before or after.
func (w *world) jobMade() {
	jobs := w.prow.Jobs()
	if len(jobs) == 0 || jobs[len(jobs)-1].Foreign {
		return
	}
	ours := jobs[len(jobs)-1]
	if w.now.Sub(ours.CreatedAt) > time.Second {
		return // the request made none; a job's start is its creation, so that no sibling comes now
	}
	if g := w.byID[ours.Labels[gate.KeyGateID]]; g != nil && ours.CreatedAt.Sub(w.now) > coveredDelay-wireTime {
		g.residual = true
	}
	if !w.strikes(w.rates.sibling, "sibling in the same second, or beside it") {
		return
	}
	s := gangwaytest.Passing(time.Duration(1+w.rng.IntN(30)) * time.Minute)
	if w.rng.IntN(4) == 0 {
		s.StartState = "scheduling"
	}
	f := gangwaytest.Foreign{JobName: ours.Name, Type: ours.Type, Refs: ours.Refs, ExtraRefs: ours.ExtraRefs, Start: ours.StartTime, Script: &s}
	if w.rng.IntN(3) == 0 { // beside the second: in nobody's way, and not to be hit
		f.Start = f.Start.Add(time.Duration(1-2*w.rng.IntN(2)) * time.Second)
	}
	if w.rng.IntN(2) == 0 {
		f.JobName = "somebody-elses-job"
	}
	w.prow.AddForeign(f)
}
