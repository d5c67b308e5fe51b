package gate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// What brokers and servers do that is not in their descriptions.

// What could be sent again is told from what must not be: the time says nothing.
func TestOnlyAGrantedRequestGoesOut(t *testing.T) {
	s := newStory(t).accept("")
	for _, at := range []time.Duration{-time.Hour, 0} {
		for _, c := range s.give(gate.TurnTaken{Turn: s.turn(), At: s.now.Add(at)}) {
			if _, ok := c.(gate.Submit); ok {
				t.Errorf("a request that was not let go is sent at %s", at)
			}
		}
		s.after(time.Second).tick()
	}
	s = newStory(t).running("").after(2*time.Minute).cancel().status(prow.Pending).probe(2*time.Minute, newStory(t).job(prow.Pending))
	a := prow.Abort{Current: prow.Pending}
	for _, c := range s.give(gate.TurnTaken{Turn: s.turn(), Abort: &a, At: s.now.Add(-time.Hour)}) {
		if _, ok := c.(gate.AbortJob); ok {
			t.Error("an abort that was not let go is sent")
		}
	}
}

// abortFor plays an abort whose every answer is the given one, and returns how long it was tried and the requests.
func abortFor(t *testing.T, f *gate.Failure) (tried time.Duration, requests int, v gate.Notice) {
	t.Helper()
	s := newStory(t).running(`"timeout":"1h"`).after(10 * time.Minute).cancel()
	for s.r.Verdict == nil && s.now.Sub(start) < 2*time.Hour {
		s.status(prow.Pending)
		if s.r.Verdict == nil && !s.now.Before(s.r.Abort.LastAt.Add(20*time.Second)) {
			before := s.r.Turn.Seq
			s.probe(s.now.Sub(start), s.job(prow.Pending))
			if s.r.Turn.Seq == before {
				for _, c := range s.abortTurn().out {
					if strings.HasPrefix(c, "  abort ") {
						requests++
					}
				}
				s.skip().abortAnswered(f)
			}
		}
		if s.r.Verdict == nil {
			s.now = s.r.Turn.At
			s.tick().skip()
		}
	}
	if s.r.Verdict == nil {
		t.Fatal("the abort is tried for ever")
	}
	return s.now.Sub(start) - 10*time.Minute, requests, *s.r.Verdict
}

// An abort outlasts a quarter of an hour without a clear answer, and says what stood in its way.
func TestAnAbortOutlastsAnOutage(t *testing.T) {
	tried, requests, v := abortFor(t, &gate.Failure{Kind: fault.MayHaveHappened, Text: "HTTP 502"})
	if tried < 10*time.Minute || tried > 20*time.Minute || requests != 10 {
		t.Errorf("unclear answers: given up after %s and %d requests", tried, requests)
	}
	if v.Abort.Outcome != gate.AbortFailed || !strings.Contains(v.Abort.Reason, "not confirmed") || !strings.Contains(v.Abort.Reason, "HTTP 502") {
		t.Errorf("%+v", v.Abort)
	}
	tried, _, v = abortFor(t, &gate.Failure{Kind: fault.NothingHappened, Text: "connection refused"})
	if tried < 45*time.Minute { // its gate's deadline
		t.Errorf("requests that were never made: given up after %s", tried)
	}
	if v.Abort.Outcome != gate.AbortFailed || !strings.Contains(v.Abort.Reason, "connection refused") {
		t.Errorf("%+v", v.Abort)
	}
}

// Whoever asks again for an abort that was given up gets it tried again; the verdict stays.
func TestAnAbortThatWasGivenUpIsTriedAgain(t *testing.T) {
	s := abortOf(t).missing()
	s.after(2 * time.Minute).tick().missing()
	want := *s.r.Verdict
	s.after(time.Hour).skip().give(gate.AbortAsked{ExecutionID: "e1", Reason: "still runs"})
	s.tells(`
		1h2m0s AbortAsked -> done
		  completion: cancelled passed=false ` + want.Error + `
		  progress .cancel: the cancellation was taken
		  ReadStatus`)
	s.give(gate.CompletionSent{})
	s.status(prow.Pending).probe(s.now.Sub(start), s.job(prow.Pending)).abortTurn().abortAnswered(nil)
	s.after(5 * time.Second).tick().skip().aborted()
	s.tells(`
		1h2m5s StatusRead -> done
		  progress .progress.3: abort aborted: the job was seen to be aborted`)
	if s.r.Verdict.Error != want.Error {
		t.Error("the verdict changed")
	}
	s = newStory(t).running(`"abortOnCancel":false`).after(time.Minute).cancel().skip()
	if s.cancel(); s.r.Abort.State != gate.AbortNone {
		t.Error("an abort that the gate does not want is begun")
	}
}

// 404s count in a row: an answer that says nothing lies between them, and a good one all the more.
func TestOnly404sInARowAreAMissingJob(t *testing.T) {
	s := newStory(t).running("").after(15 * time.Second).tick().status(prow.Pending).after(time.Minute).tick().missing()
	for range 30 {
		s.after(time.Minute).tick()
		s.give(gate.StatusRead{Turn: s.turn(), Failure: &gate.Failure{Text: "HTTP 502"}})
	}
	s.after(time.Minute).tick().skip().missing()
	if got := strings.Join(s.out, ""); strings.Contains(got, "prowjob.json") || s.r.Phase != gate.PhaseRunning {
		t.Error(got)
	}
	s = newStory(t).running("").after(15 * time.Second).tick().missing().after(time.Minute).tick().status(prow.Pending)
	s.after(time.Hour).tick().skip().missing()
	if got := strings.Join(s.out, ""); strings.Contains(got, "prowjob.json") {
		t.Error(got)
	}
}

