package gate_test

import (
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

func TestTurnInTheFutureIsScheduled(t *testing.T) {
	s := newStory(t).accept("").skip()
	s.give(gate.TurnTaken{Turn: s.turn(), At: start.Add(40 * time.Second)})
	s.after(40 * time.Second).tick()
	s.give(gate.TurnTaken{Turn: s.turn(), At: s.now.Add(time.Second)})
	s.tells(`
		0s TurnTaken -> accepted
		  progress .progress.1: waiting for its turn at Gangway until 12:00:40
		  tick 2 at 40s
		40s Ticked -> accepted
		  take a turn
		40s TurnTaken -> accepted
		  tick 3 at 41s`)
}

func TestClaimLetsNoSecondPostStart(t *testing.T) {
	s := newStory(t).accept("").takeTurn().skip()
	s.takeTurn() // another delivery of the same message
	s.after(gate.ClaimFor - 1).tick()
	s.tells(`
		0s TurnTaken -> submitting
		1m30s Ticked -> submitting
		  tick 2 at 1m30.25s`)
	s.after(1).tick()
	s.tells(`
		1m30s Ticked -> submitting
		  FindJob`)
}

func TestAnswerAfterTheTurnIsNotLost(t *testing.T) {
	s := newStory(t).accept("").takeTurn()
	s.after(time.Second).tick().skip()
	s.submitted()
	if s.r.ExecutionID != "e1" || s.r.Phase != gate.PhaseRunning {
		t.Errorf("%s %s", s.r.Phase, s.r.ExecutionID)
	}
}

func TestRefusedSubmission(t *testing.T) {
	s := newStory(t).accept("").takeTurn().skip().submitFails(fault.Refused, 0)
	s.tells(`
		0s SubmitFailed -> done
		  completion: submit-failed passed=false Gangway refused the submission: why`)
}

func TestSubmissionThatDidNotHappenBacksOff(t *testing.T) {
	s := newStory(t).accept("").takeTurn().skip().submitFails(fault.NothingHappened, 0)
	first := s.r.Turn.At.Sub(s.now)
	if first < 5*time.Second || first > 10*time.Second || s.r.Phase != gate.PhaseAccepted {
		t.Errorf("first wait = %s, phase %s", first, s.r.Phase)
	}
	s.after(first).tick().takeTurn().submitFails(fault.NothingHappened, time.Minute)
	if wait := s.r.Turn.At.Sub(s.now); wait != time.Minute {
		t.Errorf("wait = %s, want what Retry-After says", wait)
	}
	for i := 0; s.r.Phase == gate.PhaseAccepted; i++ {
		if i > 100 {
			t.Fatal("it never gives up")
		}
		s.after(s.r.Turn.At.Sub(s.now)).tick().takeTurn().submitFails(fault.NothingHappened, 0)
	}
	s.skip().give(gate.Overdue{})
	if got := s.r.Verdict.Outcome; got != gate.SubmissionFailed {
		t.Errorf("outcome = %s", got)
	}
	if total := s.now.Sub(start); total > gate.SubmitFor || total < gate.SubmitFor-6*time.Minute {
		t.Errorf("gave up after %s", total)
	}
}

func TestRetryAfterBeyondTheLimitIsCut(t *testing.T) {
	s := newStory(t).accept("").takeTurn().submitFails(fault.NothingHappened, 24*time.Hour)
	if wait := s.r.Turn.At.Sub(s.now); s.r.Phase != gate.PhaseAccepted || wait != gate.SubmitFor {
		t.Fatalf("%s, next try after %s", s.r.Phase, wait)
	}
	s.after(gate.SubmitFor).tick().takeTurn().submitFails(fault.NothingHappened, 24*time.Hour)
	if s.r.Phase != gate.PhaseDone || s.r.Verdict.Outcome != gate.SubmissionFailed {
		t.Errorf("%s", s.r.Phase)
	}
}

func TestSubmissionsThatAreNeverClearEnd(t *testing.T) {
	s := newStory(t).accept("")
	posts := 0
	for s.r.Phase != gate.PhaseDone {
		if posts++; posts > 200 {
			t.Fatal("it never gives up")
		}
		s.takeTurn().submitFails(fault.MayHaveHappened, 0)
		for s.r.Phase == gate.PhaseSubmitting {
			s.listing(s.now.Sub(start))
			s.after(15 * time.Second).tick()
		}
	}
	if v := s.r.Verdict; v.Outcome != gate.SubmissionFailed || s.now.Sub(start) > gate.SubmitFor+2*time.Minute {
		t.Errorf("%s after %s", v.Outcome, s.now.Sub(start))
	}
}

func TestUnclearSubmissionIsLookedFor(t *testing.T) {
	for _, kind := range []fault.Kind{fault.MayHaveHappened, fault.Conflict} {
		s := newStory(t).accept("").takeTurn().skip().submitFails(kind, 0)
		s.tells(`
		0s SubmitFailed -> submitting
		  FindJob`)
	}
}

// listing is Deck's list at the given time of the story.
func (s *story) listing(at time.Duration, jobs ...prow.Job) *story {
	s.give(gate.Looked{Turn: s.turn(), Listing: prow.Listing{At: start.Add(at), Jobs: jobs, Seen: 7}})
	return s
}

func TestLookFindsTheJob(t *testing.T) {
	s := newStory(t).accept("").takeTurn().submitFails(fault.MayHaveHappened, 0).skip()
	s.listing(0)
	s.after(15*time.Second).tick().listing(15*time.Second, s.job(prow.Pending))
	s.tells(`
		0s Looked -> submitting
		  progress .progress.1: it is not clear whether the submission made a job; looking for it
		  tick 3 at 15s
		15s Ticked -> submitting
		  FindJob
		15s Looked -> running
		  progress .progress.2: submitted as execution e1
		  tick 4 at 30s
		  Recall`)
}

func TestLookIsNotFooledByOtherJobs(t *testing.T) {
	s := newStory(t).accept("").takeTurn().submitFails(fault.MayHaveHappened, 0).skip()
	sibling := s.job(prow.Pending)
	sibling.Labels = map[string]string{gate.KeyGateID: "g2"}
	s.listing(0, sibling)
	if s.r.ExecutionID != "" {
		t.Errorf("adopted %s", s.r.ExecutionID)
	}
}

func TestOnlyALateListingProvesThatThereIsNoJob(t *testing.T) {
	tests := []struct {
		name    string
		since   time.Duration // Deck's clock at the first listing
		elapsed time.Duration // our clock at the second
		deck    time.Duration // Deck's clock then
		again   bool
	}{
		{"both clocks", 0, 45 * time.Second, 45 * time.Second, true},
		{"too early by ours", 0, 44 * time.Second, 60 * time.Second, false},
		{"too early by Deck's", 0, 60 * time.Second, 44 * time.Second, false},
		{"Deck's clock is a little behind", -15 * time.Second, 45 * time.Second, 30 * time.Second, true},
		{"answers out of a cache", -time.Hour, 60 * time.Second, -time.Hour + 60*time.Second, false},
		{"an answer out of a cache, then a new one", -time.Hour, 60 * time.Second, 29 * time.Second, false},
		{"Deck's clock is ahead", time.Hour, 60 * time.Second, time.Hour + 30*time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory(t).accept("").takeTurn().submitFails(fault.MayHaveHappened, 0)
			s.listing(tt.since)
			s.after(tt.elapsed).tick().listing(tt.deck)
			if again := s.r.Phase == gate.PhaseAccepted; again != tt.again {
				t.Errorf("submits again = %t", again)
			}
		})
	}
}

