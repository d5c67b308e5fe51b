package budget_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"prowgate/shared/budget"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var openShift = budget.Limit{PerMinute: 9, Burst: 5}

// caller is somebody who wants to send one request, and comes back when told to.
type caller struct {
	name  string
	abort bool
	at    time.Time
}

// serve lets callers take turns until each was let go, and returns when that was, in seconds.
func serve(t *testing.T, s budget.State, l budget.Limit, callers ...caller) (budget.State, map[string]float64) {
	t.Helper()
	sent := map[string]float64{}
	for rounds := 0; len(callers) > 0; rounds++ {
		if rounds > 10_000 {
			t.Fatal("somebody is never let go")
		}
		slices.SortStableFunc(callers, func(a, b caller) int { return a.at.Compare(b.at) })
		c := callers[0]
		var g budget.Grant
		if s, g = s.Take(l, c.name, c.abort, c.at); !g.LetGo {
			callers[0].at = g.At
			if !g.At.After(c.at) {
				callers[0].at = c.at.Add(time.Millisecond)
			}
			continue
		}
		sent[c.name] = c.at.Sub(start).Seconds()
		callers = callers[1:]
	}
	return s, sent
}

// nginx is the limit that stands in front of Gangway: limit_req with burst and nodelay.
func nginx(l budget.Limit, sent []float64) (refused int) {
	slices.Sort(sent)
	interval, excess, last := 60/float64(l.PerMinute), -1.0, 0.0
	for i, at := range sent {
		next := 0.0
		if i > 0 {
			next = max(0, excess-(at-last)/interval+1)
		}
		if next > float64(l.Burst) {
			refused++
			continue
		}
		excess, last = next, at
	}
	return refused
}

func values(m map[string]float64) []float64 {
	var v []float64
	for _, x := range m {
		v = append(v, x)
	}
	slices.Sort(v)
	return v
}

func regions(n int) []caller {
	var callers []caller
	for i := range n {
		callers = append(callers, caller{name: fmt.Sprintf("gate:%02d", i), at: start})
	}
	return callers
}

func TestTwentyRegionsAtOnce(t *testing.T) {
	_, sent := serve(t, budget.State{}, openShift, regions(20)...)
	times := values(sent)
	if refused := nginx(openShift, times); refused > 0 {
		t.Errorf("%d of %v are over the limit", refused, times)
	}
	for i := 1; i < len(times); i++ {
		if times[i]-times[i-1] < 2 {
			t.Errorf("submissions at %v and %v: less than 2 s apart", times[i-1], times[i])
		}
	}
	if last, least := times[19], 14*60.0/9; last > 1.05*least {
		t.Errorf("the last is let go after %.1f s; the limit allows %.1f s", last, least)
	}
}

func TestAnAbortGoesBeforeSubmissions(t *testing.T) {
	callers := append(regions(20), caller{name: "abort:x", abort: true, at: start.Add(30 * time.Second)})
	_, sent := serve(t, budget.State{}, openShift, callers...)
	if at := sent["abort:x"]; at > 30+60.0/9 {
		t.Errorf("the abort was let go at %.1f s, asked at 30 s", at)
	}
	if refused := nginx(openShift, values(sent)); refused > 0 {
		t.Errorf("%d requests are over the limit: %v", refused, values(sent))
	}
}

func TestAbortsAreNotSpaced(t *testing.T) {
	_, sent := serve(t, budget.State{}, openShift,
		caller{"a", true, start}, caller{"b", true, start}, caller{"c", true, start})
	if got := values(sent); got[2] != 0 {
		t.Errorf("three aborts were let go at %v, want at once", got)
	}
}

func TestOneWhoNeverComesBackHoldsNobodyUp(t *testing.T) {
	s, now := budget.State{}, start
	for i := range 5 { // uses the burst up
		s, _ = s.Take(openShift, fmt.Sprint("first", i), true, now)
	}
	s, _ = s.Take(openShift, "ghost", false, now)
	s, told := s.Take(openShift, "next", false, now)
	if s, g := s.Take(openShift, "next", false, told.At); !g.LetGo || len(s.Line) != 1 || s.Line[0].Holder != "ghost" {
		t.Errorf("told %s, then %v, line %v", told.At, g, s.Line)
	}
	now = told.At.Add(31 * time.Second)
	for i := range 5 { // uses the burst up once more
		s, _ = s.Take(openShift, fmt.Sprint("second", i), true, now)
	}
	alone := s
	alone.Line = nil
	_, with := s.Take(openShift, "later", false, now)
	if _, without := alone.Take(openShift, "later", false, now); !with.At.Equal(without.At) {
		t.Errorf("behind a ghost %s, without it %s", with.At.Sub(now), without.At.Sub(now))
	}
	s, _ = s.Take(openShift, "much later", false, now.Add(2*time.Hour))
	if slices.ContainsFunc(s.Line, func(p budget.Place) bool { return p.Holder == "ghost" }) {
		t.Error("the ghost has its place for ever")
	}
}

