package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// The rules of this file are numbers and small conditions that no story depends on.

// The age of a listing is counted from when the POST was heard of to have failed, not from the gate's
// beginning: a job may have been made until then.
func TestAnUnclearPostEndsWhenItsFailureIsKnown(t *testing.T) {
	s := newStory(t).accept("").after(10 * time.Minute).tick().takeTurn()
	s.after(30*time.Second).submitFails(fault.MayHaveHappened, 0)
	s.listing(s.now.Sub(start))
	for _, age := range []time.Duration{30 * time.Second, 44 * time.Second} {
		s.now = start.Add(10*time.Minute + 30*time.Second + age)
		if s.tick().listing(s.now.Sub(start)); s.r.Phase != gate.PhaseSubmitting {
			t.Fatalf("a listing %s after the POST is believed", age)
		}
	}
	s.now = start.Add(11*time.Minute + 15*time.Second)
	if s.tick().listing(s.now.Sub(start)); s.r.Phase != gate.PhaseAccepted {
		t.Errorf("a listing 45s after the POST is not believed: %s", s.r.Phase)
	}
}

// A list that a cache served before the POST had ended does not count as the first one after it.
func TestAListThatIsOlderThanThePostProvesNothing(t *testing.T) {
	s := newStory(t).accept("").after(10 * time.Minute).tick().takeTurn()
	s.after(30*time.Second).submitFails(fault.MayHaveHappened, 0).listing(9 * time.Minute)
	s.after(50 * time.Second).tick().listing(10*time.Minute + 55*time.Second)
	if s.r.Phase != gate.PhaseSubmitting {
		t.Fatal("a list made 25s after the POST is believed")
	}
	s.after(15 * time.Second).tick().listing(11*time.Minute + 15*time.Second)
	if s.r.Phase != gate.PhaseAccepted {
		t.Errorf("a list made 45s after the POST is not believed: %s", s.r.Phase)
	}
}

// The failure of a POST whose claim has been given up for lost changes nothing for the next claim.
func TestFailureOfAnEarlierClaimDoesNotCount(t *testing.T) {
	s := newStory(t).accept("").takeTurn()
	s.after(gate.ClaimFor).tick().listing(gate.ClaimFor)
	s.after(time.Minute).tick().listing(s.now.Sub(start)).takeTurn()
	if s.r.Attempts != 2 || s.r.Claim == nil {
		t.Fatalf("attempt %d, claim %v", s.r.Attempts, s.r.Claim)
	}
	for _, kind := range []fault.Kind{fault.Refused, fault.NothingHappened, fault.MayHaveHappened} {
		s.give(gate.SubmitFailed{Claim: 1, Failure: gate.Failure{Kind: kind, Text: "late"}})
		if s.r.Phase != gate.PhaseSubmitting || s.r.Claim == nil || s.r.Claim.Number != 2 {
			t.Fatalf("%s: %s, claim %v", kind, s.r.Phase, s.r.Claim)
		}
	}
}

func TestBackoffDiffersFromGateToGateAndFromTryToTry(t *testing.T) {
	shares := map[float64]bool{}
	for _, id := range []string{"g1", "g2", "g3", "g4"} {
		s := newStory(t)
		g := parse(t, least)
		g.GateID = id
		s.give(gate.Accepted{Gating: g})
		for try := range 4 {
			s.takeTurn().submitFails(fault.NothingHappened, 0)
			base := 10 * time.Second << try
			wait := s.r.Turn.At.Sub(s.now)
			if wait < base/2 || wait > base {
				t.Errorf("%s, try %d: waits %s, not between %s and %s", id, try, wait, base/2, base)
			}
			shares[wait.Seconds()/base.Seconds()] = true
			s.after(wait).tick()
		}
	}
	if len(shares) < 14 {
		t.Errorf("16 waits, but only %d are different: %v", len(shares), shares)
	}
}

// A job that was found counts from its own start, not from when it was found.
func TestAJobThatIsFoundWasSubmittedWhenItStarted(t *testing.T) {
	s := newStory(t).accept("").after(time.Minute).tick().takeTurn().submitFails(fault.MayHaveHappened, 0)
	j := s.job(prow.Pending)
	j.StartTime = start.Add(time.Minute)
	s.after(5*time.Minute).tick().listing(6*time.Minute, j)
	if !s.r.SubmittedAt.Equal(j.StartTime) {
		t.Errorf("submitted at %s", s.r.SubmittedAt.Sub(start))
	}
	s = newStory(t).accept("").takeTurn().submitFails(fault.MayHaveHappened, 0)
	j.StartTime = start.Add(-365 * 24 * time.Hour) // no clock is that wrong, and the gate must not time out by it
	s.after(15*time.Second).tick().listing(15*time.Second, j)
	if !s.r.SubmittedAt.Equal(start) {
		t.Errorf("submitted at %s, before the gate was accepted", s.r.SubmittedAt)
	}
}

// abortOf asks for the abort of a job that no gate owns.
func abortOf(t *testing.T) *story {
	t.Helper()
	s := newStory(t)
	s.give(gate.AbortAsked{ExecutionID: "e1", Reason: "r"})
	return s
}

