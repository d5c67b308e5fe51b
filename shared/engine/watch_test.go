package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// watch notes what it is told.
type watch struct{ told []string }

func (w *watch) Saved(_ context.Context, before, after gate.Record) {
	w.told = append(w.told, fmt.Sprintf("saved %s>%s", before.Phase, after.Phase))
}

func (w *watch) Turn(_ context.Context, wait time.Duration, waiting, left int) {
	w.told = append(w.told, fmt.Sprintf("turn wait=%s waiting=%d left=%d", wait, waiting, left))
}

func (w *watch) Swept(_ context.Context, overdue int) {
	w.told = append(w.told, fmt.Sprintf("swept %d", overdue))
}

func TestWatchIsTold(t *testing.T) {
	w := &watch{}
	r := newRig()
	r.Watch = w
	must(t, r.Submit(t.Context(), gating(t, "")))
	must(t, r.Submit(t.Context(), gating(t, ""))) // a repeated message changes nothing
	second := gating(t, "")
	second.GateID = "g2"
	must(t, r.Submit(t.Context(), second))
	r.job = prow.Job{ID: "e1", State: prow.Success}
	must(t, r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}))
	r.now = r.now.Add(time.Hour)
	must(t, r.Sweep(t.Context()))
	want := []string{
		"saved >accepted", "turn wait=0s waiting=0 left=4", "saved accepted>submitting", "saved submitting>running",
		"saved >accepted", "turn wait=2s waiting=1 left=4", "saved accepted>accepted",
		"saved running>done", "saved done>done",
		"swept 1", "saved accepted>accepted",
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Error(diff)
	}
}
