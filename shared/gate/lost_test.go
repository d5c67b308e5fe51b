package gate_test

import (
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// lose lets turns be lost, each begun so often, and begins the next.
func (s *story) lose(turns, begun int) {
	for range turns {
		for range begun {
			s.tick()
		}
		s.after(7 * time.Minute).give(gate.Overdue{})
	}
	s.skip().tick()
}

// A read that ends every process that tries does not keep a gate from its verdict for ever.
func TestTurnsThatAreAllLost(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(s *story)
		want  gate.Outcome
		text  string
	}{
		"status": {func(s *story) { s.running(`"timeout":"10m"`) }, gate.TimedOut, "its state could not be read: 10 turns in a row were lost"},
		"evidence": {func(s *story) {
			s.running(`"gatePromotion":true,"allowEv2Retry":true`).tick().status(prow.Failure)
		}, gate.Failed, "10 turns in a row were lost"},
		"abort":  {func(s *story) { s.running(`"timeout":"10m"`).cancel() }, gate.Cancelled, "abort failed: 10 turns in a row were lost"},
		"search": {func(s *story) { s.accept("").takeTurn().submitFails(fault.MayHaveHappened, 0).after(gate.SubmitFor) }, gate.SubmissionFailed, "10 turns in a row were lost"},
	} {
		s := newStory(t)
		c.begin(s)
		if s.lose(9, 1); s.r.Verdict != nil {
			t.Errorf("%s: ended too soon: %s", name, s.r.Verdict.Error)
		}
		s.lose(1, 0)
		if v := s.r.Verdict; v == nil || v.Outcome != c.want || !strings.Contains(v.Error, c.text) || v.Retry != gate.NotEligible {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Turns that were lost before anybody began them, as in an outage of the queue, count for nothing: the job is looked
// at first.
func TestTurnsThatNobodyBegan(t *testing.T) {
	s := newStory(t).running(`"timeout":"10m"`)
	s.lose(20, 0)
	if s.status(prow.Success); s.r.Verdict == nil || s.r.Verdict.Outcome != gate.Succeeded {
		t.Errorf("%+v", s.r.Verdict)
	}
	s = newStory(t).accept("").takeTurn().submitFails(fault.MayHaveHappened, 0)
	s.lose(20, 0)
	s.give(gate.Looked{Turn: s.turn(), Listing: prow.Listing{At: s.now, Jobs: []prow.Job{s.job(prow.Pending)}, Seen: 1}})
	if s.r.ExecutionID != "e1" || s.r.Verdict != nil {
		t.Errorf("%q %+v", s.r.ExecutionID, s.r.Verdict)
	}
}

// Turns that somebody came back from begin the count anew, and before its time is over a gate, or an abort, goes on.
func TestLostTurnsBetweenOthers(t *testing.T) {
	s := newStory(t).running(`"timeout":"1h"`)
	for range 3 {
		s.lose(8, 1)
		s.give(gate.StatusRead{Turn: s.turn(), Failure: &gate.Failure{Text: "HTTP 502"}})
	}
	if s.r.Verdict == nil || strings.Contains(s.r.Verdict.Error, "lost") {
		t.Errorf("never ten in a row: %+v", s.r.Verdict)
	}
	for name, s := range map[string]*story{
		"gate": newStory(t).running(`"timeout":"5h"`), "abort": newStory(t).running(`"timeout":"5h"`).cancel(),
	} {
		if s.lose(20, 1); s.r.Verdict != nil {
			t.Errorf("%s, its time not over: %+v", name, s.r.Verdict)
		}
	}
}
