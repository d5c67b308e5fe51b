package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// The names of what gates are told apart by. Other names are those of OpenTelemetry's semantic conventions.
const (
	keyGate      = "gate.id"
	keyExecution = "gate.execution.id"
	keyJob       = "gate.job"
	keyRegion    = "gate.region"
	keyPhase     = "gate.phase"
	keyOutcome   = "gate.outcome"
	keyError     = "error.type"
)

// LogAttrs returns what ties a log line to the span that it is written in; nothing outside of one.
func LogAttrs(ctx context.Context) []slog.Attr {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() || s.IsRemote() {
		return nil
	}
	return []slog.Attr{slog.String("trace", s.TraceID().String()), slog.String("span", s.SpanID().String())}
}

// texts makes attributes of names and values by turns, and leaves out what is empty. Values come from elsewhere:
// they are cut, and hold no marker.
func texts(pairs ...string) []attribute.KeyValue {
	var found []attribute.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		if value := pairs[i+1]; value != "" {
			found = append(found, attribute.String(pairs[i], text(value)))
		}
	}
	return found
}

// maxText is how many bytes of a text are told.
const maxText = 256

// text makes a text from elsewhere fit to be told.
func text(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	return gate.Neutralise(strings.ToValidUTF8(s, "\uFFFD"))
}

// kindOf names an error by its kind, or by its type when it has none. It shows no text: a foreign one may hold
// anything.
func kindOf(err error) string {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return f.Kind.String()
	}
	return fmt.Sprintf("%T", err)
}

// fail marks a span as failed, by the kind of its error.
func fail(span trace.Span, err error) {
	if err != nil {
		span.SetAttributes(texts(keyError, kindOf(err))...)
		span.SetStatus(codes.Error, "")
	}
}
