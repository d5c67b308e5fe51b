package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"prowgate/functions"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/telemetry"
)

var _ lambda.Handler = (*handler)(nil)

// queues is what the handler needs of the queues beside the engine.
type queues interface {
	// Forward sends on a message that came before its time, and reports whether it did.
	Forward(ctx context.Context, name string, m queue.Message) (bool, error)
	// GiveBack has a message delivered again after that time.
	GiveBack(ctx context.Context, name, lock string, after time.Duration) error
}

// handler takes every event. Invocations come one at a time.
type handler struct {
	functions map[string]functions.Handler
	byQueue   map[string]string // the function's name by that of its queue
	queues    queues
	status    status
	told      *telemetry.Telemetry // nil: nobody is told
	log       *slog.Logger
}

// event is what tells the kinds of events apart.
type event struct {
	Records    []events.SQSMessage `json:"Records"`
	Source     string              `json:"source"`
	DetailType string              `json:"detail-type"`
	events.LambdaFunctionURLRequest
}

// Invoke implements lambda.Handler. An error fails the whole event, which only an event that is none of
// ours and the sweep do. What is told of it is sent before it ends, because the runtime freezes the process
// between two invocations.
func (h *handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	defer h.told.Flush(ctx)
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, errors.New("the event is not readable: it must be of SQS, of a schedule or of a function's URL")
	}
	switch {
	case len(e.Records) > 0 && e.Records[0].EventSource == "aws:sqs":
		return json.Marshal(h.batch(ctx, e.Records))
	case e.Source == "aws.events" && e.DetailType == "Scheduled Event":
		return h.sweep(ctx, payload)
	case e.RequestContext.HTTP.Method != "":
		return json.Marshal(h.status.serve(ctx, e.LambdaFunctionURLRequest))
	}
	h.log.ErrorContext(ctx, "an event of an unknown kind", "source", e.Source, "records", len(e.Records))
	return nil, errors.New("an event of an unknown kind: it must be of SQS, of a schedule or of a function's URL")
}

func (h *handler) sweep(ctx context.Context, payload []byte) ([]byte, error) {
	ctx, cancel := before(ctx, stopReserve)
	defer cancel()
	err := h.run(ctx, telemetry.Invocation{Function: "sweep"}, func(ctx context.Context) error {
		return h.functions["sweep"](ctx, payload)
	})
	if functions.Redeliver(err) {
		h.log.ErrorContext(ctx, "the sweep failed; the next one tries again", "error", err)
		return nil, errors.New(gate.Neutralise("sweep: " + err.Error())) // the runtime logs it as it is
	}
	return []byte("{}"), nil
}

// before returns a context that ends that long before ctx does by itself.
func before(ctx context.Context, reserve time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-reserve))
	}
	return context.WithCancel(ctx)
}
