package sim

import (
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/engine"
	"prowgate/shared/gate"
)

// Mistake is a bug that is built into the program under test, to show that the simulator finds it.
type Mistake struct {
	Name  string
	build func(w *world, p *engine.Parts)
}

// before is a mistake in what a decision is made on.
func before(name string, change func(*gate.Record, gate.Event) gate.Event) *Mistake {
	return &Mistake{Name: name, build: func(_ *world, p *engine.Parts) {
		p.Decide = func(r gate.Record, ev gate.Event, now time.Time) (gate.Record, []gate.Command) {
			ev = change(&r, ev)
			return gate.Decide(r, ev, now)
		}
	}}
}

// after is a mistake in what comes of a decision.
func after(name string, change func(before, after gate.Record, ev gate.Event, todo []gate.Command) (gate.Record, []gate.Command)) *Mistake {
	return &Mistake{Name: name, build: func(_ *world, p *engine.Parts) {
		p.Decide = func(r gate.Record, ev gate.Event, now time.Time) (gate.Record, []gate.Command) {
			next, todo := gate.Decide(r, ev, now)
			return change(r, next, ev, todo)
		}
	}}
}

// around is a mistake anywhere else.
func around(name string, build func(w *world, p *engine.Parts)) *Mistake {
	return &Mistake{Name: name, build: build}
}

// Mistakes returns all that the simulator has to find.
func Mistakes() []*Mistake {
	var all []*Mistake
	for _, some := range [][]*Mistake{
		submissionMistakes(), guardMistakes(), cancelMistakes(), pollMistakes(), verdictMistakes(), plumbingMistakes(),
	} {
		all = append(all, some...)
	}
	return all
}

func submissionMistakes() []*Mistake {
	return []*Mistake{
		around("a create that is repeated when its answer is lost", func(_ *world, p *engine.Parts) { p.Gangway = stubborn{p.Gangway} }),
		before("a POST without a claim", func(r *gate.Record, ev gate.Event) gate.Event {
			if _, ok := ev.(gate.TurnTaken); ok && r.Phase == gate.PhaseSubmitting {
				r.Phase, r.Claim = gate.PhaseAccepted, nil
			}
			return ev
		}),
		before("a claim that ends before its POST does", func(r *gate.Record, ev gate.Event) gate.Event {
			if _, ok := ev.(gate.Ticked); ok && r.Claim != nil {
				r.Claim, r.Phase = nil, gate.PhaseAccepted
			}
			return ev
		}),
		before("a job that is not found at once is submitted again", func(r *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.Looked); ok && e.Failure == nil && r.Look != nil {
				long := time.Hour
				r.Look = &gate.Look{Ended: r.Look.Ended.Add(-long), Since: e.Listing.At.Add(-long)}
			}
			return ev
		}),
		before("a list that cannot be read proves that there is no job", func(r *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.Looked); ok && e.Failure != nil && r.Look != nil {
				r.Look = &gate.Look{Ended: r.Look.Ended.Add(-time.Hour), Since: epoch}
				e.Failure, e.Listing = nil, prow.Listing{At: epoch.Add(time.Hour), Seen: 1}
				return e
			}
			return ev
		}),
		before("the job of another gate is adopted", func(r *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.Looked); ok {
				for i, j := range e.Listing.Jobs {
					e.Listing.Jobs[i].Labels = map[string]string{gate.KeyGateID: r.GateID}
					e.Listing.Jobs[i].Name = j.Name
				}
			}
			return ev
		}).and(func(_ *world, p *engine.Parts) { p.Deck = everyJob{p.Deck} }),
		before("the rate limit is left to others", func(_ *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.TurnTaken); ok {
				e.Granted = true
				return e
			}
			return ev
		}),
	}
}

// and adds a second part to a mistake.
func (m *Mistake) and(build func(*world, *engine.Parts)) *Mistake {
	first := m.build
	m.build = func(w *world, p *engine.Parts) {
		first(w, p)
		build(w, p)
	}
	return m
}

