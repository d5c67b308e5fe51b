package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/store/memory"
)

func TestMessagesOfOneGate(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.job = prow.Job{ID: "e1", State: prow.Success, StartTime: start}
	r.now = start.Add(15 * time.Second)
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	var got []string
	for i, m := range r.sent {
		got = append(got, fmt.Sprintf("%s %s session=%q ttl=%s at=%s", r.queues[i], m.ID, m.SessionID, m.TTL, m.ScheduledAt.Format("05")))
	}
	want := []string{
		`completion g1.progress.1 session="g1" ttl=24h0m0s at=00`,
		`poll g1.tick.2 session="" ttl=0s at=15`,
		`completion g1.completion session="g1" ttl=24h0m0s at=00`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rec := r.record(t); !rec.Sent || rec.Phase != gate.PhaseDone {
		t.Errorf("sent=%t %s", rec.Sent, rec.Phase)
	}
	var n gate.Notice
	if err := json.Unmarshal(r.sent[2].Body, &n); err != nil || n.Outcome != gate.Succeeded || r.sent[2].ContentType != "application/json" {
		t.Errorf("%s %v", r.sent[2].Body, err)
	}
}

func TestTickWithoutARecordIsDropped(t *testing.T) {
	r := newRig()
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	if len(r.sent) > 0 {
		t.Errorf("sent %v", r.queues)
	}
	if _, ok, err := r.store.Load(t.Context(), "gate:g1"); ok || err != nil {
		t.Errorf("a tick has made a record: %t %v", ok, err)
	}
}

func TestConflictIsDecidedAgain(t *testing.T) {
	r := newRig()
	r.onCreate = func() { // a cancellation comes while the POST is under way
		must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: "g1"}))
	}
	r.job = prow.Job{ID: "e1", State: prow.Success, StartTime: start}
	must(t, r.Submit(t.Context(), gating(t, "")))
	rec := r.record(t)
	if rec.Verdict == nil || rec.Verdict.Outcome != gate.Cancelled || rec.ExecutionID != "e1" {
		t.Errorf("%+v", rec)
	}
}

func TestRaceForTheRecordIsDecidedOnTheNewerOne(t *testing.T) {
	r := newRig()
	r.store.onSave = func() { must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: "g1"})) }
	must(t, r.Submit(t.Context(), gating(t, "")))
	if len(r.created) > 0 {
		t.Error("a cancelled gate was submitted")
	}
	if v := r.record(t).Verdict; v == nil || v.Outcome != gate.Cancelled {
		t.Errorf("%+v", v)
	}
}

func TestStoreFailures(t *testing.T) {
	away := &fault.Error{Kind: fault.NothingHappened, Text: "away"}
	lost := &fault.Error{Kind: fault.MayHaveHappened, Text: "answer lost"}
	for name, s := range map[string]*brokenStore{
		"before": {Store: memory.New(), before: away}, "after": {Store: memory.New(), after: lost},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			*r.store = *s
			if err := r.Submit(t.Context(), gating(t, "")); err == nil {
				t.Fatal("the message is to be delivered again")
			}
			if len(r.created) > 0 {
				t.Error("a POST without a claim that is known to be stored")
			}
			r.store.before, r.store.after = nil, nil
			must(t, r.Submit(t.Context(), gating(t, "")))
			must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 1}))
			if len(r.created) != 1 {
				t.Errorf("%d POSTs", len(r.created))
			}
		})
	}
}

func TestQueueFailureIsRepairedByTheRedelivery(t *testing.T) {
	r := newRig()
	r.sendErr = errors.New("away")
	if err := r.Submit(t.Context(), gating(t, "")); err == nil {
		t.Fatal("the message is to be delivered again")
	}
	r.sendErr = nil
	must(t, r.Submit(t.Context(), gating(t, "")))
	if len(r.created) != 1 || len(r.sent) != 1 || r.sent[0].ID != "g1.tick.2" {
		t.Errorf("%d POSTs, sent %v", len(r.created), r.sent)
	}
}

func TestAProcessThatWasHeldUpDoesNotPost(t *testing.T) {
	r := newRig()
	saves := 0
	r.store.onSave = func() {}
	hold := func() {}
	hold = func() {
		if saves++; saves == 3 { // accepted, budget, claim
			r.now = r.now.Add(21 * time.Second)
			return
		}
		r.store.onSave = hold
	}
	r.store.onSave = hold
	must(t, r.Submit(t.Context(), gating(t, "")))
	if len(r.created) > 0 || r.record(t).Phase != gate.PhaseAccepted {
		t.Errorf("%d POSTs, %s", len(r.created), r.record(t).Phase)
	}
}

