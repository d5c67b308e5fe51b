// Package engine carries a gate from one message to the next: it loads the record, lets package gate
// decide, saves, and carries out the commands; each command's result goes back to the decision as an
// event. It keeps nothing in memory between two messages.
//
// Entry points: Submit, Reject, Poll, Cancel and Sweep, one for each kind of message.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
)

// Gangway creates and aborts jobs. One call is one request against the rate limit; nothing is retried
// inside. Errors carry a fault kind: a create that MayHaveHappened must not be repeated blindly.
type Gangway interface {
	// Create makes a job and returns its execution id, never an empty one.
	Create(ctx context.Context, s prow.Submission) (executionID string, err error)
	// Abort asks for a bulk change. A nil error means only that it was asked for.
	Abort(ctx context.Context, a prow.Abort) error
}

// Deck shows jobs. Reading changes nothing, so that the kind of its errors does not matter.
type Deck interface {
	// Job returns one job, read live; ok is false when Deck does not have it (or could not read it).
	Job(ctx context.Context, executionID string) (j prow.Job, ok bool, err error)
	// Jobs returns those jobs of Deck's cached list that keep wants; keep sees every job.
	Jobs(ctx context.Context, keep func(prow.Job) bool) (prow.Listing, error)
}

// Artifacts reads what a run has uploaded. jobURL is a job's status.url.
type Artifacts interface {
	// List returns the names of all objects below the run's root, relative to it, all pages.
	List(ctx context.Context, jobURL string) ([]string, error)
	// Read returns one object below the run's root; ok is false when it is not there. One that is
	// larger than 1 MiB after decompression is a Refused fault.
	Read(ctx context.Context, jobURL, name string) (body []byte, ok bool, err error)
	// Job returns the run's own prowjob.json (prow, pkg/crier); ok is false when it is not there.
	Job(ctx context.Context, jobURL string) (j prow.Job, ok bool, err error)
}

// Watch is told what the engine does, for metrics. Its methods are called while a message waits, by many
// goroutines at once: they return at once, and nothing depends on them.
type Watch interface {
	// Saved reports a record that was changed, once for each change that is stored.
	Saved(ctx context.Context, before, after gate.Record)
	// Turn reports an answer of the shared budget: how long the request has to wait (0 when it may go
	// now), how many wait in line, and how many requests could be sent now without a wait.
	Turn(ctx context.Context, wait time.Duration, waiting, left int)
	// Swept reports how many overdue gates a sweep has found, sweepMost at most; records that are only
	// to be removed do not count.
	Swept(ctx context.Context, overdue int)
}

// Queues are the names of the queues the engine sends to.
type Queues struct{ Poll, Completion string }

// Parts are what an engine is made of. All are required but Log, which is silent when nil, Watch and Decide.
type Parts struct {
	Gangway   Gangway
	Deck      Deck
	Artifacts Artifacts
	Store     store.Store
	Queue     queue.Sender
	Queues    Queues
	Clock     func() time.Time
	Log       *slog.Logger
	Watch     Watch // nil: nobody watches

	// Decide is the decision; gate.Decide when nil. The simulator puts mistakes in its place.
	Decide func(gate.Record, gate.Event, time.Time) (gate.Record, []gate.Command)

	RatePerMinute   int  // requests a minute that all instances together may send to Gangway
	Burst           int  // how many may come at once beyond the first, as nginx counts
	ExclusiveLabels bool // give every job labels of its own for Gangway to select by
}

// Engine handles one message at a time per call; calls may run at once in any number of processes.
// An error from any method means that the store or the queue could not be reached, and that the
// message has to be delivered again.
type Engine struct{ Parts }

// New returns an engine made of the given parts.
func New(p Parts) *Engine {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Watch == nil {
		p.Watch = nobody{}
	}
	if p.Decide == nil {
		p.Decide = gate.Decide
	}
	return &Engine{p}
}

// Submit takes a valid gating message.
func (e *Engine) Submit(ctx context.Context, g gate.Gating) error {
	return e.run(ctx, gate.KeyPrefix+g.GateID, gate.Accepted{Gating: g, Exclusive: e.ExclusiveLabels})
}

// Reject answers a gating message that broke a rule.
func (e *Engine) Reject(ctx context.Context, r gate.Rejection) error {
	return e.run(ctx, gate.KeyPrefix+r.GateID, gate.Refused{Rejection: r})
}

// Poll takes a tick.
func (e *Engine) Poll(ctx context.Context, t gate.Tick) error {
	key := gate.KeyPrefix + t.GateID
	if t.GateID == "" {
		key = gate.AbortKeyPrefix + t.ExecutionID
	}
	return e.run(ctx, key, gate.Ticked{Seq: t.Seq})
}

// Cancel takes a cancel message. One that names a gate is for the gate; if that gate is not known, and
// an execution is named too, it is for both.
func (e *Engine) Cancel(ctx context.Context, c gate.CancelRequest) error {
	if c.GateID == "" {
		return e.abort(ctx, c)
	}
	key := gate.KeyPrefix + c.GateID
	if c.ExecutionID != "" {
		_, known, err := e.Store.Load(ctx, key)
		if err != nil {
			return err
		}
		if !known {
			if err := e.abort(ctx, c); err != nil {
				return err
			}
		}
	}
	return e.run(ctx, key, gate.CancelAsked{GateID: c.GateID, Reason: c.Reason})
}

func (e *Engine) abort(ctx context.Context, c gate.CancelRequest) error {
	return e.run(ctx, gate.AbortKeyPrefix+c.ExecutionID, gate.AbortAsked{ExecutionID: c.ExecutionID, Reason: c.Reason})
}

// sweepMost is how many overdue records one sweep looks at; the next one takes the rest.
const sweepMost = 200

// unreadableFor is how long a record that cannot be read is left out of the sweeps, so that it holds up no other.
const unreadableFor = time.Hour

// Sweep puts back on the poll queue what is overdue, sends verdicts that were not sent, and removes
// what has been closed for long. A failure of one record, or of the search for more, holds up no other.
func (e *Engine) Sweep(ctx context.Context) error {
	entries, failed := e.Store.Due(ctx, e.Clock(), sweepMost)
	e.Watch.Swept(ctx, overdue(entries))
	for _, entry := range entries {
		if err := e.sweepOne(ctx, entry); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", gate.Neutralise(entry.Key), err))
		}
	}
	return failed
}

// overdue counts the records for which something is left to happen, and those that cannot be read.
func overdue(entries []store.Entry) (n int) {
	for _, entry := range entries {
		if r, err := gate.DecodeRecord(entry.Body); err != nil || !r.Closed() {
			n++
		}
	}
	return n
}

func (e *Engine) sweepOne(ctx context.Context, entry store.Entry) error {
	if _, err := gate.DecodeRecord(entry.Body); err != nil {
		return e.setAside(ctx, entry, err)
	}
	return e.run(ctx, entry.Key, gate.Overdue{})
}

// setAside tells of a record that cannot be read, and keeps it as it is, due again later.
func (e *Engine) setAside(ctx context.Context, entry store.Entry, why error) error {
	e.Log.ErrorContext(ctx, "a record cannot be read", "key", gate.Neutralise(entry.Key), "error", why)
	entry.Due = e.Clock().Add(unreadableFor)
	_, err := e.Store.Save(ctx, entry)
	if fault.Is(err, fault.Conflict) {
		return nil // somebody has changed it
	}
	return err
}
