package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

func TestPassingGate(t *testing.T) {
	s := newStory(t).accept("").takeTurn().submitted()
	s.after(15 * time.Second).tick().status(prow.Pending)
	s.after(time.Minute).tick().status(prow.Pending)
	s.after(time.Minute).tick().status(prow.Success)
	s.give(gate.CompletionSent{})
	s.tells(`
		0s Accepted -> accepted
		  take a turn
		0s TurnTaken -> submitting
		  submit, claim 1
		0s Submitted -> running
		  progress .progress.1: submitted as execution e1
		  tick 2 at 15s
		  Recall
		15s Ticked -> running
		  ReadStatus
		15s StatusRead -> running
		  progress .progress.2: job is pending
		  tick 3 at 1m15s
		1m15s Ticked -> running
		  ReadStatus
		1m15s StatusRead -> running
		  tick 4 at 2m15s
		2m15s Ticked -> running
		  ReadStatus
		2m15s StatusRead -> done
		  completion: succeeded passed=true 
		2m15s CompletionSent -> done`)
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		state     prow.State
		promotion string
		want      string
	}{
		{prow.Success, `"gatePromotion":true`, "completion: succeeded passed=true "},
		{prow.Failure, `"gatePromotion":true`, "completion: failed passed=false Prow job e2e failed: https://deck/e1"},
		{prow.Aborted, `"gatePromotion":true`, "completion: aborted passed=false Prow job e2e was aborted: https://deck/e1"},
		{prow.Errored, `"gatePromotion":true`, "completion: errored passed=false Prow job e2e ended in an error of Prow's own: https://deck/e1"},
		{prow.Success, `"gatePromotion":false`, "completion: succeeded passed=true "},
		{prow.Failure, `"gatePromotion":false`, "completion: failed passed=true Prow job e2e failed; the step passes, because gatePromotion is off: https://deck/e1"},
		{prow.Aborted, `"gatePromotion":false`, "completion: aborted passed=true Prow job e2e was aborted; the step passes, because gatePromotion is off: https://deck/e1"},
		{prow.Errored, `"gatePromotion":false`, "completion: errored passed=true Prow job e2e ended in an error of Prow's own; the step passes, because gatePromotion is off: https://deck/e1"},
	}
	for _, tt := range tests {
		t.Run(string(tt.state)+" "+tt.promotion, func(t *testing.T) {
			s := newStory(t).running(tt.promotion)
			s.tick().skip().status(tt.state)
			s.tells("0s StatusRead -> done\n  " + tt.want)
		})
	}
}

func TestStateThatIsNotKnownIsNotAnEnd(t *testing.T) {
	s := newStory(t).running("")
	s.tick().skip().status("frozen")
	s.tells(`
		0s StatusRead -> running
		  progress .progress.2: job is frozen
		  tick 3 at 1m0s`)
}

func TestErrorWithoutURL(t *testing.T) {
	s := newStory(t).running(`"gatePromotion":true`)
	j := s.job(prow.Errored)
	j.URL = ""
	s.tick().skip().give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
	s.tells(`
		0s StatusRead -> done
		  completion: errored passed=false Prow job e2e ended in an error of Prow's own`)
}

func TestURLIsTakenFromTheNewestAnswer(t *testing.T) {
	s := newStory(t).running("")
	s.tick().status(prow.Pending)
	j := s.job(prow.Pending)
	j.URL = "https://deck/e1-revived"
	s.tick().give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
	if s.r.JobURL != j.URL {
		t.Errorf("job URL = %s", s.r.JobURL)
	}
}

func TestDryRun(t *testing.T) {
	s := newStory(t).accept(`"dryRun":true`)
	s.tells(`
		0s Accepted -> done
		  completion: dry-run passed=true dry run: the message is valid; would submit PERIODIC job e2e: {"jobName":"e2e","type":"periodic","labels":{"ev2.rollout/gate-id":"g1"},"annotations":{"ev2.rollout/cloud":"public","ev2.rollout/environment":"int","ev2.rollout/gate-id":"g1","ev2.rollout/region":"westus3"},"envs":{"MULTISTAGE_PARAM_OVERRIDE_LOCATION":"westus3"}}`)
}

// A dry run shows the labels that the job would have.
func TestDryRunOfExclusiveLabels(t *testing.T) {
	s := newStory(t)
	s.give(gate.Accepted{Gating: parse(t, with(`"dryRun":true`)), Exclusive: true})
	if text := s.r.Verdict.Error; !strings.Contains(text, `"prow.k8s.io/refs.repo":"g1"`) {
		t.Error(text)
	}
}

func TestAdoption(t *testing.T) {
	s := newStory(t).accept(`"executionId":"e1"`).status(prow.Success)
	s.tells(`
		0s Accepted -> running
		  progress .progress.1: monitoring execution e1
		  Recall
		  ReadStatus
		0s StatusRead -> done
		  completion: succeeded passed=true `)
}

