package gate_test

import (
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

func TestAbortWaitsForAListingThatShowsTheStartSecond(t *testing.T) {
	s := newStory(t).running("").after(10 * time.Second).cancel().skip().status(prow.Pending)
	s.tells(`
		10s StatusRead -> running
		  progress .progress.2: job is pending
		  progress .progress.3: the abort is put off: only a listing made 45s after the job's start shows every job of that second
		  tick 4 at 46s`)
}

func TestAbortWaitsForASibling(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending).skip()
	sibling := s.job(prow.Scheduling)
	sibling.ID, sibling.Name = "e2", "another-name"
	s.probe(2*time.Minute, s.job(prow.Pending), sibling)
	s.after(30 * time.Second).tick().status(prow.Pending)
	s.probe(150*time.Second, s.job(prow.Pending), sibling)
	s.after(30 * time.Second).tick().status(prow.Pending)
	sibling.State = prow.Success
	s.probe(3*time.Minute, s.job(prow.Pending), sibling)
	s.tells(`
		2m0s Probed -> running
		  progress .progress.3: the abort is put off: job another-name (execution e2, scheduling) started in the same second
		  tick 4 at 2m30s
		2m30s Ticked -> running
		  ReadStatus
		2m30s StatusRead -> running
		  Probe
		2m30s Probed -> running
		  tick 5 at 3m0s
		3m0s Ticked -> running
		  ReadStatus
		3m0s StatusRead -> running
		  Probe
		3m0s Probed -> running
		  take a turn for an abort`)
}

func TestAbortIsSkippedWhenTheSiblingOutlastsTheDeadline(t *testing.T) {
	s := newStory(t).running(`"timeout":"1h"`).after(2 * time.Minute).cancel().status(prow.Pending)
	sibling := s.job(prow.Pending)
	sibling.ID = "e2"
	s.probe(2*time.Minute, s.job(prow.Pending), sibling)
	s.after(58 * time.Minute).tick().skip().status(prow.Pending)
	s.tells(`
		1h0m0s StatusRead -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort skipped: job e2e (execution e2, pending) started in the same second`)
}

func TestAbortOfAJobThatIsFoundBehindItsDeadlineIsTried(t *testing.T) {
	s := newStory(t).accept(`"timeout":"5m"`).takeTurn().cancel()
	s.after(20*time.Minute).tick().listing(20*time.Minute, s.job(prow.Pending)).skip().status(prow.Pending)
	s.tells(`
		20m0s StatusRead -> running
		  progress .progress.2: job is pending
		  Probe`)
}

func TestAbortOfAJobWithoutRefsIsSkipped(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().skip()
	j := s.job(prow.Pending)
	j.ExtraRefs = nil
	s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
	s.tells(`
		2m0s StatusRead -> done
		  progress .progress.2: job is pending
		  completion: cancelled passed=false the rollout was cancelled (r); abort skipped: the job has no refs: Gangway would select jobs of every repo`)
}

func TestAbortOfAJobInAnUnknownStateWaits(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().skip().status("")
	s.tells(`
		2m0s StatusRead -> running
		  progress .progress.2: job is not started
		  progress .progress.3: the abort is put off: Gangway cannot change a job in state ""
		  tick 4 at 2m30s`)
}

func TestAbortIsRepeatedWithTheStateTheJobHasNow(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn().abortAnswered(nil).skip()
	s.after(5 * time.Second).tick().status(prow.Pending)
	s.after(15 * time.Second).tick().status(prow.Pending)
	s.tells(`
		2m5s Ticked -> running
		  ReadStatus
		2m5s StatusRead -> running
		  tick 5 at 2m7s
		2m20s Ticked -> running
		  ReadStatus
		2m20s StatusRead -> running
		  Probe`)
}

func TestAbortThatIsNeverConfirmedFails(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	requests := 0
	for i := 0; s.r.Phase != gate.PhaseDone; i++ {
		if i > 100 {
			t.Fatal("it never gives up")
		}
		s.probe(s.now.Sub(start), s.job(prow.Pending))
		for _, c := range s.give(turnForAbort(s)) {
			if _, ok := c.(gate.AbortJob); ok {
				requests++
			}
		}
		s.abortAnswered(nil)
		s.after(21 * time.Second).tick().status(prow.Pending)
	}
	v := s.r.Verdict
	if requests != 10 || v.Abort.Outcome != gate.AbortFailed || v.Abort.Reason != "not confirmed: the job is still pending after 10 requests" {
		t.Errorf("%d requests, %+v", requests, v.Abort)
	}
}

