package gate_test

import (
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

func TestCancelBeforeTheGatingMessage(t *testing.T) {
	s := newStory(t).cancel().cancel()
	s.tells(`
		0s CancelAsked -> none
		0s CancelAsked -> none`)
	s.accept("")
	s.tells(`
		0s Accepted -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort not-needed: cancelled before the submission: no job was made`)
}

func TestCancelBeforeTheAdoption(t *testing.T) {
	s := newStory(t).cancel().skip().accept(`"executionId":"e1"`)
	s.tells(`
		0s Accepted -> running
		  progress .progress.1: monitoring execution e1
		  ReadStatus`)
	if s.r.Abort.State != gate.AbortWanted {
		t.Error("the job of a cancelled gate is left running")
	}
}

func TestCancelBeforeTheSubmission(t *testing.T) {
	s := newStory(t).accept("").skip().cancel()
	s.takeTurn() // the turn that was asked for comes too late
	s.tells(`
		0s CancelAsked -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort not-needed: cancelled before the submission: no job was made
		0s TurnTaken -> done`)
}

func TestCancelDuringThePost(t *testing.T) {
	s := newStory(t).accept("").takeTurn().skip().cancel()
	s.tells(`
		0s CancelAsked -> submitting
		  progress .cancel: the cancellation was taken
		  tick 3 at 1m30s`)
	t.Run("accepted", func(t *testing.T) {
		s := *s
		s.t = t
		s.submitted()
		s.tells(`
		0s Submitted -> running
		  progress .progress.1: submitted as execution e1
		  ReadStatus`)
	})
	t.Run("refused", func(t *testing.T) {
		s := *s
		s.t = t
		s.submitFails(fault.Refused, 0)
		s.tells(`
		0s SubmitFailed -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort not-needed: no job was made`)
	})
	t.Run("not done", func(t *testing.T) {
		s := *s
		s.t = t
		s.submitFails(fault.NothingHappened, 0)
		s.tells(`
		0s SubmitFailed -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort not-needed: no job was made`)
	})
	t.Run("unclear", func(t *testing.T) {
		s := *s
		s.t = t
		s.submitFails(fault.MayHaveHappened, 0)
		s.listing(0, s.job(prow.Pending))
		s.tells(`
		0s SubmitFailed -> submitting
		  FindJob
		0s Looked -> running
		  progress .progress.1: submitted as execution e1
		  ReadStatus`)
	})
}

func TestCancelWhileRunning(t *testing.T) {
	s := newStory(t).running("")
	s.after(2 * time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn().abortAnswered(nil)
	s.after(5 * time.Second).tick().aborted()
	s.tells(`
		2m0s CancelAsked -> running
		  progress .cancel: the cancellation was taken
		  ReadStatus
		2m0s StatusRead -> running
		  progress .progress.2: job is pending
		  Probe
		2m0s Probed -> running
		  take a turn for an abort
		2m0s TurnTaken -> running
		  abort pending periodic Azure/ARO-HCP at 0s
		2m0s AbortAnswered -> running
		  tick 4 at 2m2s
		2m5s Ticked -> running
		  ReadStatus
		2m5s StatusRead -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort aborted: the job was seen to be aborted`)
	if r := s.r.Verdict.Abort; r == nil || r.Outcome != gate.AbortDone {
		t.Errorf("abort = %+v", r)
	}
}

func TestCancelWithoutAbort(t *testing.T) {
	s := newStory(t).running(`"abortOnCancel":false`).cancel()
	s.tells(`
		0s CancelAsked -> done
		  progress .cancel: the cancellation was taken
		  completion: cancelled passed=false the rollout was cancelled (r); abort disabled: abortOnCancel is off: the job was left running`)
}

func TestCancelOfAJobThatEndedByItself(t *testing.T) {
	for _, state := range []prow.State{prow.Success, prow.Failure, prow.Errored, prow.Aborted} {
		s := newStory(t).running("").cancel().status(state)
		if v := s.r.Verdict; v == nil || v.Outcome != gate.Cancelled || v.Abort.Outcome != gate.AbortNotNeeded || v.Passed {
			t.Errorf("%s: %+v", state, v)
		}
	}
}

func TestRepeatedCancelRepairs(t *testing.T) {
	s := newStory(t).running("").cancel().skip().cancel()
	s.tells(`
		0s CancelAsked -> running
		  progress .cancel: the cancellation was taken
		  tick 3 at 0s`)
}

func TestCancelAfterTheEnd(t *testing.T) {
	s := newStory(t).running("")
	s.tick().status(prow.Success)
	s.give(gate.CompletionSent{})
	s.skip().cancel()
	s.tells("0s CancelAsked -> done")
	if s.r.Cancel != nil || s.r.Verdict.Outcome != gate.Succeeded {
		t.Error("a cancellation that came too late changed the record")
	}
}

func TestCancelWhileTheEndIsBeingClassified(t *testing.T) {
	s := newStory(t).running(`"gatePromotion":true,"allowEv2Retry":true`)
	s.tick().status(prow.Failure).skip().cancel()
	s.tells(`
		0s CancelAsked -> concluding
		  tick 2 at 15s`)
}

func TestCancelOfAJobThatOutlivedItsGate(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s"`)
	s.after(90 * time.Second).tick().status(prow.Pending)
	s.give(gate.CompletionSent{})
	s.skip().after(time.Minute).cancel().status(prow.Pending)
	s.probe(2*time.Minute, s.job(prow.Pending)).abortTurn().abortAnswered(nil)
	s.after(5 * time.Second).tick().aborted()
	s.tells(`
		2m30s CancelAsked -> done
		  progress .cancel: the cancellation was taken
		  ReadStatus
		2m30s StatusRead -> done
		  Probe
		2m30s Probed -> done
		  take a turn for an abort
		2m30s TurnTaken -> done
		  abort pending periodic Azure/ARO-HCP at 0s
		2m30s AbortAnswered -> done
		  tick 4 at 2m32s
		2m35s Ticked -> done
		  ReadStatus
		2m35s StatusRead -> done
		  progress .progress.3: abort aborted: the job was seen to be aborted`)
	if s.r.Verdict.Outcome != gate.TimedOut || s.r.Verdict.Abort != nil {
		t.Error("the verdict changed")
	}
}

func TestOwnedJobIsLeftToItsGate(t *testing.T) {
	s := newStory(t)
	s.give(gate.AbortAsked{ExecutionID: "e1", Reason: "r"})
	s.skip().give(gate.StatusRead{Turn: s.turn(), Found: true, Job: s.job(prow.Pending), Owner: "g1"})
	s.tells(`
		0s StatusRead -> done
		  completion: cancelled passed=false the rollout was cancelled (r); abort skipped: the job belongs to gate g1, which was cancelled in its place; should that gate leave the job running, ask again to abort it`)
}
