package main

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"prowgate/shared/telemetry"
)

type scopeKey struct{}

// run does the work of one message, or of one tick, in a span and a log scope of its own. One invocation of the
// runtime may be about several messages.
func (h *handler) run(ctx context.Context, in telemetry.Invocation, work func(context.Context) error) error {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		in.ID = lc.AwsRequestID
	}
	return h.told.Run(context.WithValue(ctx, scopeKey{}, in), in, work)
}

// scopeOf names the invocation, and the message, in every line that is logged for it.
func scopeOf(ctx context.Context) []slog.Attr {
	var attrs []slog.Attr
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		attrs = append(attrs, slog.String("invocation", lc.AwsRequestID))
	}
	in, ok := ctx.Value(scopeKey{}).(telemetry.Invocation)
	if ok {
		attrs = append(attrs, slog.String("function", in.Function))
	}
	if in.MessageID != "" {
		attrs = append(attrs, slog.String("message", in.MessageID), slog.Int("delivery", in.Delivery))
	}
	return attrs
}
