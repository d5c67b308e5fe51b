package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"prowgate/functions"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/sqs"
	"prowgate/shared/telemetry"
)

const (
	// atOnce is how many messages are handled at a time. The event sources send no more than that in one
	// batch, so that no message waits for another one's time.
	atOnce = 5
	// stopReserve before the end of the invocation the work is told to stop, and lastReserve before it
	// the answer is given, whatever has not come back by then.
	stopReserve = 6 * time.Second
	lastReserve = 2 * time.Second
)

// scheduled is the function whose messages may come before their time.
const scheduled = "poll"

// result is what became of one message of a batch.
type result struct {
	index int
	again bool
}

// batch handles the messages of one event and names those that have to come again: what failed, and what
// has not ended in time. SQS takes a list that is not there for a failure of all, and an error would be
// one (Lambda, partial batch responses), so that there is always a list and never an error.
func (h *handler) batch(ctx context.Context, records []events.SQSMessage) events.SQSEventResponse {
	last, cancelLast := before(ctx, lastReserve)
	defer cancelLast()
	work, cancelWork := before(ctx, stopReserve)
	defer cancelWork()
	results, slots := make(chan result, len(records)), make(chan struct{}, atOnce)
	for i, r := range records {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results <- result{i, h.record(work, r)}
		}()
	}
	return failures(records, h.collect(last, results, len(records)))
}

// collect waits for the results, up to the end of ctx, and returns which messages are done with.
func (h *handler) collect(ctx context.Context, results <-chan result, n int) (done map[int]bool) {
	done = map[int]bool{}
	for range n {
		select {
		case r := <-results:
			done[r.index] = !r.again
		case <-ctx.Done():
			h.log.ErrorContext(ctx, "the invocation's time is over; what has not ended comes again")
			return done
		}
	}
	return done
}

func failures(records []events.SQSMessage, done map[int]bool) events.SQSEventResponse {
	failed := []events.SQSBatchItemFailure{}
	for i, r := range records {
		if !done[i] {
			failed = append(failed, events.SQSBatchItemFailure{ItemIdentifier: r.MessageId})
		}
	}
	return events.SQSEventResponse{BatchItemFailures: failed}
}

// record handles one message and reports whether it has to come again; if so, it asks for that to be soon,
// because SQS would keep it hidden for as long as an invocation may take.
func (h *handler) record(ctx context.Context, r events.SQSMessage) (again bool) {
	name := r.EventSourceARN[strings.LastIndexByte(r.EventSourceARN, ':')+1:]
	err := h.handle(ctx, name, r)
	if !functions.Redeliver(err) {
		return false
	}
	h.log.ErrorContext(ctx, "the message failed and will be delivered again", "queue", name, "message", r.MessageId,
		"delivery", r.Attributes["ApproximateReceiveCount"], "error", err)
	// Without it the message comes all the same, only later.
	if err := h.queues.GiveBack(context.WithoutCancel(ctx), name, r.ReceiptHandle, functions.Wait(err, deliveries(r))); err != nil {
		h.log.WarnContext(ctx, "the message could not be given back early", "message", r.MessageId, "error", err)
	}
	return true
}

// deliveries is how often a message has come, 0 when SQS does not say.
func deliveries(r events.SQSMessage) int {
	count, _ := strconv.Atoi(r.Attributes["ApproximateReceiveCount"])
	return count
}

// handle gives a message that is due to its function, and sends one that is not on. A panic is the
// message's own failure.
func (h *handler) handle(ctx context.Context, name string, r events.SQSMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			h.log.ErrorContext(ctx, "the function panicked", "queue", name, "message", r.MessageId,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return &fault.Error{Kind: fault.NothingHappened, Op: "begin", Text: "the invocation's time is over", Err: err}
	}
	function, known := h.functions[h.byQueue[name]]
	if !known {
		// It waits: a deployment repairs that, and not the message.
		return &fault.Error{Kind: fault.NothingHappened, Op: "begin", Text: fmt.Sprintf("no function takes messages of the queue %q", name)}
	}
	m, err := message(r)
	if err != nil {
		return errors.Join(gate.ErrUnreadable, err) // no later delivery can read it either
	}
	// Ticks alone are meant for later. Whatever else carries a time is handled at once: a gating or cancel message
	// has nothing to wait for, and the roles may not send to the queues of those.
	if h.byQueue[name] == scheduled {
		if forwarded, err := h.queues.Forward(ctx, name, m); err != nil || forwarded {
			return err
		}
	}
	in := telemetry.Invocation{
		Function: h.byQueue[name], Queue: name, MessageID: m.ID, Delivery: deliveries(r), Trace: m.Trace, Body: m.Body,
	}
	return h.run(ctx, in, func(ctx context.Context) error { return function(ctx, m.Body) })
}

func message(r events.SQSMessage) (queue.Message, error) {
	attributes := make(map[string]string, len(r.MessageAttributes))
	for key, value := range r.MessageAttributes {
		if value.StringValue != nil {
			attributes[key] = *value.StringValue
		}
	}
	return sqs.Decode(r.MessageId, r.Body, attributes)
}