func turnForAbort(s *story) gate.Event {
	a := prow.Abort{Current: prow.Pending, Type: prow.Periodic, Org: "Azure", Repo: "ARO-HCP", Start: start}
	return gate.TurnTaken{Turn: s.turn(), Abort: &a, Granted: true}
}

func TestRepeatedTurnSendsNoSecondRequest(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn().skip()
	s.abortTurn()
	s.tells("2m0s TurnTaken -> running")
}

func TestAbortWaitsForItsTurnAtGangway(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).skip()
	a := prow.Abort{Current: prow.Pending}
	s.give(gate.TurnTaken{Turn: s.turn(), Abort: &a, At: s.now.Add(5 * time.Second)})
	s.tells(`
		2m0s TurnTaken -> running
		  progress .progress.3: the abort is put off: waiting for its turn at Gangway
		  tick 4 at 2m5s`)
}

func TestAbortIsNeverPutOffBeyondItsTime(t *testing.T) {
	future := func(s *story) prow.Job {
		j := s.job(prow.Pending)
		j.StartTime = start.AddDate(70, 0, 0)
		return j
	}
	s := newStory(t).running(`"timeout":"1h"`).after(2 * time.Minute).cancel()
	s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: future(s)})
	if !s.r.Turn.At.Equal(start.Add(time.Hour)) {
		t.Errorf("put off until %s", s.r.Turn.At)
	}
	s = newStory(t).running(`"timeout":"1h"`).after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn()
	s.abortAnswered(&gate.Failure{Kind: fault.NothingHappened, Text: "429", RetryAfter: 24 * time.Hour})
	if !s.r.Turn.At.Equal(start.Add(time.Hour)) {
		t.Errorf("put off until %s", s.r.Turn.At)
	}
	s.after(s.r.Turn.At.Sub(s.now)).tick().status(prow.Pending)
	if s.r.Phase != gate.PhaseDone {
		t.Errorf("%s", s.r.Phase)
	}
}

func TestAbortReasonIsBoundedAndHarmless(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	sibling := s.job(prow.Pending)
	sibling.ID, sibling.Name = "e2", gate.Marker(gate.KnownIssueEligible)+strings.Repeat("x", 100_000)
	s.probe(2*time.Minute, s.job(prow.Pending), sibling)
	if n := len(s.r.Abort.Reason); n > 2000 || gate.HasMarker(s.r.Abort.Reason) {
		t.Errorf("a reason of %d bytes: %.200s", n, s.r.Abort.Reason)
	}
}

func TestCancelOfATimedOutGateThatDoesNotAbort(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s","abortOnCancel":false`)
	s.after(90 * time.Second).tick().status(prow.Pending)
	s.give(gate.CompletionSent{})
	s.skip().cancel()
	s.tells("1m30s CancelAsked -> done")
}

func TestLateJobOfAGateThatDoesNotAbort(t *testing.T) {
	s := newStory(t).accept(`"abortOnCancel":false`).takeTurn().cancel()
	s.after(gate.ClaimFor).tick().listing(90 * time.Second)
	s.after(time.Minute).tick().listing(150 * time.Second).skip()
	s.submitted()
	s.tells("2m30s Submitted -> done")
}

func TestRefusedAbort(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn().skip()
	s.abortAnswered(&gate.Failure{Kind: fault.Refused, Text: "403"})
	s.tells(`
		2m0s AbortAnswered -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort failed: Gangway refused the abort: 403`)
}

func TestAbortThatDidNotHappenOrIsUnclear(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn().skip()
	s.abortAnswered(&gate.Failure{Kind: fault.NothingHappened, Text: "429", RetryAfter: time.Minute})
	s.after(time.Minute).tick().status(prow.Pending)
	s.probe(3*time.Minute, s.job(prow.Pending)).abortTurn()
	s.abortAnswered(&gate.Failure{Kind: fault.MayHaveHappened, Text: "cut"})
	s.after(5 * time.Second).tick().aborted()
	s.tells(`
		2m0s AbortAnswered -> running
		  progress .progress.3: the abort is put off: Gangway could not be asked: 429
		  tick 4 at 3m0s
		3m0s Ticked -> running
		  ReadStatus
		3m0s StatusRead -> running
		  Probe
		3m0s Probed -> running
		  take a turn for an abort
		3m0s TurnTaken -> running
		  abort pending periodic Azure/ARO-HCP at 0s
		3m0s AbortAnswered -> running
		  tick 5 at 3m2s
		3m5s Ticked -> running
		  ReadStatus
		3m5s StatusRead -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort aborted: the job was seen to be aborted`)
}