func TestRejection(t *testing.T) {
	s := newStory(t)
	s.give(gate.Refused{Rejection: gate.Rejection{GateID: "g1", Problems: []string{"a: b", "c: d"}}})
	s.tells(`
		0s Refused -> done
		  completion: rejected passed=false the gating message was rejected: a: b; c: d`)
	s.give(gate.CompletionSent{})
	s.skip().accept("")
	s.tells("0s Accepted -> done")
}

func TestRejectionDoesNotTouchARunningGate(t *testing.T) {
	s := newStory(t).running("")
	s.give(gate.Refused{Rejection: gate.Rejection{GateID: "g1", Problems: []string{"a: b"}}})
	s.tells(`
		0s Refused -> running
		  tick 2 at 15s`)
}

func TestRepeatedGatingMessageRepairs(t *testing.T) {
	s := newStory(t).running("").accept(`"dryRun":true`)
	s.tells(`
		0s Accepted -> running
		  tick 2 at 15s`)
	s.tick().status(prow.Success)
	s.skip().accept("")
	s.tells(`
		0s Accepted -> done
		  completion: succeeded passed=true `)
	s.give(gate.CompletionSent{})
	s.skip().accept("")
	s.tells("0s Accepted -> done")
}

func TestTicks(t *testing.T) {
	s := newStory(t).running("")
	s.tick().status(prow.Pending)
	s.tick().status(prow.Pending)
	s.skip()
	if s.turn() != 4 {
		t.Fatalf("turn = %d", s.turn())
	}
	s.give(gate.Ticked{Seq: 3})
	s.give(gate.Ticked{Seq: 2})
	s.give(gate.Ticked{Seq: 5})
	s.give(gate.Ticked{Seq: 4})
	s.tells(`
		0s Ticked -> running
		  tick 4 at 1m0s
		0s Ticked -> running
		0s Ticked -> running
		0s Ticked -> running
		  ReadStatus`)
}

func TestResultsOfAnOldTurnCountForNothing(t *testing.T) {
	s := newStory(t).running("")
	s.tick().status(prow.Pending).skip()
	before := s.r
	for _, ev := range []gate.Event{
		gate.StatusRead{Turn: 2, Found: true, Job: s.job(prow.Success)},
		gate.UploadedRead{Turn: 2, Found: true, Job: s.job(prow.Success)},
		gate.EvidenceRead{Turn: 2},
		gate.Looked{Turn: 2},
		gate.Probed{Turn: 2},
		gate.AbortAnswered{Turn: 2},
		gate.TurnTaken{Turn: 2, Granted: true},
	} {
		if commands := s.give(ev); len(commands) != 0 || s.r.Phase != before.Phase || s.r.Turn != before.Turn {
			t.Errorf("%T of an old turn: %v, %s", ev, commands, s.r.Phase)
		}
	}
}

func TestOverdue(t *testing.T) {
	const margin = 6 * time.Minute
	s := newStory(t).running("")
	s.after(15*time.Second + margin - 1).give(gate.Overdue{})
	s.after(1).give(gate.Overdue{})
	s.tells(`
		6m15s Overdue -> running
		6m15s Overdue -> running
		  tick 3 at 6m15.25s`)
	s.tick().status(prow.Success).skip()
	s.after(margin).give(gate.Overdue{})
	s.give(gate.CompletionSent{})
	s.give(gate.Overdue{})
	s.after(gate.Retention).give(gate.Overdue{})
	s.tells(`
		12m15s Overdue -> done
		  completion: succeeded passed=true 
		12m15s CompletionSent -> done
		12m15s Overdue -> done
		720h12m15s Overdue -> done
		  Remove`)
}

func TestARecordThatTheSweepCannotHelpGoesToTheEndOfItsLine(t *testing.T) {
	s := newStory(t).running("")
	s.tick().status(prow.Success)
	s.after(10 * time.Minute).give(gate.Overdue{}) // the completion cannot be sent
	if wait := s.r.Due().Sub(s.now); wait <= 0 {
		t.Errorf("due %s ago, before all others", -wait)
	}
}

func TestUnsentVerdictIsSentAgainOnTheCurrentTick(t *testing.T) {
	s := newStory(t).running("")
	s.tick().status(prow.Success).skip()
	s.tick()
	s.tells(`
		0s Ticked -> done
		  completion: succeeded passed=true `)
}

func TestTimelineIsBounded(t *testing.T) {
	s := newStory(t).running("")
	for i := range 300 {
		j := s.job(prow.Pending)
		j.URL = fmt.Sprintf("https://deck/e1-%d", i)
		s.tick().give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
	}
	if n := len(s.r.Timeline); n > 80 || s.r.Timeline[0].Event != "accepted" {
		t.Errorf("%d entries, the first is %s", n, s.r.Timeline[0].Event)
	}
}