// An instance whose clock is hours ahead stops nobody else: its requests count as if they had been sent now, and the
// place that it was given holds nobody up for longer than the line is.
func TestAClockThatIsFarAhead(t *testing.T) {
	ahead := start.Add(3 * time.Hour)
	s := budget.State{}
	for i := range 9 {
		s, _ = s.Take(openShift, fmt.Sprint("ahead", i), i%2 == 0, ahead)
	}
	if len(s.Line) == 0 {
		t.Fatal("nobody waits")
	}
	_, sent := serve(t, s, openShift, append(regions(12), caller{"abort:x", true, start})...)
	if last := values(sent)[12]; last > 5*60 {
		t.Errorf("the last is let go after %.0f s", last)
	}
	drained := budget.State{}.Drain(openShift, ahead)
	if _, g := drained.Take(openShift, "x", true, start); g.At.Sub(start) > 2*time.Minute {
		t.Errorf("after a refusal that an instance hours ahead has met the next goes out after %s", g.At.Sub(start))
	}
}

// Whoever asks before its time does not overtake one who has yet to be called.
func TestNobodyOvertakes(t *testing.T) {
	s := budget.State{}
	for i := range 5 { // uses the burst up
		s, _ = s.Take(openShift, fmt.Sprint("first", i), true, start)
	}
	told := map[string]budget.Grant{}
	for _, name := range []string{"ghost", "second", "third"} {
		s, told[name] = s.Take(openShift, name, false, start)
	}
	early := told["ghost"].At.Add(time.Second) // the ghost does not come, so that the limit would let somebody go
	if _, g := s.Take(openShift, "third", false, early); g.LetGo || !g.At.After(told["second"].At) {
		t.Errorf("the third: %v; the second was told %s", g, told["second"].At.Sub(start))
	}
}

// Turns that nobody takes are not lost: also when all come later than their places are held, everybody is let go about
// as soon as the limit allows, and nobody too soon.
func TestEverybodyIsLate(t *testing.T) {
	for _, lateness := range []time.Duration{3 * time.Second, 10 * time.Second, 31 * time.Second, time.Minute, 90 * time.Second, 10 * time.Minute} {
		for _, abort := range []bool{false, true} {
			for _, n := range []int{12, 20, 60} {
				for _, spread := range []time.Duration{0, 30 * time.Second} {
					sent := serveLate(openShift, n, abort, lateness, spread)
					what := fmt.Sprintf("%d requests (aborts %t), %s to %s late", n, abort, lateness, lateness+spread)
					if len(sent) < n {
						t.Errorf("%s: %d were let go", what, len(sent))
						continue
					}
					if refused := nginx(openShift, sent); refused > 0 {
						t.Errorf("%s: %d over the limit: %v", what, refused, sent)
					}
					least := float64(n-6) * 60 / 9
					if last := sent[n-1]; last > 1.2*least+3*(lateness+spread).Seconds()+10 {
						t.Errorf("%s: the last is let go after %.0f s; the limit allows %.0f", what, last, least)
					}
				}
			}
		}
	}
}

// serveLate lets n callers ask from the start on, each time so much later than told, and returns when they were let
// go, in seconds.
func serveLate(l budget.Limit, n int, abort bool, lateness, spread time.Duration) (sent []float64) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(lateness)))
	late := func() time.Duration {
		if spread == 0 {
			return lateness
		}
		return lateness + time.Duration(rng.Int64N(int64(spread)))
	}
	s, callers := budget.State{}, regions(n)
	for rounds := 0; len(callers) > 0 && rounds < 20*n*n; rounds++ {
		slices.SortStableFunc(callers, func(a, b caller) int { return a.at.Compare(b.at) })
		c := callers[0]
		var g budget.Grant
		if s, g = s.Take(l, c.name, abort, c.at); g.LetGo {
			sent, callers = append(sent, c.at.Sub(start).Seconds()), callers[1:]
			continue
		}
		callers[0].at = g.At.Add(late())
	}
	return sent
}

// One who has waited to submit and now aborts goes before the submissions.
func TestFromASubmissionToAnAbort(t *testing.T) {
	s := budget.State{}
	for i := range 5 { // uses the burst up
		s, _ = s.Take(openShift, fmt.Sprint("first", i), true, start)
	}
	for _, name := range []string{"a", "b", "c"} {
		s, _ = s.Take(openShift, name, false, start)
	}
	s, g := s.Take(openShift, "c", true, start)
	if s.Line[0].Holder != "c" || len(s.Line) != 3 || g.At.Sub(start) > 7*time.Second {
		t.Errorf("told %s, line %v", g.At.Sub(start), s.Line)
	}
}