// A run whose prowjob.json is that of its beginning may still run: it is waited for until the deadline.
func TestAnUnfinishedUploadIsNoEnd(t *testing.T) {
	s := newStory(t).running(`"gatePromotion":true,"timeout":"1h"`).tick().status(prow.Pending).tick().missing()
	pending := func() {
		s.give(gate.UploadedRead{Turn: s.turn(), Found: true, Job: prow.Job{ID: "e1", State: prow.Pending}})
	}
	s.after(31 * time.Minute).tick().missing()
	if pending(); s.r.Phase != gate.PhaseRunning {
		t.Fatalf("%+v", s.r.Verdict)
	}
	s.after(29 * time.Minute).tick().missing()
	if pending(); s.r.Phase != gate.PhaseDone || !strings.Contains(s.r.Verdict.Error, "its prowjob.json says pending") {
		t.Errorf("%s %+v", s.r.Phase, s.r.Verdict)
	}
}

// However the clocks differ, no tick is sent for the moment in which it is decided.
func TestNoTickIsSentForNow(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s"`).after(90*time.Second - time.Millisecond).tick().status(prow.Pending)
	if wait := s.r.Turn.At.Sub(s.now); wait != time.Second {
		t.Errorf("just before the deadline: %s", wait)
	}
	s = newStory(t).accept("")
	s.give(gate.TurnTaken{Turn: s.turn(), At: s.now.Add(time.Millisecond)})
	if wait := s.r.Turn.At.Sub(s.now); wait < 250*time.Millisecond {
		t.Errorf("in line: %s", wait)
	}
}

func TestAJobThatStartsInTheFutureTimesOut(t *testing.T) {
	s := newStory(t).accept(`"timeout":"1h"`).takeTurn().submitFails(fault.MayHaveHappened, 0)
	j := s.job(prow.Pending)
	j.StartTime = start.AddDate(20, 0, 0)
	s.after(15*time.Second).tick().listing(15*time.Second, j)
	s.after(time.Hour).tick()
	if s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j}); s.r.Phase != gate.PhaseDone {
		t.Errorf("submitted at %s", s.r.SubmittedAt)
	}
}

// A tick older than the last but one helps when the awaited one should have come.
func TestAnOldTickBringsALostOneBack(t *testing.T) {
	s := newStory(t).accept("").takeTurn()
	old := s.turn()
	s.submitFails(fault.MayHaveHappened, 0).listing(0).skip()
	s.give(gate.Ticked{Seq: old})
	s.after(15 * time.Second).give(gate.Ticked{Seq: old})
	s.tells(`
		0s Ticked -> submitting
		15s Ticked -> submitting
		  tick 3 at 15s`)
}

func TestAReasonWithANumberIsToldOnce(t *testing.T) {
	s := newStory(t).running("").after(time.Minute).cancel().status(prow.Pending).skip()
	told := 0
	for i := range 20 {
		f := &gate.Failure{Text: fmt.Sprintf("after %d jobs: the list was cut off", 5000+i)}
		for _, c := range s.give(gate.Probed{Turn: s.turn(), Target: s.job(prow.Pending), Failure: f}) {
			if _, ok := c.(gate.SendProgress); ok {
				told++
			}
		}
		s.now = s.r.Turn.At
		s.tick().status(prow.Pending).skip()
	}
	if told != 1 || !strings.Contains(s.r.Abort.Reason, "5019") {
		t.Errorf("told %d times, last %q", told, s.r.Abort.Reason)
	}
}

// Characters that take six bytes in JSON do not make a message too large for its queue.
func TestNamesAreBoundedAsTheyAreSent(t *testing.T) {
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("%03d %s", i, strings.Repeat("<", 296)))
	}
	listed, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(t).running(`"gatePromotion":true,"allowEv2Retry":true`).tick().status(prow.Failure)
	s.give(gate.EvidenceRead{Turn: s.turn(), Evidence: run(failedRoot, tests(string(listed), "[]"))})
	n, _ := gate.CompletionOf(s.r)
	body, err := json.Marshal(n)
	if err != nil || len(body) > 128<<10 || !strings.Contains(n.FailedTests[len(n.FailedTests)-1], "more") {
		t.Errorf("%d bytes, %d names, %v", len(body), len(n.FailedTests), err)
	}
	record, err := s.r.Encode()
	if err != nil || strings.Contains(string(record), "\\u003c") && len(record) > 256<<10 {
		t.Errorf("a record of %d bytes, %v", len(record), err)
	}
}

// A step that has left nothing but what it uploads itself is not complete.
func TestAStepWithArtifactsAloneIsExpected(t *testing.T) {
	got := gate.FinishedFiles([]string{
		"artifacts/e2e/provision/finished.json", "artifacts/e2e/tests/artifacts/junit.xml", "artifacts/e2e/tests/artifacts/deep/finished.json",
		"artifacts/e2e/odd/other/file", "artifacts/x",
	})
	want := []string{"finished.json", "artifacts/e2e/provision/finished.json", "artifacts/e2e/tests/finished.json"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A gate and a job that no gate owns may have the same id; their messages may not.
func TestMessagesOfAGateAndOfAnAbortDiffer(t *testing.T) {
	gateRecord, abort := gate.Record{GateID: "x1", ExecutionID: "x1"}, gate.Record{ExecutionID: "x1"}
	if gateRecord.MessageStem() == abort.MessageStem() || gateRecord.MessageStem() != "x1" {
		t.Errorf("%s %s", gateRecord.MessageStem(), abort.MessageStem())
	}
}