func TestCancelOfAGateAndAnExecution(t *testing.T) {
	both := gate.CancelRequest{GateID: "g1", ExecutionID: "e9", Reason: "r"}
	t.Run("unknown gate", func(t *testing.T) {
		r := newRig()
		r.job = prow.Job{ID: "e9", State: prow.Success}
		must(t, r.Cancel(t.Context(), both))
		if _, ok, _ := r.store.Load(t.Context(), "abort:e9"); !ok {
			t.Error("the execution was left alone")
		}
		if rec := r.record(t); rec.Cancel == nil {
			t.Error("there is no tombstone")
		}
	})
	t.Run("known gate", func(t *testing.T) {
		r := newRig()
		must(t, r.Submit(t.Context(), gating(t, "")))
		r.job = prow.Job{ID: "e1", State: prow.Success}
		must(t, r.Cancel(t.Context(), both))
		if _, ok, _ := r.store.Load(t.Context(), "abort:e9"); ok {
			t.Error("an execution that is not the gate's was touched")
		}
	})
}

func TestGuardedAbort(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	refs := []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}}
	r.job = prow.Job{ID: "e1", Type: prow.Periodic, State: prow.Pending, StartTime: start, ExtraRefs: refs}
	sibling := r.job
	sibling.ID, sibling.Name, sibling.State = "e2", "other", prow.Scheduling
	r.now = start.Add(time.Minute)
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{r.job, sibling}}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: "g1"}))
	if len(r.aborted) > 0 {
		t.Fatalf("a sibling's job could have been hit: %+v", r.aborted)
	}
	r.listing.Jobs[1].State = prow.Success
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: r.record(t).Turn.Seq}))
	want := []prow.Abort{{Current: prow.Pending, Type: prow.Periodic, Org: "Azure", Repo: "ARO-HCP", Start: start}}
	if diff := cmp.Diff(want, r.aborted); diff != "" {
		t.Error(diff)
	}
}

// A list that shows the target itself with another start is told from one that does not show it.
func TestTheGuardSeesItsTargetWhateverItsStart(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.job = prow.Job{
		ID: "e1", Type: prow.Periodic, State: prow.Pending, StartTime: start,
		ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}},
	}
	listed := r.job
	listed.StartTime = start.Add(time.Second)
	r.now = start.Add(time.Minute)
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{listed}}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: "g1"}))
	if why := r.record(t).Abort.Reason; !strings.Contains(why, "otherwise than it is") || len(r.aborted) > 0 {
		t.Errorf("%q, %d aborts", why, len(r.aborted))
	}
}

func TestClassificationReadsStepsOnly(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, `,"gatePromotion":true,"allowEv2Retry":true`)))
	r.job = prow.Job{ID: "e1", State: prow.Failure, URL: "https://deck/view/gs/b/p"}
	r.objects = map[string]string{
		"finished.json":                              `{"passed":false,"result":"FAILURE"}`,
		"artifacts/e2e/test/finished.json":           `{"passed":false,"metadata":{"ev2-failed-tests":["a"],"ev2-allow-retry-tests":["a"]}}`,
		"artifacts/e2e/test/artifacts/finished.json": "large",
	}
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	if v := r.record(t).Verdict; v == nil || v.Retry != gate.KnownIssueEligible {
		t.Errorf("%+v", v)
	}
	if last := r.sent[len(r.sent)-1]; !strings.Contains(string(last.Body), gate.Marker(gate.KnownIssueEligible)) {
		t.Errorf("no marker in %s", last.Body)
	}
}

func TestSweep(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.sent = nil
	r.now = start.Add(time.Hour)
	must(t, r.Sweep(t.Context()))
	if len(r.sent) != 1 || r.sent[0].ID != "g1.tick.3" {
		t.Fatalf("sent %v", r.sent)
	}
	r.job = prow.Job{ID: "e1", State: prow.Success}
	r.sendErr = errors.New("away")
	if err := r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 3}); err == nil {
		t.Fatal("the completion could not be sent")
	}
	r.sendErr, r.sent = nil, nil
	r.now = r.now.Add(7 * time.Minute)
	must(t, r.Sweep(t.Context()))
	if len(r.sent) != 1 || r.sent[0].ID != "g1.completion" || !r.record(t).Sent {
		t.Fatalf("sent %v", r.sent)
	}
	r.now = r.now.Add(gate.Retention)
	must(t, r.Sweep(t.Context()))
	if _, ok, _ := r.store.Load(t.Context(), "gate:g1"); ok {
		t.Error("a record that was closed 30 days ago is still there")
	}
}

func TestTwentyRegionsTakeTurns(t *testing.T) {
	r := newRig()
	for i := range 20 {
		g := gating(t, "")
		g.GateID = fmt.Sprintf("g%d", i)
		must(t, r.Submit(t.Context(), g))
	}
	if len(r.created) != 1 {
		t.Errorf("%d submissions within one second", len(r.created))
	}
}

