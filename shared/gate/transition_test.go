package gate_test

import (
	"fmt"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// phases returns a story in each phase, and in each condition within a phase that events meet.
func phases(t *testing.T) map[string]*story {
	promotion := `"gatePromotion":true,"allowEv2Retry":true,"timeout":"1h"`
	timedOut := newStory(t).running(`"timeout":"1m"`)
	timedOut.after(time.Hour).tick().status(prow.Pending)
	aborting := newStory(t).running(promotion).after(time.Hour / 2).cancel().status(prow.Pending)
	requested := newStory(t).running(promotion).after(time.Hour / 2).cancel().status(prow.Pending)
	requested.probe(time.Hour/2, requested.job(prow.Pending)).abortTurn()
	late := newStory(t).running(`"timeout":"1m"`)
	late.after(time.Hour).tick().status(prow.Pending).cancel()
	return map[string]*story{
		"none":                newStory(t),
		"tombstone":           newStory(t).cancel(),
		"accepted":            newStory(t).accept(promotion),
		"submitting":          newStory(t).accept(promotion).takeTurn(),
		"looking":             newStory(t).accept(promotion).takeTurn().submitFails(fault.MayHaveHappened, 0),
		"cancelled post":      newStory(t).accept(promotion).takeTurn().cancel(),
		"running":             newStory(t).running(promotion),
		"aborting":            aborting,
		"abort requested":     requested,
		"concluding":          newStory(t).running(promotion).tick().status(prow.Failure),
		"done":                newStory(t).running(promotion).tick().status(prow.Success),
		"timed out":           timedOut,
		"aborting after that": late,
	}
}

// events returns one of each kind of event, and each way a result can come out, for the current turn.
func events(s *story) []gate.Event {
	f := &gate.Failure{Kind: fault.MayHaveHappened, Text: "why"}
	abort := &prow.Abort{Current: prow.Pending}
	turn, claim := s.turn(), s.r.Attempts
	list := []gate.Event{
		gate.Accepted{Gating: parse(s.t, least)},
		gate.Refused{Rejection: gate.Rejection{GateID: "g1", Problems: []string{"p"}}},
		gate.CancelAsked{GateID: "g1"},
		gate.AbortAsked{ExecutionID: "e1"},
		gate.Ticked{Seq: turn},
		gate.Ticked{Seq: turn - 1},
		gate.Ticked{Seq: 0},
		gate.Overdue{},
		gate.TurnTaken{Turn: turn, Granted: true},
		gate.TurnTaken{Turn: turn, At: s.now.Add(time.Minute)},
		gate.TurnTaken{Turn: turn, Abort: abort, Granted: true},
		gate.TurnTaken{Turn: turn, Abort: abort, At: s.now.Add(time.Minute)},
		gate.Submitted{Claim: claim, ExecutionID: "e1"},
		gate.Looked{Turn: turn, Listing: prow.Listing{At: s.now}},
		gate.Looked{Turn: turn, Failure: f},
		gate.StatusRead{Turn: turn},
		gate.StatusRead{Turn: turn, Failure: f},
		gate.UploadedRead{Turn: turn},
		gate.UploadedRead{Turn: turn, Failure: f},
		gate.EvidenceRead{Turn: turn},
		gate.EvidenceRead{Turn: turn, Evidence: run(failedRoot)},
		gate.Probed{Turn: turn, Failure: f},
		gate.Probed{Turn: turn, Target: s.job(prow.Pending)},
		gate.AbortAnswered{Turn: turn},
		gate.AbortAnswered{Turn: turn, Failure: f},
		gate.Recalled{Runs: gate.Runs{gate.Duration(time.Hour), gate.Duration(time.Hour), gate.Duration(time.Hour)}},
		gate.CompletionSent{},
	}
	for _, kind := range []fault.Kind{fault.MayHaveHappened, fault.NothingHappened, fault.Refused, fault.Conflict} {
		list = append(list, gate.SubmitFailed{Claim: claim, Failure: gate.Failure{Kind: kind, Text: "why"}})
	}
	for _, state := range []prow.State{"", "frozen", prow.Scheduling, prow.Triggered, prow.Pending, prow.Success, prow.Failure, prow.Aborted, prow.Errored} {
		list = append(list, gate.StatusRead{Turn: turn, Found: true, Job: s.job(state)})
	}
	return list
}

// rank orders the phases.
var rank = map[gate.Phase]int{
	gate.PhaseNone: 0, gate.PhaseAccepted: 1, gate.PhaseSubmitting: 2, gate.PhaseRunning: 3,
	gate.PhaseConcluding: 4, gate.PhaseDone: 5,
}

// TestEveryEventInEveryPhase holds what must be true of every transition.
func TestEveryEventInEveryPhase(t *testing.T) {
	for name, from := range phases(t) {
		for i, ev := range events(from) {
			t.Run(fmt.Sprintf("%s/%d %s", name, i, eventName(ev)), func(t *testing.T) {
				s := *from
				s.t = t
				checkTransition(t, s.r, ev, &s)
			})
		}
	}
}

func checkTransition(t *testing.T, before gate.Record, ev gate.Event, s *story) {
	t.Helper()
	commands := s.give(ev)
	after := s.r
	if rank[after.Phase] < rank[before.Phase] && (before.Phase != gate.PhaseSubmitting || after.Phase != gate.PhaseAccepted) {
		t.Errorf("%s -> %s: a record moves only forward", before.Phase, after.Phase)
	}
	if before.Verdict != nil && fmt.Sprintf("%+v", *before.Verdict) != fmt.Sprintf("%+v", *after.Verdict) {
		t.Error("a verdict changed")
	}
	if (after.Verdict != nil) != (after.Phase == gate.PhaseDone) {
		t.Errorf("phase %s, verdict %v", after.Phase, after.Verdict)
	}
	if after.Turn.Seq < before.Turn.Seq || before.Cancel != nil && after.Cancel == nil || before.ExecutionID != "" && after.ExecutionID != before.ExecutionID {
		t.Error("the turn, the cancellation or the execution id went back")
	}
	if after.Turn.Seq > before.Turn.Seq && after.Phase != gate.PhaseDone && !goesOn(commands) {
		t.Error("a new turn began, but nothing will bring it about")
	}
	checkCommands(t, before, after, commands)
}

// goesOn reports whether commands hold a tick, or work whose result brings one about.
func goesOn(commands []gate.Command) bool {
	for _, c := range commands {
		switch c.(type) {
		case gate.SendProgress, gate.SendCompletion, gate.Recall, gate.Learn:
		default:
			return true
		}
	}
	return false
}

func checkCommands(t *testing.T, before, after gate.Record, commands []gate.Command) {
	t.Helper()
	for _, c := range commands {
		switch c := c.(type) {
		case gate.Submit:
			if after.Cancel != nil || before.Phase != gate.PhaseAccepted || after.Claim == nil {
				t.Error("a POST without a claim, or of a cancelled gate")
			}
		case gate.SendTick:
			if c.Tick.Seq != after.Turn.Seq || !c.At.Equal(after.Turn.At) {
				t.Errorf("tick %d is not the one that is waited for (%d)", c.Tick.Seq, after.Turn.Seq)
			}
		case gate.SendCompletion:
			if after.Verdict == nil || c.Notice.Outcome != after.Verdict.Outcome {
				t.Error("a completion that is not stored")
			}
		case gate.AbortJob:
			if after.Abort.State != gate.AbortRequested {
				t.Error("an abort that is not stored")
			}
		}
	}
}
