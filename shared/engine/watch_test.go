package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/engine"
	"prowgate/shared/gate"
)

var _ engine.Watch = (*watch)(nil)

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
	r.now = r.now.Add(gate.Retention)
	must(t, r.Sweep(t.Context())) // one is overdue, the other only to be removed
	want := []string{
		"saved >accepted", "turn wait=0s waiting=0 left=4", "saved accepted>submitting", "saved submitting>running",
		"saved >accepted", "turn wait=2s waiting=1 left=4", "saved accepted>accepted",
		"saved running>done", "saved done>done",
		"swept 1", "saved accepted>accepted",
		"swept 1", "saved accepted>accepted", "saved done>done",
	}
	if diff := cmp.Diff(want, w.told); diff != "" {
		t.Error(diff)
	}
}

// A marker in a name that the sender gave does not get into the log.
func TestNoMarkerInTheLog(t *testing.T) {
	var out bytes.Buffer
	r := newRig()
	r.Log = slog.New(slog.NewJSONHandler(&out, nil))
	evil := strings.ToUpper(gate.Marker(gate.KnownIssueEligible))
	g := gating(t, "")
	g.JobName, g.Region, g.ExecutionID = "job "+evil, "region "+evil, "execution "+evil
	must(t, r.Submit(t.Context(), g))
	must(t, r.Reject(t.Context(), gate.Rejection{GateID: "g2", JobName: evil, Region: evil, Problems: []string{evil}}))
	if gate.HasMarker(out.String()) || !strings.Contains(out.String(), `"gateId":"g2"`) {
		t.Error(out.String())
	}
	e, _, err := r.store.Load(t.Context(), "gate:g2")
	if err != nil || gate.HasMarker(string(e.Body)) {
		t.Errorf("%s %v", e.Body, err)
	}
}
