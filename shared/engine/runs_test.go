package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

// play runs one gate from its message to its verdict; its job takes the given time.
func (r *rig) play(t *testing.T, g gate.Gating, took time.Duration) gate.Record {
	t.Helper()
	r.job = prow.Job{ID: "e1", State: prow.Success, StartTime: r.now, CompletionTime: r.now.Add(took)}
	must(t, r.Submit(t.Context(), g))
	at := r.now
	r.now = r.now.Add(took)
	must(t, r.Poll(t.Context(), gate.Tick{GateID: g.GateID, Seq: 2}))
	e, ok, err := r.store.Load(t.Context(), "gate:"+g.GateID)
	if err != nil || !ok {
		t.Fatal("no record", err)
	}
	rec, err := gate.DecodeRecord(e.Body)
	if err != nil || rec.Phase != gate.PhaseDone {
		t.Fatalf("%s %v", rec.Phase, err)
	}
	r.now = at.Add(2 * time.Hour)
	return rec
}

func TestLaterGatesKnowOfEarlierRuns(t *testing.T) {
	r := newRig()
	for i := range 4 {
		g := gating(t, "")
		g.GateID = fmt.Sprintf("g%d", i)
		rec := r.play(t, g, time.Hour)
		if want := i == 3; (rec.LikelyAfter == gate.Duration(57*time.Minute)) != want {
			t.Errorf("gate %d: the end is likely after %s", i, time.Duration(rec.LikelyAfter))
		}
	}
	other := gating(t, "")
	other.GateID, other.JobName = "other", "another-job"
	if rec := r.play(t, other, time.Hour); rec.LikelyAfter != 0 {
		t.Error("runs of another job count")
	}
}

// runsStore fails for the runs of jobs alone, before the work or after it.
type runsStore struct {
	store.Store
	before, after error
}

func (s runsStore) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	if strings.HasPrefix(key, "runs:") && s.before != nil {
		return store.Entry{}, false, s.before
	}
	return s.Store.Load(ctx, key)
}

func (s runsStore) Save(ctx context.Context, e store.Entry) (string, error) {
	version, err := s.Store.Save(ctx, e)
	if strings.HasPrefix(e.Key, "runs:") && s.after != nil {
		return "", s.after
	}
	return version, err
}

// A gate needs no history: whatever is wrong with it, the gate ends as without.
func TestRunsThatCannotBeReadOrKept(t *testing.T) {
	corrupt := memory.New()
	if _, err := corrupt.Save(t.Context(), store.Entry{Key: "runs:e2e", Body: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]store.Store{
		"before":   runsStore{Store: memory.New(), before: errors.New("away")},
		"after":    runsStore{Store: memory.New(), after: &fault.Error{Kind: fault.MayHaveHappened, Text: "answer lost"}},
		"conflict": runsStore{Store: memory.New(), after: &fault.Error{Kind: fault.Conflict}},
		"corrupt":  corrupt,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			*r.store = brokenStore{Store: s}
			if rec := r.play(t, gating(t, ""), time.Hour); rec.Verdict.Outcome != gate.Succeeded || !rec.Sent {
				t.Errorf("%+v", rec.Verdict)
			}
		})
	}
	e, _, err := corrupt.Load(t.Context(), "runs:e2e")
	if err != nil || !json.Valid(e.Body) {
		t.Errorf("what cannot be read stays: %s %v", e.Body, err)
	}
}

func TestAJobWithAVeryLongNameHasNoHistory(t *testing.T) {
	for length, want := range map[int]bool{195: true, 196: false} {
		r := newRig()
		g := gating(t, "")
		g.JobName = strings.Repeat("j", length)
		r.play(t, g, time.Hour)
		if _, ok, err := r.store.Load(t.Context(), "runs:"+g.JobName); ok != want || err != nil {
			t.Errorf("%d bytes: kept=%t %v", length, ok, err)
		}
	}
}
