package telemetry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/gate"
	"prowgate/shared/telemetry"
)

func TestMetrics(t *testing.T) {
	clean(t)
	synctest.Test(t, func(t *testing.T) {
		r := start(t.Context(), t, nil)
		w, end := r.Watch(), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		saved := func(change func(*gate.Record)) { // and once more without a change, which counts for nothing
			before := gate.Record{GateID: "g", Phase: gate.PhaseRunning}
			after := before
			change(&after)
			w.Saved(t.Context(), before, after)
			w.Saved(t.Context(), after, after)
		}
		saved(func(r *gate.Record) {
			r.Verdict = &gate.Notice{Outcome: gate.Succeeded, Passed: true, Retry: gate.NotEligible}
		})
		saved(func(r *gate.Record) { r.Verdict = &gate.Notice{Outcome: gate.Failed, Retry: gate.KnownIssueEligible} })
		saved(func(r *gate.Record) { r.Verdict = &gate.Notice{Outcome: gate.Failed, Retry: gate.KnownIssueEligible} })
		saved(func(r *gate.Record) { r.Abort.Outcome = gate.AbortSkipped })
		saved(func(r *gate.Record) { r.CompletedAt, r.EndSeenAt = end, end.Add(12*time.Second) })
		saved(func(r *gate.Record) { r.CompletedAt, r.EndSeenAt = end, end.Add(-time.Second) }) // clocks differ
		saved(func(r *gate.Record) { r.EndSeenAt = end })                                       // nobody knows when it ended
		w.Turn(t.Context(), time.Second, 7, 0)
		w.Turn(t.Context(), 0, 3, 2)
		w.Swept(t.Context(), 4)
		w.Swept(t.Context(), 0)
		r.Stop(t.Context())
		want := map[string]float64{
			"prowgate.gates outcome=succeeded passed=true retry=not-eligible":       1,
			"prowgate.gates outcome=failed passed=false retry=known-issue-eligible": 2,
			"prowgate.aborts outcome=skipped":                                       1,
			"prowgate.end.detection":                                                2,
			"prowgate.end.detection.sum":                                            12,
			"prowgate.requests.waiting":                                             3,
			"prowgate.budget.left":                                                  2,
			"prowgate.gates.overdue":                                                4,
		}
		if diff := cmp.Diff(want, r.Points()); diff != "" {
			t.Error(diff)
		}
	})
}

// The record names the gate in the invocation's span; a sweep is about several, each of which is an event.
func TestTheGateIsNamed(t *testing.T) {
	clean(t)
	synctest.Test(t, func(t *testing.T) {
		r := start(t.Context(), t, nil)
		record := gate.Record{GateID: "g-1", ExecutionID: "e-1", Phase: gate.PhaseDone, Verdict: &gate.Notice{Outcome: gate.Errored}}
		record.Gating.JobName, record.Gating.Region = "job-1", "westus3"
		for _, function := range []string{"poll", "sweep"} {
			err := r.Run(t.Context(), telemetry.Invocation{Function: function, Body: []byte(`{"gateId":"g-1","seq":3}`)}, func(ctx context.Context) error {
				r.Watch().Saved(ctx, gate.Record{}, record)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		r.Stop(t.Context())
		about := map[string]string{
			"gate.id": "g-1", "gate.execution.id": "e-1", "gate.job": "job-1", "gate.region": "westus3", "gate.phase": "done", "gate.outcome": "errored",
		}
		sweep := r.span(t, "sweep")
		if diff := cmp.Diff([]map[string]string{about}, sweep.Events); diff != "" || sweep.Attributes["gate.id"] != "" {
			t.Errorf("%v %s", sweep.Attributes, diff)
		}
		about["faas.invoked_name"], about["faas.trigger"] = "poll", "pubsub"
		if diff := cmp.Diff(about, r.span(t, "poll").Attributes); diff != "" {
			t.Error(diff)
		}
	})
}
