package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"prowgate/shared/queue"
)

// Sender returns a sender whose messages carry the trace they are sent in.
func (t *Telemetry) Sender(s queue.Sender) queue.Sender {
	if !t.traced() {
		return s
	}
	return sender{s, t.tracer}
}

type sender struct {
	queue.Sender
	tracer trace.Tracer
}

// Send implements queue.Sender. A tick that a tick sends carries on what that one came with: the polls of a gate
// are side by side below its submission, and no chain of hundreds.
func (s sender) Send(ctx context.Context, name string, m queue.Message) error {
	ctx, span := s.tracer.Start(ctx, "send "+text(name), trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(texts(
		"messaging.operation.type", "send", "messaging.destination.name", name, "messaging.message.id", m.ID,
		"messaging.message.conversation_id", m.CorrelationID)...))
	defer span.End()
	m.Trace = traceOf(ctx)
	if c := currentOf(ctx); c.Function == functionPoll && c.came != "" && !m.ScheduledAt.IsZero() {
		m.Trace = c.came
	}
	err := s.Sender.Send(ctx, name, m)
	fail(span, err)
	return err
}

// traceOf returns the traceparent of ctx.
func traceOf(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}