func TestAnEmptyListProvesLessThanOneWithJobs(t *testing.T) {
	s := newStory(t).accept("").takeTurn().submitFails(fault.MayHaveHappened, 0)
	empty := func(at time.Duration) {
		s.give(gate.Looked{Turn: s.turn(), Listing: prow.Listing{At: start.Add(at)}})
	}
	empty(0)
	s.after(3*time.Minute - time.Second).tick()
	empty(3*time.Minute - time.Second)
	if s.r.Phase != gate.PhaseSubmitting {
		t.Fatalf("phase = %s", s.r.Phase)
	}
	s.after(time.Second).tick()
	empty(3 * time.Minute)
	if s.r.Phase != gate.PhaseAccepted {
		t.Fatalf("phase = %s", s.r.Phase)
	}
}

func TestUnreadableListingProvesNothing(t *testing.T) {
	s := newStory(t).accept("").takeTurn().submitFails(fault.MayHaveHappened, 0)
	unreadable := func() {
		s.give(gate.Looked{Turn: s.turn(), Failure: &gate.Failure{Text: "cut off"}, Listing: prow.Listing{At: s.now}})
	}
	unreadable()
	s.after(10 * time.Minute).tick()
	unreadable()
	if s.r.Phase != gate.PhaseSubmitting {
		t.Fatalf("phase = %s", s.r.Phase)
	}
	s.after(10 * time.Minute).tick().give(gate.Looked{Turn: s.turn()}) // no date
	if s.r.Phase != gate.PhaseSubmitting {
		t.Fatalf("phase = %s", s.r.Phase)
	}
	s.after(time.Hour).tick().skip()
	unreadable()
	s.tells(`
		1h20m0s Looked -> done
		  completion: submit-failed passed=false it could not be found out whether the submission made a job; look for the label ev2.rollout/gate-id=g1: cut off`)
}

func TestJobThatComesAfterTheGateWasClosedIsAborted(t *testing.T) {
	s := newStory(t).accept("").takeTurn().cancel()
	s.after(gate.ClaimFor).tick().listing(90 * time.Second)
	s.after(time.Minute).tick().skip().listing(150 * time.Second)
	s.submitted()
	s.tells(`
		2m30s Looked -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort not-needed: no job was made
		2m30s Submitted -> done
		  ReadStatus`)
	s.give(gate.CompletionSent{})
	s.skip().status(prow.Pending)
	s.probe(3*time.Minute, s.job(prow.Pending)).abortTurn().abortAnswered(nil)
	s.after(5 * time.Second).tick().skip().aborted()
	s.tells(`
		2m35s StatusRead -> done
		  progress .progress.3: abort aborted: the job was seen to be aborted`)
}
