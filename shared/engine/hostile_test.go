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
	r.job = prow.Job{
		ID: "e1", Type: prow.Periodic, State: prow.Pending, StartTime: start,
		ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}}, Labels: map[string]string{gate.KeyGateID: "g1"},
	}
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
