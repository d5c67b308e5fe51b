// Package budget shares out the requests that all instances together may send to Gangway. It is pure:
// the state is a document that its caller keeps by compare-and-set.
//
// The rate limit in front of OpenShift CI is nginx's limit_req with burst and nodelay: burst+1 requests
// pass at once, then one each interval. Whoever cannot go now gets a place in line and the time at
// which to come back; an abort's place is before every submission's.
//
// Entry point: State.Take.
package budget

import (
	"slices"
	"time"
)

const (
	// spacing keeps two submissions apart, so that every job of ours starts in a second of its own and
	// the guard before an abort finds no collision among our own jobs.
	spacing = 2 * time.Second

	// slack is kept free of the burst, for requests that arrive closer together than they were sent.
	slack = 2 * time.Second

	// patience is how long after its time a place in line is reckoned with.
	patience = 30 * time.Second

	// kept is how long after its time a place is kept: when all who are called come late, each must find its own
	// again, or they would join anew behind one another for ever, and nobody would be let go.
	kept = time.Hour

	// skew is more than the clocks of two instances differ.
	skew = time.Minute

	// longest is how many places the line has; who comes later is told when to try again, and holds no
	// place.
	longest = 500
)

// Limit is the rate that is shared out.
type Limit struct {
	PerMinute int // requests a minute, > 0
	Burst     int // how many may come at once beyond the first, as nginx counts
}

func (l Limit) interval() time.Duration { return time.Minute / time.Duration(l.PerMinute) }

func (l Limit) tolerance() time.Duration {
	return max(0, time.Duration(l.Burst)*l.interval()-slack)
}

// State is what has been sent, and who waits. Its zero value is a budget that nobody has used.
type State struct {
	Spent      time.Time `json:"spent,omitzero"`      // the theoretical arrival time: when the burst is whole again
	LastSubmit time.Time `json:"lastSubmit,omitzero"` // when the last submission was let go
	Line       []Place   `json:"line,omitempty"`      // aborts first, then in order of arrival
}

// Place is one request that waits.
type Place struct {
	Holder string    `json:"holder"`
	Abort  bool      `json:"abort,omitempty"`
	At     time.Time `json:"at"` // when the holder was told to come back
}

// Grant is the answer to one who asks. A request that is not let go must not be sent, whatever the time is when
// the answer arrives: it is not taken out of the budget.
type Grant struct {
	LetGo bool
	At    time.Time // when it was let go, or when to ask again
}

// Take asks for one request.
func (s State) Take(l Limit, holder string, abort bool, now time.Time) (State, Grant) {
	s = s.believed(l, now)
	s.drop(kept, now)
	if i := s.place(holder, abort, now); i >= 0 && s.mayGo(l, i, now) {
		return s.spend(l, i, now), Grant{LetGo: true, At: now}
	}
	next, at := s.plan(l, holder, now)
	return next, Grant{At: at}
}

// believed returns a copy of the state without what only a clock that is far ahead can have written: one such
// instance would stop all the others until its time has come.
func (s State) believed(l Limit, now time.Time) State {
	most := now.Add(skew)
	s.LastSubmit = earlier(s.LastSubmit, most)
	most = most.Add(l.tolerance() + l.interval())
	s.Spent, s.Line = earlier(s.Spent, most), slices.Clone(s.Line)
	for i := range s.Line {
		most = most.Add(max(l.interval(), spacing))
		s.Line[i].At = earlier(s.Line[i].At, most)
	}
	return s
}

// Left returns how many requests could be sent now, one after the other, without a wait.
func (s State) Left(l Limit, now time.Time) int {
	free := now.Add(l.tolerance()).Sub(later(s.Spent, now))
	if free < 0 {
		return 0
	}
	return int(free/l.interval()) + 1
}

// drop takes away the places whose time is over for longer than that.
func (s *State) drop(overFor time.Duration, now time.Time) {
	s.Line = slices.DeleteFunc(s.Line, func(p Place) bool { return now.Sub(p.At) > overFor })
}

// place returns the holder's index in the line, which it joins if need be; -1 when the line is full. One who has
// waited to submit and now wants to abort joins anew, among the aborts.
func (s *State) place(holder string, abort bool, now time.Time) int {
	at := slices.IndexFunc(s.Line, func(p Place) bool { return p.Holder == holder })
	if at >= 0 && s.Line[at].Abort == abort {
		return at
	}
	if at >= 0 {
		s.Line = slices.Delete(s.Line, at, at+1)
	}
	if len(s.Line) >= longest {
		s.drop(patience, now)
	}
	if len(s.Line) >= longest && !abort {
		return -1
	}
	at = len(s.Line)
	if abort {
		at = slices.IndexFunc(s.Line, func(p Place) bool { return !p.Abort })
		if at < 0 {
			at = len(s.Line)
		}
	}
	s.Line = slices.Insert(s.Line, at, Place{Holder: holder, Abort: abort, At: now})
	return at
}

// mayGo reports whether the request at index i may be sent now: the limit allows it, and nobody before
// it in the line has yet to be called. One who was called and is late holds nobody up.
func (s State) mayGo(l Limit, i int, now time.Time) bool {
	for _, p := range s.Line[:i] {
		if p.At.After(now) {
			return false
		}
	}
	return !s.earliest(l, s.Line[i].Abort).After(now)
}

// earliest is when the limit allows a request of this sort.
func (s State) earliest(l Limit, abort bool) time.Time {
	at := s.Spent.Add(-l.tolerance())
	if next := s.LastSubmit.Add(spacing); !abort && next.After(at) {
		return next
	}
	return at
}

// spend takes the request at index i out of the budget.
func (s State) spend(l Limit, i int, now time.Time) State {
	s.spent(l, s.Line[i].Abort, now)
	s.Line = slices.Delete(s.Line, i, i+1)
	return s
}

func (s *State) spent(l Limit, abort bool, at time.Time) {
	if s.Spent.Before(at) {
		s.Spent = at
	}
	s.Spent = s.Spent.Add(l.interval())
	if !abort {
		s.LastSubmit = at
	}
}

// plan returns when the holder should come back: after all who are before it in the line have gone at their time, but
// for those who have let it pass; one who holds no place comes back after the last of them. Nobody else's time
// changes: whoever was told a time that has become too early asks again then.
func (s State) plan(l Limit, holder string, now time.Time) (State, time.Time) {
	ahead, at := s, now
	for i, p := range s.Line {
		if p.Holder == holder {
			at = later(at, ahead.earliest(l, p.Abort))
			s.Line[i].At = at
			return s, at
		}
		if now.Sub(p.At) <= patience {
			at = later(later(at, p.At), ahead.earliest(l, p.Abort))
			ahead.spent(l, p.Abort, at)
		}
	}
	return s, later(at, ahead.earliest(l, false))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Drain empties the burst after Gangway itself refused a request for coming too fast: others share the
// limit, so that the next one goes out an interval later at the earliest.
func (s State) Drain(l Limit, now time.Time) State {
	s.Spent = later(s.Spent, now.Add(l.tolerance()+l.interval()))
	return s
}
