package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// meddlingDeck changes something while it is asked.
type meddlingDeck struct {
	deck
	meddle func()
}

func (d meddlingDeck) Job(ctx context.Context, id string) (prow.Job, bool, error) {
	d.meddle()
	return d.deck.Job(ctx, id)
}

// A decision that changes nothing is not saved, and so cannot lose a race: on a record that is not the newest
// any more it has to be made again.
func TestADecisionThatChangesNothingCountsOnTheNewestRecord(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	r.Deck = meddlingDeck{deck{r}, func() {
		e, _, err := r.store.Load(t.Context(), "gate:g1")
		must(t, err)
		rec := r.record(t)
		rec.Trouble = "newer"
		e.Body, err = rec.Encode()
		must(t, err)
		_, err = r.store.Save(t.Context(), e)
		must(t, err)
	}}
	var seen []string
	r.Decide = func(rec gate.Record, ev gate.Event, _ time.Time) (gate.Record, []gate.Command) {
		if _, ok := ev.(gate.StatusRead); ok {
			seen = append(seen, rec.Trouble)
			return rec, nil
		}
		return rec, []gate.Command{gate.ReadStatus{}}
	}
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	if diff := cmp.Diff([]string{"", "newer"}, seen); diff != "" {
		t.Error(diff)
	}
}

// countingStore counts how often records are read and written.
type countingStore struct {
	store.Store
	loads, saves int
}

func (s *countingStore) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	s.loads++
	return s.Store.Load(ctx, key)
}

func (s *countingStore) Save(ctx context.Context, e store.Entry) (string, error) {
	s.saves++
	return s.Store.Save(ctx, e)
}

// A tick of a running job is what a gate costs: one read and one write.
func TestATickReadsAndWritesOnce(t *testing.T) {
	r := newRig()
	must(t, r.Submit(t.Context(), gating(t, "")))
	count := &countingStore{Store: r.store.Store}
	r.store.Store = count
	r.job = prow.Job{ID: "e1", State: prow.Pending, StartTime: start}
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	if count.loads != 1 || count.saves != 1 {
		t.Errorf("%d reads, %d writes", count.loads, count.saves)
	}
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2})) // a repeated one
	if count.loads != 2 || count.saves != 1 {
		t.Errorf("after a repeated tick: %d reads, %d writes", count.loads, count.saves)
	}
}
