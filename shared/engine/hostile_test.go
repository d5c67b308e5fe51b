package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// A job whose gate has ended, and does nothing about it, is aborted as nobody's.
func TestAbortOfAJobWhoseGateHasEnded(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, `,"abortOnCancel":false`)))
	r.job = ownJob()
	r.now = start.Add(time.Minute)
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{r.job}}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{ExecutionID: "e1"}))
	if len(r.aborted) > 0 {
		t.Fatal("the job of a gate that was not to abort it was aborted")
	}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{ExecutionID: "e1"}))
	if len(r.aborted) != 1 {
		t.Errorf("%d aborts of a job whose gate has ended", len(r.aborted))
	}
}

// lostBudget loses every race for the budget.
type lostBudget struct{ store.Store }

func (s lostBudget) Save(ctx context.Context, e store.Entry) (string, error) {
	if e.Key == "budget:gangway" {
		return "", &fault.Error{Kind: fault.Conflict}
	}
	return s.Store.Save(ctx, e)
}

func TestWhoeverLosesTheRaceForTheBudgetComesBack(t *testing.T) {
	r := newRig()
	r.store.Store = lostBudget{r.store.Store}
	must(t, r.Submit(t.Context(), gating(t, "")))
	if rec := r.record(t); len(r.created) > 0 || !rec.Turn.At.Equal(start.Add(time.Second)) {
		t.Errorf("%d POSTs, back at %s", len(r.created), rec.Turn.At.Sub(start))
	}
}

// slowStore lets time pass while it writes.
type slowStore struct {
	store.Store
	r *rig
}

func (s slowStore) Save(ctx context.Context, e store.Entry) (string, error) {
	s.r.now = s.r.now.Add(20 * time.Millisecond)
	return s.Store.Save(ctx, e)
}

// A tick that comes a little before its time sends nothing that the budget has not let go.
func TestATickBeforeItsTimeIsNoFreeRide(t *testing.T) {
	r := newRig()
	r.store.Store = slowStore{r.store.Store, r}
	var last gate.Gating
	for i := 0; len(r.created) == i; i++ { // until the burst is used up
		last = gating(t, "")
		last.GateID = fmt.Sprintf("g%d", i)
		must(t, r.Submit(t.Context(), last))
		r.now = r.now.Add(2 * time.Second)
	}
	e, _, err := r.store.Load(t.Context(), "gate:"+last.GateID)
	must(t, err)
	rec, err := gate.DecodeRecord(e.Body)
	must(t, err)
	made := len(r.created)
	r.now = rec.Turn.At.Add(-5 * time.Millisecond)
	must(t, r.Poll(t.Context(), gate.Tick{GateID: last.GateID, Seq: rec.Turn.Seq}))
	if len(r.created) != made {
		t.Error("a request that the budget had not let go was sent")
	}
}

// A record that nobody can read fails no sweep and holds up no other, kept as it is.
func TestSweepSetsUnreadableRecordsAside(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.now = start.Add(time.Hour)
	for i := range 250 { // more than one sweep looks at, and overdue for longer
		_, err := r.store.Save(t.Context(), store.Entry{Key: fmt.Sprintf("gate:bad%d", i), Body: []byte(`["no record"]`), Due: start})
		must(t, err)
	}
	r.sent = nil
	must(t, r.Sweep(t.Context()))
	must(t, r.Sweep(t.Context()))
	if len(r.sent) != 1 || r.sent[0].ID != "g1.tick.3" {
		t.Errorf("sent %v", r.sent)
	}
	e, ok, err := r.store.Load(t.Context(), "gate:bad7")
	if err != nil || !ok || string(e.Body) != `["no record"]` || e.Due.Sub(r.now) < 30*time.Minute {
		t.Errorf("%t %v, due %s later: %s", ok, err, e.Due.Sub(r.now), e.Body)
	}
}

// halfDue finds what is overdue, and fails all the same.
type halfDue struct{ store.Store }

func (s halfDue) Due(ctx context.Context, before time.Time, limit int) ([]store.Entry, error) {
	entries, _ := s.Store.Due(ctx, before, limit)
	return entries, &fault.Error{Kind: fault.NothingHappened, Text: "the time was up"}
}

// What was found before the search failed is helped, and the failure is told.
func TestSweepHelpsWhatItFound(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.store.Store, r.sent, r.now = halfDue{r.store.Store}, nil, start.Add(time.Hour)
	if err := r.Sweep(t.Context()); !fault.Is(err, fault.NothingHappened) {
		t.Errorf("%v", err)
	}
	if len(r.sent) != 1 || r.sent[0].ID != "g1.tick.3" {
		t.Errorf("sent %v", r.sent)
	}
}

// A gate that follows another gate's job does not abort it under that gate.
func TestAbortOfAnAdoptedJobThatIsAnothers(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.job = ownJob()
	r.now = start.Add(2 * time.Minute)
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{r.job}}
	follower := gating(t, `,"executionId":"e1"`)
	for i, want := range []int{0, 1} { // while its gate waits for it, and when that has ended
		follower.GateID = fmt.Sprintf("follower%d", i)
		must(t, r.Submit(t.Context(), follower))
		must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: follower.GateID}))
		if len(r.aborted) != want || r.record(t).Cancel != nil {
			t.Errorf("%d aborts, want %d; the job's own gate: %+v", len(r.aborted), want, r.record(t).Cancel)
		}
		r.job.State, r.now = prow.Pending, start.Add(5*time.Hour)
		must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: r.record(t).Turn.Seq})) // its time is over
		r.listing.At = r.now
	}
}

// A process that was held up before it sent an abort leaves it: it is taken out of the budget of another time.
func TestAProcessThatWasHeldUpDoesNotAbort(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.job = ownJob()
	r.now = start.Add(time.Minute)
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{r.job}}
	saves := 0
	hold := func() {}
	hold = func() {
		if saves++; saves == 4 { // cancelled, seen, budget, request
			r.now = r.now.Add(21 * time.Second)
			return
		}
		r.store.onSave = hold
	}
	r.store.onSave = hold
	must(t, r.Cancel(t.Context(), gate.CancelRequest{GateID: "g1"}))
	rec := r.record(t)
	if len(r.aborted) > 0 || saves != 4 || rec.Abort.Requests != 0 || rec.Abort.State == gate.AbortGivenUp {
		t.Errorf("%d aborts after %d saves: %+v", len(r.aborted), saves, rec.Abort)
	}
}

// A job that outlived its gate's time-out is aborted by that gate, which the abort of nobody's job wakes.
func TestAbortOfAJobThatOutlivedItsGate(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.job = ownJob()
	r.now = start.Add(4*time.Hour + time.Second)
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	r.listing = prow.Listing{At: r.now, Jobs: []prow.Job{r.job}}
	must(t, r.Cancel(t.Context(), gate.CancelRequest{ExecutionID: "e1"}))
	e, _, err := r.store.Load(t.Context(), gate.AbortKeyPrefix+"e1")
	must(t, err)
	nobodys, err := gate.DecodeRecord(e.Body)
	must(t, err)
	if rec := r.record(t); len(r.aborted) != 1 || rec.Verdict.Outcome != gate.TimedOut || rec.Abort.Requests != 1 || nobodys.Abort.Outcome != gate.AbortSkipped {
		t.Errorf("%d aborts; its gate: %+v; nobody's: %+v", len(r.aborted), rec.Abort, nobodys.Abort)
	}
}