func TestARefusalForComingTooFastHoldsEverybodyBack(t *testing.T) {
	r := newRig()
	r.createErr = &fault.Error{Kind: fault.NothingHappened, Text: "429", Err: fault.ErrTooFast}
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.createErr = nil
	r.now = r.now.Add(3 * time.Second)
	other := gating(t, "")
	other.GateID = "g2"
	must(t, r.Submit(t.Context(), other))
	if len(r.created) != 1 {
		t.Errorf("%d POSTs, 3 s after one was refused", len(r.created))
	}
	last := r.sent[len(r.sent)-1]
	if wait := last.ScheduledAt.Sub(start).Round(time.Second); wait != 7*time.Second {
		t.Errorf("the next one is let go after %s, want one interval", wait)
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, `,"gatePromotion":true,"allowEv2Retry":true`)))
	r.job = prow.Job{ID: "e1", State: prow.Failure, URL: "https://deck/view/gs/b/p"}
	r.objects = map[string]string{"finished.json": `{"passed":false,"result":"FAILURE"}`}
	for i := range 400 {
		r.objects[fmt.Sprintf("artifacts/e2e/step-%d/finished.json", i)] = `{"passed":false}`
	}
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	if v := r.record(t).Verdict; v == nil || v.Retry != gate.NotEligible || !strings.Contains(v.Error, "more than can be read") {
		t.Errorf("%+v", v)
	}
}

func TestCancelOfAnOwnedExecutionCancelsItsGate(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.job = ownJob()
	r.now = start.Add(time.Minute)
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{r.job}}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{ExecutionID: "e1", Reason: "r"}))
	if rec := r.record(t); rec.Cancel == nil || rec.Cancel.Reason != "r" {
		t.Errorf("the gate was not cancelled: %+v", rec.Cancel)
	}
	if len(r.aborted) != 1 {
		t.Errorf("%d aborts", len(r.aborted))
	}
}

func TestCancelOfAnExecutionWhoseGateHasAnotherJob(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.job = prow.Job{ID: "e2", State: prow.Success, Labels: map[string]string{gate.KeyGateID: "g1"}}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{ExecutionID: "e2"}))
	if r.record(t).Cancel != nil {
		t.Error("a gate was cancelled for a job that is not its own")
	}
}

func TestAbortGoesBeforeSubmissions(t *testing.T) {
	r := newRig()
	for i := range 9 { // the line is long
		g := gating(t, "")
		g.GateID = fmt.Sprintf("other%d", i)
		must(t, r.Submit(t.Context(), g))
	}
	must(t, r.Submit(t.Context(), gating(t, `,"executionId":"e1"`)))
	r.job = prow.Job{
		ID: "e1", Type: prow.Periodic, State: prow.Pending, StartTime: start.Add(-time.Hour),
		ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}},
	}
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{r.job}}
	r.abortErr = &fault.Error{Kind: fault.NothingHappened, Text: "429", Err: fault.ErrTooFast}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: "g1"}))
	if len(r.aborted) != 1 {
		t.Fatalf("%d aborts", len(r.aborted))
	}
	r.now = r.now.Add(3 * time.Second)
	other := gating(t, "")
	other.GateID = "g2"
	made := len(r.created)
	must(t, r.Submit(t.Context(), other))
	if len(r.created) > made {
		t.Error("a submission went out 3 s after Gangway found that requests came too fast")
	}
}

func TestSweepGoesOnAfterAFailure(t *testing.T) {
	r := newRig()
	for i := range 3 {
		g := gating(t, fmt.Sprintf(`,"executionId":"e%d"`, i))
		g.GateID = fmt.Sprintf("g%d", i)
		must(t, r.Submit(t.Context(), g))
	}
	r.now = r.now.Add(time.Hour)
	r.sendErr = errors.New("away")
	if err := r.Sweep(t.Context()); err == nil {
		t.Fatal("a failure was kept quiet")
	}
	r.sendErr = nil
	for i := range 3 {
		e, _, _ := r.store.Load(t.Context(), fmt.Sprintf("gate:g%d", i))
		if !e.Due.After(r.now) {
			t.Errorf("g%d is still the most overdue", i)
		}
	}
}

// A record that somebody needs after all is not removed, though its removal has been decided.
func TestRemovalIsOfTheRecordAsItWas(t *testing.T) {
	r := newRig()
	must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: "g1"}))
	r.now = r.now.Add(gate.Retention)
	r.store.onDelete = func() { must(t, r.Submit(t.Context(), gating(t, ""))) }
	must(t, r.Sweep(t.Context()))
	if rec := r.record(t); rec.Verdict == nil || rec.Verdict.Outcome != gate.Cancelled {
		t.Errorf("%+v", rec)
	}
	r.now = r.now.Add(time.Minute)
	must(t, r.Submit(t.Context(), gating(t, "")))
	if len(r.created) > 0 {
		t.Error("a cancelled gate got a job")
	}
}
