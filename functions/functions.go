// Package functions is the one table of prowgate's event handlers, by the names of their folders, and
// the one place that says what becomes of a message. It knows no cloud: the mains in its
// subdirectories put it behind the Azure Functions host and behind the Lambda runtime.
//
// Entry point: Set.
package functions

import (
	"context"
	"errors"
	"time"

	"prowgate/functions/cancel"
	"prowgate/functions/poll"
	"prowgate/functions/submit"
	"prowgate/functions/sweep"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// Handler handles the body of one message, or the state of one timer. Handlers may run at once, and
// the same message may come to them twice, late or out of order.
type Handler func(ctx context.Context, body []byte) error

// Engine is what the handlers need of the engine.
type Engine interface {
	submit.Engine
	poll.Engine
	cancel.Engine
	sweep.Engine
}

// Set returns the handlers by name. Each name is also a folder beside this file with the function's
// trigger in function.json.
func Set(e Engine) map[string]Handler {
	return map[string]Handler{
		"submit": submit.Handle(e),
		"poll":   poll.Handle(e),
		"cancel": cancel.Handle(e),
		"sweep":  sweep.Handle(e),
	}
}

// Redeliver says what becomes of a message whose handler returned err: true gives it back to its queue,
// which delivers it again and puts it aside after its last delivery; false removes it. Every kind of
// error is a reason to deliver again: the engine returns one when the store or the queue itself cannot be reached, and
// what no later delivery can handle either (a body or a record that cannot be read, a panic) has to end in the
// dead-letter queue, untouched. How soon it comes again is Wait's to say.
func Redeliver(err error) bool { return err != nil }

// A message that is left alone waits firstWait, and after each further delivery twice as long, up to mostWait. With
// the deliveries that the templates allow (100) that outlasts an hour and a half without a store.
const (
	firstWait = 10 * time.Second
	mostWait  = time.Minute
)

// Wait returns how long a message whose handler returned err is left alone before it comes again; delivery counts
// from 1. A store or a queue that is out of reach, refuses this process for now, or is kept changing by others can be
// better later. It says so by a fault, and a queue that gave the message back at once would have used all its
// deliveries up in milliseconds. What is the message's or its record's own fault, and a panic, does not wait: it
// would hold a place of those that can be handled, and fail again.
func Wait(err error, delivery int) time.Duration {
	var f *fault.Error
	if !errors.As(err, &f) || errors.Is(err, gate.ErrUnreadable) || errors.Is(err, fault.ErrContent) {
		return 0
	}
	wait := firstWait
	for range min(delivery-1, 10) {
		wait = min(2*wait, mostWait)
	}
	return wait
}
