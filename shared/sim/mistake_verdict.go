package sim

import (
	"bytes"
	"context"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/engine"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
)

func pollMistakes() []*Mistake {
	return []*Mistake{
		before("404 that is taken for the end", func(r *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.StatusRead); ok && e.Failure == nil && !e.Found {
				r.MissingSince = epoch.Add(-time.Hour)
			}
			return ev
		}),
		before("an answer that cannot be read and is taken for an error of the job", func(_ *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.StatusRead); ok && e.Failure != nil {
				return gate.StatusRead{Turn: e.Turn, Found: true, Job: prow.Job{State: prow.Errored}}
			}
			return ev
		}),
		before("an aborted job that is taken for a failed one", func(r *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.StatusRead); ok && e.Job.State == prow.Aborted && r.Cancel == nil {
				e.Job.State = prow.Failure
				return e
			}
			return ev
		}),
		after("a tick beyond the deadline", func(_, next gate.Record, _ gate.Event, todo []gate.Command) (gate.Record, []gate.Command) {
			for i, c := range todo {
				if c, ok := c.(gate.SendTick); ok && next.Phase == gate.PhaseRunning {
					next.Turn.At = next.Turn.At.Add(20 * time.Minute)
					c.At = next.Turn.At
					todo[i] = c
				}
			}
			return next, todo
		}),
		around("a tick with a fixed id", func(_ *world, p *engine.Parts) { p.Queue = fixedID{p.Queue} }),
		around("no sweep", func(w *world, _ *engine.Parts) { w.noSweep = true }),
	}
}

func verdictMistakes() []*Mistake {
	return []*Mistake{
		around("a completion that is sent before it is stored", sentBeforeStored),
		before("a classification in which the first step wins", func(_ *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.EvidenceRead); ok && len(e.Evidence.Files) > 0 {
				kept, won := []gate.File{}, false
				for _, f := range e.Evidence.Files {
					tests := bytes.Contains(f.Body, []byte("ev2-failed-tests"))
					if !tests || !won {
						kept = append(kept, f)
					}
					won = won || tests
				}
				e.Evidence.Files = kept
				return e
			}
			return ev
		}),
		before("a step that does not load and is passed over", func(_ *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.EvidenceRead); ok {
				var kept []gate.File
				for _, f := range e.Evidence.Files {
					if f.Failure == nil && !f.Missing {
						kept = append(kept, f)
					}
				}
				e.Evidence.Files = kept
				return e
			}
			return ev
		}),
		before("artifacts that cannot be listed and are taken for none", func(_ *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.EvidenceRead); ok && e.Evidence.Failure != nil {
				e.Evidence = gate.Evidence{RootListed: true, Files: []gate.File{
					{Name: gate.RootFile, Body: []byte(`{"passed":false,"result":"FAILURE"}`)},
				}}
				return e
			}
			return ev
		}),
		after("a marker in the timeline", func(_, next gate.Record, _ gate.Event, todo []gate.Command) (gate.Record, []gate.Command) {
			for _, c := range todo {
				if c, ok := c.(gate.SendCompletion); ok && c.Notice.Marker != "" {
					next.Timeline = append(next.Timeline, gate.Moment{At: c.Notice.SentAt, Event: "completion", Text: c.Notice.Error})
				}
			}
			return next, todo
		}),
		after("a record that is forgotten with its verdict", func(_, next gate.Record, ev gate.Event, todo []gate.Command) (gate.Record, []gate.Command) {
			if _, ok := ev.(gate.CompletionSent); ok {
				todo = append(todo, gate.Remove{})
			}
			return next, todo
		}),
		after("a verdict that a late cancellation changes", func(old, next gate.Record, ev gate.Event, todo []gate.Command) (gate.Record, []gate.Command) {
			if e, ok := ev.(gate.CancelAsked); ok && old.Verdict != nil {
				v := *old.Verdict
				v.Outcome, v.Passed, v.Error = gate.Cancelled, false, "cancelled: "+e.Reason
				v.Abort = &gate.AbortReport{Outcome: gate.AbortNotNeeded, Reason: "late"}
				next.Verdict = &v
				todo = append(todo, gate.SendCompletion{MessageID: "late", Notice: v})
			}
			return next, todo
		}),
	}
}

func plumbingMistakes() []*Mistake {
	return []*Mistake{
		around("a store that ignores versions", func(_ *world, p *engine.Parts) { p.Store = unversioned{p.Store} }),
		around("a message that is failed for a fault of Prow", func(_ *world, p *engine.Parts) { p.Deck = strict{p.Deck} }),
	}
}

// sentBeforeStored keeps a verdict in the process until it has been sent, and stores it then.
func sentBeforeStored(_ *world, p *engine.Parts) {
	unsaved := map[string]gate.Record{}
	p.Decide = func(r gate.Record, ev gate.Event, now time.Time) (gate.Record, []gate.Command) {
		if _, ok := ev.(gate.CompletionSent); ok && r.Verdict == nil {
			next := unsaved[r.Key()]
			next.Sent = true
			return next, nil
		}
		next, todo := gate.Decide(r, ev, now)
		if r.Verdict == nil && next.Verdict != nil {
			unsaved[next.Key()] = next
			return r, todo
		}
		return next, todo
	}
}

// stubborn repeats a create whose answer was lost.
type stubborn struct{ engine.Gangway }

func (s stubborn) Create(ctx context.Context, sub prow.Submission) (string, error) {
	id, err := s.Gangway.Create(ctx, sub)
	if fault.Is(err, fault.MayHaveHappened) {
		return s.Gangway.Create(ctx, sub)
	}
	return id, err
}

// everyJob shows every job that carries a gate's label, whoever asks for whichever.
type everyJob struct{ engine.Deck }

func (d everyJob) Jobs(ctx context.Context, keep func(prow.Job) bool) (prow.Listing, error) {
	return d.Deck.Jobs(ctx, func(j prow.Job) bool { return keep(j) || j.Labels[gate.KeyGateID] != "" })
}

// wide aborts what started in the second before, too.
type wide struct{ engine.Gangway }

func (g wide) Abort(ctx context.Context, a prow.Abort) error {
	early := a
	early.Start = a.Start.Add(-time.Second)
	_ = g.Gangway.Abort(ctx, early)
	return g.Gangway.Abort(ctx, a)
}

// fixedID gives all ticks of a gate one message id.
type fixedID struct{ queue.Sender }

func (q fixedID) Send(ctx context.Context, name string, m queue.Message) error {
	if name == pollQueue {
		m.ID = m.CorrelationID + ".tick"
	}
	return q.Sender.Send(ctx, name, m)
}

// unversioned saves whatever it is given.
type unversioned struct{ store.Store }

func (s unversioned) Save(ctx context.Context, e store.Entry) (string, error) {
	current, _, err := s.Load(ctx, e.Key)
	if err != nil {
		return "", err
	}
	e.Version = current.Version
	return s.Store.Save(ctx, e)
}

// strict fails the message when Deck cannot be read.
type strict struct{ engine.Deck }

func (d strict) Job(ctx context.Context, id string) (prow.Job, bool, error) {
	j, ok, err := d.Deck.Job(ctx, id)
	if err != nil {
		panic(givenUp{err})
	}
	return j, ok, err
}