func guardMistakes() []*Mistake {
	only := func(name string, keep func(target, other prow.Job) bool) *Mistake {
		return before(name, func(_ *gate.Record, ev gate.Event) gate.Event {
			e, ok := ev.(gate.Probed)
			if !ok {
				return ev
			}
			var kept []prow.Job
			for _, j := range e.Listing.Jobs {
				if keep(e.Target, j) {
					kept = append(kept, j)
				}
			}
			e.Listing.Jobs = kept
			return e
		})
	}
	return []*Mistake{
		only("a guard that looks at one job name only", func(t, o prow.Job) bool { return t.Name == o.Name }),
		only("a guard that looks at one state only", func(t, o prow.Job) bool { return t.State == o.State }),
		before("a guard that trusts an empty list", func(_ *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.Probed); ok && e.Failure != nil {
				e.Failure, e.Listing = nil, prow.Listing{At: e.Target.StartTime.Add(time.Hour), Jobs: []prow.Job{e.Target}}
				return e
			}
			return ev
		}),
		around("a guard that does not wait for the list", func(_ *world, p *engine.Parts) {
			p.Decide = func(r gate.Record, ev gate.Event, now time.Time) (gate.Record, []gate.Command) {
				switch e := ev.(type) {
				case gate.StatusRead:
					if r.Cancel != nil && !e.Job.State.Terminal() {
						now = now.Add(time.Minute)
					}
				case gate.Probed:
					e.Listing.At = e.Target.StartTime.Add(time.Hour)
					e.Listing.Jobs = append(e.Listing.Jobs, e.Target)
					ev = e
				}
				return gate.Decide(r, ev, now)
			}
		}),
		around("a window one second wide", func(_ *world, p *engine.Parts) { p.Gangway = wide{p.Gangway} }),
		after("no guard at all", func(_, next gate.Record, _ gate.Event, todo []gate.Command) (gate.Record, []gate.Command) {
			for i, c := range todo {
				if c, ok := c.(gate.Probe); ok {
					t, org, repo := c.Target.Selector()
					a := prow.Abort{Current: c.Target.State, Type: t, Org: org, Repo: repo, Cluster: c.Target.Cluster, Start: c.Target.StartTime}
					todo[i] = gate.TakeTurn{Turn: c.Turn, Abort: &a}
				}
			}
			return next, todo
		}),
	}
}

func cancelMistakes() []*Mistake {
	return []*Mistake{
		around("a 200 that is taken for an abort", func(_ *world, p *engine.Parts) {
			p.Decide = func(r gate.Record, ev gate.Event, now time.Time) (gate.Record, []gate.Command) {
				if e, ok := ev.(gate.AbortAnswered); ok && e.Failure == nil {
					ev = gate.StatusRead{Turn: e.Turn, Found: true, Job: prow.Job{State: prow.Aborted, CompletionTime: now}}
				}
				return gate.Decide(r, ev, now)
			}
		}),
		before("an abort that is believed before plank has taken it", func(r *gate.Record, ev gate.Event) gate.Event {
			if e, ok := ev.(gate.StatusRead); ok && e.Job.State == prow.Aborted && r.Cancel != nil {
				e.Job.CompletionTime = r.Cancel.At
				return e
			}
			return ev
		}),
		after("a cancellation of an unknown gate that is forgotten", func(old, next gate.Record, ev gate.Event, todo []gate.Command) (gate.Record, []gate.Command) {
			if _, ok := ev.(gate.CancelAsked); ok && old.Phase == gate.PhaseNone {
				next.Cancel = nil
			}
			return next, todo
		}),
		before("a cancellation that the submission's answer overwrites", func(r *gate.Record, ev gate.Event) gate.Event {
			if _, ok := ev.(gate.Submitted); ok {
				r.Cancel = nil
			}
			return ev
		}),
		after("a time-out that aborts the job", func(old, next gate.Record, ev gate.Event, todo []gate.Command) (gate.Record, []gate.Command) {
			e, ok := ev.(gate.StatusRead)
			if ok && old.Verdict == nil && next.Verdict != nil && next.Verdict.Outcome == gate.TimedOut && e.Found {
				t, org, repo := e.Job.Selector()
				todo = append(todo, gate.AbortJob{Before: next.Verdict.SentAt.Add(time.Minute), Abort: prow.Abort{
					Current: e.Job.State, Type: t, Org: org, Repo: repo, Cluster: e.Job.Cluster, Start: e.Job.StartTime,
				}})
			}
			return next, todo
		}),
	}
}