func TestAbortOfAJobThatNoGateOwns(t *testing.T) {
	s := newStory(t)
	s.give(gate.AbortAsked{ExecutionID: "e1", Reason: "r"})
	s.status(prow.Success)
	s.tells(`
		0s AbortAsked -> running
		  progress .cancel: the cancellation was taken
		  ReadStatus
		0s StatusRead -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort not-needed: the job ended by itself: success`)
}

func TestAbortOfAJobThatIsNotThere(t *testing.T) {
	s := newStory(t)
	s.give(gate.AbortAsked{ExecutionID: "e9"})
	s.missing()
	s.after(2 * time.Minute).tick().skip().missing()
	s.tells(`
		2m0s StatusRead -> done
		  completion: cancelled passed=false the rollout was cancelled; abort failed: the job is lost: Deck does not show it`)
}

func TestAbortThatPlankOverwritesIsNotBelieved(t *testing.T) {
	s := newStory(t).running("").after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn().abortAnswered(nil).skip()
	s.after(5 * time.Second).tick().status(prow.Aborted)
	s.after(5 * time.Second).tick().status(prow.Pending)
	s.after(10 * time.Second).tick().status(prow.Pending)
	s.probe(140*time.Second, s.job(prow.Pending)).abortTurn().abortAnswered(nil).skip()
	s.after(5 * time.Second).tick().status(prow.Aborted)
	s.after(20 * time.Second).tick().status(prow.Aborted)
	s.tells(`
		2m25s Ticked -> running
		  ReadStatus
		2m25s StatusRead -> running
		  tick 8 at 2m27s
		2m45s Ticked -> running
		  ReadStatus
		2m45s StatusRead -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort aborted: the job was seen to be aborted`)
}

// What a gate met at its deadline says nothing of the job when its abort is asked for later: only 404s in a row count.
func TestOneMissingAnswerDoesNotEndALateAbort(t *testing.T) {
	s := newStory(t).running(`"timeout":"1h"`).after(15 * time.Second).tick().status(prow.Pending)
	missing := func() {
		turn := s.turn()
		if s.missing(); s.turn() == turn { // the run's own file is asked for
			s.give(gate.UploadedRead{Turn: turn, Found: true, Job: prow.Job{ID: "e1", State: prow.Pending}})
		}
	}
	s.after(time.Hour).tick()
	for i := 0; s.r.Verdict == nil && i < 100; i++ {
		missing()
		s.after(10 * time.Second)
	}
	s.give(gate.CompletionSent{})
	s.after(time.Hour).cancel()
	missing()
	if s.r.Verdict.Outcome != gate.TimedOut || s.r.Abort.State != gate.AbortWanted {
		t.Errorf("%s, abort %+v", s.r.Verdict.Outcome, s.r.Abort)
	}
}

// A job that is slow to end is looked at less often after a while.
func TestAnAbortIsNoPollStorm(t *testing.T) {
	s := newStory(t).running(`"timeout":"1h"`).after(10 * time.Minute).cancel()
	looks := 0
	for ; s.r.Verdict == nil && looks < 1000; looks++ {
		turn := s.turn()
		if s.status(prow.Pending); s.r.Verdict == nil && s.turn() == turn {
			s.probe(s.now.Sub(start), s.job(prow.Pending)).abortTurn().abortAnswered(nil)
		}
		s.now = s.r.Turn.At
		s.tick().skip()
	}
	took := s.now.Sub(start) - 10*time.Minute
	if s.r.Verdict.Abort.Outcome != gate.AbortFailed || took < 10*time.Minute || looks > 160 {
		t.Errorf("%d looks in %s: %s", looks, took, s.r.Verdict.Error)
	}
}

// The abort of a job that came late, for a gate that had ended without one, is tried again when it is asked for.
func TestAbortOfALateJobIsTriedAgain(t *testing.T) {
	s := newStory(t).accept("").takeTurn().submitFails(fault.Refused, 0)
	s.give(gate.CompletionSent{})
	s.give(gate.Submitted{Claim: 1, ExecutionID: "e1"})
	for i := 0; s.r.Abort.State != gate.AbortGivenUp && i < 1000; i++ {
		s.give(gate.StatusRead{Turn: s.turn(), Failure: &gate.Failure{Text: "HTTP 502"}})
		s.after(time.Minute).tick()
	}
	if s.cancel(); s.r.Abort.State != gate.AbortWanted || s.r.Verdict.Outcome != gate.SubmissionFailed {
		t.Errorf("%s, abort %+v", s.r.Verdict.Outcome, s.r.Abort)
	}
}
