package telemetry

import (
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The functions that are treated apart.
const (
	functionPoll  = "poll"
	functionSweep = "sweep"
)

// Invocation is one call of a function. What is not known is left empty.
type Invocation struct {
	Function  string
	ID        string // the platform's
	Queue     string
	MessageID string
	Delivery  int    // 1 at the first delivery
	Trace     string // the W3C traceparent that the message carries
	Body      []byte
}

// current is the invocation that a context belongs to.
type current struct {
	Invocation
	came string // the traceparent that its message carried, as we write it; empty when it carried none
}

type currentKey struct{}

// Run does the work of an invocation in a span of its own, which goes on with the trace that the message
// carries. It changes nothing of the work's result, a panic included.
func (t *Telemetry) Run(ctx context.Context, in Invocation, work func(context.Context) error) error {
	if !t.traced() {
		return work(ctx)
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": in.Trace})
	came := ""
	if trace.SpanContextFromContext(ctx).IsRemote() {
		came = traceOf(ctx) // and not the text, which may go on after what was understood
	}
	ctx, span := t.tracer.Start(ctx, in.Function, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(in.attributes()...))
	err, returned := error(nil), false
	defer func() {
		switch {
		case !returned:
			span.SetStatus(codes.Error, "panic")
		case err != nil:
			fail(span, err) // its text is in the log, in the line that names this invocation
		}
		span.End()
	}()
	err = work(context.WithValue(ctx, currentKey{}, current{in, came}))
	returned = true
	return err
}

// attributes say what was called, and for which gate as far as the message says it.
func (in Invocation) attributes() []attribute.KeyValue {
	var about struct{ GateID, ExecutionID, JobName, Region string }
	if in.Function != functionSweep {
		_ = json.Unmarshal(in.Body, &about) // what is no such message is about no gate
	}
	found := texts(
		"faas.invoked_name", in.Function, "faas.trigger", in.trigger(), "faas.invocation_id", in.ID,
		"messaging.destination.name", in.Queue, "messaging.message.id", in.MessageID,
		keyGate, about.GateID, keyExecution, about.ExecutionID, keyJob, about.JobName, keyRegion, about.Region,
	)
	if in.Delivery > 0 {
		found = append(found, attribute.Int("messaging.message.delivery_count", in.Delivery))
	}
	return found
}

func (in Invocation) trigger() string {
	if in.Function == functionSweep {
		return "timer"
	}
	return "pubsub"
}

// currentOf returns the invocation that ctx belongs to.
func currentOf(ctx context.Context) current {
	c, _ := ctx.Value(currentKey{}).(current)
	return c
}