func TestAskingAgainTakesNoSecondPlace(t *testing.T) {
	s := budget.State{}
	for i := range 5 {
		s, _ = s.Take(openShift, fmt.Sprint("first", i), true, start)
	}
	s, first := s.Take(openShift, "x", false, start)
	s, second := s.Take(openShift, "x", false, start.Add(500*time.Millisecond))
	if len(s.Line) != 1 || !first.At.Equal(second.At) {
		t.Errorf("line %v; told %s and %s", s.Line, first.At, second.At)
	}
}

func TestLineIsBounded(t *testing.T) {
	s := budget.State{}
	for i := range 1000 {
		s, _ = s.Take(openShift, fmt.Sprint(i), false, start)
	}
	if len(s.Line) > 500 {
		t.Errorf("%d places", len(s.Line))
	}
	late, _ := s.Take(openShift, "newcomer", false, start.Add(20*time.Minute))
	if !slices.ContainsFunc(late.Line, func(p budget.Place) bool { return p.Holder == "newcomer" }) {
		t.Error("those who let their time pass keep a newcomer out of a full line")
	}
	s, g := s.Take(openShift, "abort", true, start)
	if len(s.Line) > 501 || g.At.Sub(start) > 10*time.Second {
		t.Errorf("an abort behind a full line is told %s", g.At.Sub(start))
	}
}

func TestDrain(t *testing.T) {
	s := budget.State{}.Drain(openShift, start)
	_, g := s.Take(openShift, "x", true, start)
	if wait := g.At.Sub(start).Round(time.Millisecond); wait != 6667*time.Millisecond {
		t.Errorf("after a refusal the next goes out after %s, want one interval", wait)
	}
}

func TestIdleTimeDoesNotPileUp(t *testing.T) {
	s, _ := budget.State{}.Take(openShift, "x", true, start)
	late := start.Add(24 * time.Hour)
	var callers []caller
	for i := range 20 {
		callers = append(callers, caller{fmt.Sprint(i), true, late})
	}
	_, sent := serve(t, s, openShift, callers...)
	if refused := nginx(openShift, values(sent)); refused > 0 {
		t.Errorf("%d requests are over the limit: %v", refused, values(sent))
	}
}

// Whoever is let go is taken out of the budget, also when others never come back, and nginx refuses none of them.
func TestWhoeverIsLetGoIsPaidFor(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var waiting []caller
		for i := range 30 {
			waiting = append(waiting, caller{fmt.Sprint("c", i), rng.IntN(2) == 0, start.Add(time.Duration(rng.IntN(120_000)) * time.Millisecond)})
		}
		s, sent := budget.State{}, []float64(nil)
		for len(waiting) > 0 {
			slices.SortFunc(waiting, func(a, b caller) int { return a.at.Compare(b.at) })
			c, before := waiting[0], s
			var g budget.Grant
			s, g = s.Take(openShift, c.name, c.abort, c.at)
			if g.LetGo && !s.Spent.After(before.Spent) {
				t.Fatalf("seed %d: %s is let go for nothing", seed, c.name)
			}
			if g.LetGo || rng.IntN(3) == 0 { // goes, or never comes back
				waiting = waiting[1:]
			} else {
				waiting[0].at = g.At.Add(time.Duration(1+rng.IntN(500)) * time.Millisecond)
			}
			if g.LetGo {
				sent = append(sent, c.at.Sub(start).Seconds())
			}
		}
		if refused := nginx(openShift, sent); refused > 0 {
			t.Errorf("seed %d: %d of %v are over the limit", seed, refused, sent)
		}
	}
}

func BenchmarkTakeInALongLine(b *testing.B) {
	s := budget.State{}
	for i := range 500 {
		s, _ = s.Take(openShift, fmt.Sprint(i), false, start)
	}
	for b.Loop() {
		s.Take(openShift, "499", false, start)
	}
}

// What is said to be left can be sent at once, and one more cannot.
func TestLeft(t *testing.T) {
	var s budget.State
	for spent := range 9 {
		left, taken := s.Left(openShift, start), 0
		for next := s; ; taken++ {
			var g budget.Grant
			if next, g = next.Take(openShift, fmt.Sprint("abort", taken), true, start); !g.LetGo {
				break
			}
		}
		if left != taken {
			t.Errorf("after %d requests: %d are said to be left, %d could be sent", spent, left, taken)
		}
		s, _ = s.Take(openShift, "abort:one", true, start)
		s.Line = nil
	}
}
