package gate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// minutes are runs that took so long.
func minutes(m ...float64) gate.Runs {
	var r gate.Runs
	for _, x := range m {
		r = r.With(time.Duration(x * float64(time.Minute)))
	}
	return r
}

// waits plays a job that ends after the given time, and returns how long the gate waited between its looks.
func waits(t *testing.T, known gate.Runs, end time.Duration) (all []time.Duration, looks int, late time.Duration) {
	t.Helper()
	s := newStory(t).running(`"pollInterval":"60s"`)
	s.give(gate.Recalled{Runs: known})
	for s.r.Phase == gate.PhaseRunning {
		wait := s.r.Turn.At.Sub(s.now)
		all = append(all, wait)
		state := prow.Pending
		if s.after(wait).now.Sub(start) >= end {
			state = prow.Success
		}
		s.tick().status(state)
		looks++
	}
	return all, looks, s.now.Sub(start) - end
}

func TestAsksMoreOftenWhenTheEndIsLikely(t *testing.T) {
	all, _, _ := waits(t, minutes(10, 20, 20), 11*time.Minute)
	var want []time.Duration
	want = append(want, 15*time.Second) // the first look
	want = append(want, slices.Repeat([]time.Duration{time.Minute}, 9)...)
	want = append(want, slices.Repeat([]time.Duration{15 * time.Second}, 7)...) // from 9m15s; a twentieth before the shortest run is 9m30s
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// Whatever is known of earlier runs, a gate asks at most twice as often as its interval says.
func TestAsksAtMostTwiceAsOften(t *testing.T) {
	for _, known := range []gate.Runs{minutes(1, 1, 1), minutes(30, 31, 32), minutes(0.001, 0.001, 0.001), minutes(100, 100, 100)} {
		const run = 3 * time.Hour
		all, looks, _ := waits(t, known, run)
		if most := 2*180 + 2; looks > most {
			t.Errorf("%s: %d looks in three hours", time.Duration(known[0]), looks)
		}
		for i, wait := range all {
			if wait > time.Minute || i > 0 && wait < 100*time.Millisecond {
				t.Errorf("%s: wait %d is %s", time.Duration(known[0]), i, wait)
			}
		}
	}
}

func TestAsksAtItsOwnIntervalWhenTooLittleIsKnown(t *testing.T) {
	for _, known := range []gate.Runs{nil, minutes(1), minutes(1, 1)} {
		all, _, _ := waits(t, known, 5*time.Minute)
		if diff := cmp.Diff([]time.Duration{
			15 * time.Second, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute,
		}, all); diff != "" {
			t.Errorf("%v: %s", known, diff)
		}
	}
}

// A job whose start is not known yet has no likely end.
func TestAsksAtItsOwnIntervalWhileTheStartIsUnknown(t *testing.T) {
	s := newStory(t).running(`"pollInterval":"60s"`)
	s.give(gate.Recalled{Runs: minutes(1, 1, 1)})
	s.after(time.Hour).tick().give(gate.StatusRead{Turn: s.turn(), Found: true, Job: prow.Job{State: prow.Scheduling}})
	if wait := s.r.Turn.At.Sub(s.now); wait != time.Minute {
		t.Errorf("waits %s", wait)
	}
}

// One run in ten that failed early does not make the gate ask for every later one too soon.
func TestEarlyFailuresAreNotTheRule(t *testing.T) {
	known := minutes(60, 60, 60, 2, 60, 60, 60, 60, 60, 60)
	all, _, _ := waits(t, known, 30*time.Minute)
	for i, wait := range all[1:] {
		if wait != time.Minute {
			t.Errorf("wait %d is %s", i, wait)
		}
	}
}

func TestRunsAreBounded(t *testing.T) {
	var known gate.Runs
	for i := range 100 {
		known = known.With(time.Duration(i))
	}
	if len(known) != 20 || known[19] != 99 || known[0] != 80 {
		t.Errorf("%v", known)
	}
	shared := make(gate.Runs, 1, 8)
	if a, b := shared.With(1), shared.With(2); a[1] != 1 || b[1] != 2 {
		t.Error("two gates write into the same runs")
	}
}

func TestLearnsFromJobsThatEndedByThemselves(t *testing.T) {
	for state, want := range map[prow.State]string{
		prow.Success: "1h0m0s", prow.Failure: "1h0m0s", prow.Aborted: "", prow.Errored: "",
	} {
		s := newStory(t).running(`"gatePromotion":true`).after(time.Hour).tick()
		j := s.job(state)
		j.CompletionTime = s.now
		learned := ""
		for _, c := range s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j}) {
			if l, ok := c.(gate.Learn); ok {
				learned = fmt.Sprint(l.Took)
				if l.JobName != "e2e" {
					t.Errorf("learned of %q", l.JobName)
				}
			}
		}
		if learned != want {
			t.Errorf("%s: learned %q, want %q", state, learned, want)
		}
	}
}

// A completion time that is missing or lies before the start teaches nothing.
func TestLearnsNothingFromTimesThatCannotBe(t *testing.T) {
	for _, at := range []time.Time{{}, start, start.Add(-time.Hour)} {
		s := newStory(t).running("").after(time.Hour).tick()
		j := s.job(prow.Success)
		j.CompletionTime = at
		for _, c := range s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j}) {
			if _, ok := c.(gate.Learn); ok {
				t.Errorf("learned from a completion at %v", at)
			}
		}
	}
}

func TestCompletionOf(t *testing.T) {
	s := newStory(t).running("")
	if _, ok := gate.CompletionOf(s.r); ok {
		t.Error("a completion without a verdict")
	}
	commands := s.tick().give(gate.StatusRead{Turn: s.turn(), Found: true, Job: s.job(prow.Failure)})
	sent, ok := commands[0].(gate.SendCompletion)
	if !ok {
		t.Fatalf("%T", commands[0])
	}
	got, ok := gate.CompletionOf(s.r)
	if diff := cmp.Diff(sent.Notice, got); !ok || diff != "" {
		t.Errorf("%t %s", ok, diff)
	}
}
