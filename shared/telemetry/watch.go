package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"prowgate/shared/engine"
	"prowgate/shared/gate"
)

var _ engine.Watch = (*watch)(nil)

// watch counts what the engine does, and names the gate in the invocation's span.
type watch struct {
	gates     metric.Int64Counter
	aborts    metric.Int64Counter
	detection metric.Float64Histogram
	waiting   metric.Int64Gauge
	left      metric.Int64Gauge
	overdue   metric.Int64Counter
}

// detectionBounds are around the mean and the worst case that polls once a minute give, in seconds.
var detectionBounds = []float64{1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 300, 900}

func newWatch(m metric.Meter) (*watch, error) {
	w, errs := &watch{}, make([]error, 6)
	w.gates, errs[0] = m.Int64Counter("prowgate.gates",
		metric.WithUnit("{gate}"), metric.WithDescription("gates that got their verdict, by outcome"))
	w.aborts, errs[1] = m.Int64Counter("prowgate.aborts",
		metric.WithUnit("{abort}"), metric.WithDescription("aborts of cancelled gates' jobs, by outcome"))
	w.detection, errs[2] = m.Float64Histogram("prowgate.end.detection",
		metric.WithUnit("s"), metric.WithDescription("from a job's end until it was seen"), metric.WithExplicitBucketBoundaries(detectionBounds...))
	w.waiting, errs[3] = m.Int64Gauge("prowgate.requests.waiting",
		metric.WithUnit("{request}"), metric.WithDescription("requests to Gangway that wait in line, as last seen"))
	w.left, errs[4] = m.Int64Gauge("prowgate.budget.left",
		metric.WithUnit("{request}"), metric.WithDescription("requests that could go to Gangway without a wait, as last seen"))
	w.overdue, errs[5] = m.Int64Counter("prowgate.gates.overdue",
		metric.WithUnit("{gate}"), metric.WithDescription("overdue records that sweeps have found"))
	return w, errors.Join(errs...)
}

// Saved implements engine.Watch.
func (w *watch) Saved(ctx context.Context, before, after gate.Record) {
	tell(ctx, after)
	if before.Verdict == nil && after.Verdict != nil {
		v := after.Verdict
		w.gates.Add(ctx, 1, metric.WithAttributes(append(texts("outcome", string(v.Outcome), "retry", string(v.Retry)), attribute.Bool("passed", v.Passed))...))
	}
	if before.Abort.Outcome == "" && after.Abort.Outcome != "" {
		w.aborts.Add(ctx, 1, metric.WithAttributes(texts("outcome", string(after.Abort.Outcome))...))
	}
	if before.EndSeenAt.IsZero() && !after.EndSeenAt.IsZero() && !after.CompletedAt.IsZero() {
		w.detection.Record(ctx, max(0, after.EndSeenAt.Sub(after.CompletedAt)).Seconds())
	}
}

// Turn implements engine.Watch.
func (w *watch) Turn(ctx context.Context, _ time.Duration, waiting, left int) {
	w.waiting.Record(ctx, int64(waiting))
	w.left.Record(ctx, int64(left))
}

// Swept implements engine.Watch.
func (w *watch) Swept(ctx context.Context, overdue int) { w.overdue.Add(ctx, int64(overdue)) }

// tell names the gate in the span of the invocation; a sweep is about many of them.
func tell(ctx context.Context, r gate.Record) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	outcome := ""
	if r.Verdict != nil {
		outcome = string(r.Verdict.Outcome)
	}
	about := texts(keyGate, r.GateID, keyExecution, r.ExecutionID, keyJob, r.Gating.JobName, keyRegion, r.Gating.Region,
		keyPhase, string(r.Phase), keyOutcome, outcome)
	if currentOf(ctx).Function == functionSweep {
		span.AddEvent("gate", trace.WithAttributes(about...))
		return
	}
	span.SetAttributes(about...)
}