func TestAJobOfNoGateThatIsMissingIsLostSoon(t *testing.T) {
	s := abortOf(t).missing()
	s.after(2*time.Minute - time.Second).tick().missing()
	if s.r.Phase == gate.PhaseDone {
		t.Fatal("given up before two minutes")
	}
	s.after(time.Second).tick().missing()
	if s.r.Phase != gate.PhaseDone || s.r.Abort.Outcome != gate.AbortFailed {
		t.Errorf("%s %s", s.r.Phase, s.r.Abort.Outcome)
	}
}

func TestTheAbortOfAJobOfNoGateIsTriedForAnHour(t *testing.T) {
	s := abortOf(t)
	for s.now.Sub(start) < time.Hour-30*time.Second {
		if s.after(30 * time.Second).tick().status(""); s.r.Phase == gate.PhaseDone {
			t.Fatalf("given up after %s", s.now.Sub(start))
		}
	}
	if s.after(30 * time.Second).tick().status(""); s.r.Phase != gate.PhaseDone {
		t.Errorf("not given up after an hour")
	}
}

func TestAnAbortCloseToTheDeadlineIsTriedForTenMinutes(t *testing.T) {
	s := newStory(t).running(`"timeout":"5m"`).after(4 * time.Minute).cancel().status("")
	for s.now.Sub(start) < 14*time.Minute-30*time.Second {
		if s.after(30 * time.Second).tick().status(""); s.r.Phase == gate.PhaseDone {
			t.Fatalf("given up after %s", s.now.Sub(start))
		}
	}
	if s.after(30 * time.Second).tick().status(""); s.r.Phase != gate.PhaseDone {
		t.Errorf("not given up after ten minutes")
	}
}

// While its abort is wanted, a job that Deck does not show is waited for beyond the gate's deadline.
func TestAMissingJobIsWaitedForWhileItsAbortIsWanted(t *testing.T) {
	s := newStory(t).running(`"timeout":"5m"`).after(4 * time.Minute).cancel().missing()
	s.after(2 * time.Minute).tick().missing()
	if s.r.Phase == gate.PhaseDone {
		t.Fatalf("%+v", s.r.Verdict)
	}
	s.after(30 * time.Second).tick().skip().aborted()
	if s.r.Abort.Outcome != gate.AbortNotNeeded {
		t.Errorf("%+v", s.r.Abort)
	}
}

// A verdict is never written twice, whatever happens to its gate.
func TestAVerdictStays(t *testing.T) {
	s := newStory(t).running(`"timeout":"1m"`).after(time.Hour).tick().status(prow.Pending)
	want := *s.r.Verdict
	s.after(time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Hour, s.job(prow.Pending)).abortTurn().abortAnswered(nil)
	s.after(time.Minute).tick().aborted()
	if got := *s.r.Verdict; got.Outcome != gate.TimedOut || !got.SentAt.Equal(want.SentAt) || got.Error != want.Error {
		t.Errorf("%+v", got)
	}
	if s.r.Abort.Outcome != gate.AbortDone {
		t.Errorf("%+v", s.r.Abort)
	}
}

func TestTextsOfMessagesAreBounded(t *testing.T) {
	s := newStory(t).accept("").takeTurn()
	s.give(gate.SubmitFailed{Claim: 1, Failure: gate.Failure{Kind: fault.Refused, Text: strings.Repeat("ü", 100_000)}})
	if n := len(s.r.Verdict.Error); n > 9<<10 || n < 8<<10 {
		t.Errorf("the error of a completion has %d bytes", n)
	}
	if !strings.HasSuffix(s.r.Verdict.Error, "ü...") {
		t.Errorf("cut within a character: %q", s.r.Verdict.Error[len(s.r.Verdict.Error)-8:])
	}
	s = newStory(t).running("").tick()
	for _, c := range s.give(gate.StatusRead{Turn: s.turn(), Failure: &gate.Failure{Text: strings.Repeat("x", 100_000)}}) {
		if p, ok := c.(gate.SendProgress); ok && len(p.Notice.Text) > 9<<10 {
			t.Errorf("the text of a progress message has %d bytes", len(p.Notice.Text))
		}
	}
	for _, m := range s.r.Timeline {
		if len(m.Text) > 510 {
			t.Errorf("a moment of the timeline has %d bytes", len(m.Text))
		}
	}
}

func TestARejectionSaysHowManyProblemsItLeavesOut(t *testing.T) {
	reject := func(n int, problem string) string {
		s := newStory(t)
		s.give(gate.Refused{Rejection: gate.Rejection{GateID: "g1", Problems: slices.Repeat([]string{problem}, n)}})
		return s.r.Verdict.Error
	}
	if text := reject(3, "f: rule"); text != "the gating message was rejected: f: rule; f: rule; f: rule" {
		t.Error(text)
	}
	text := reject(1000, "field: rule")
	listed := strings.Count(text, "field: rule")
	if want := fmt.Sprintf("; and %d more problems", 1000-listed); !strings.HasSuffix(text, want) || listed < 500 {
		t.Errorf("%d listed: ...%s", listed, text[len(text)-40:])
	}
	if text := reject(100, strings.Repeat("x", 5000)); !strings.HasSuffix(text, " more problems") {
		t.Errorf("...%s", text[len(text)-40:])
	}
}
