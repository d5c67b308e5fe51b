package queuetest

import (
	"context"
	"errors"
	"sync"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// ErrInjected is the cause of every failure that Flaky makes.
var ErrInjected = errors.New("injected failure")

// Moment says when a call fails.
type Moment int

const (
	Never  Moment = iota
	Before        // not done: NothingHappened
	After         // done, but the answer is lost: MayHaveHappened
)

// Flaky is a sender that fails as planned: Plan is asked once for each call, the first being 1. It may
// be used by many goroutines at once.
type Flaky struct {
	Sender queue.Sender
	Plan   func(call int) Moment

	mu    sync.Mutex
	calls int
}

// Send sends, fails, or does both.
func (f *Flaky) Send(ctx context.Context, name string, m queue.Message) error {
	f.mu.Lock()
	f.calls++
	moment := f.Plan(f.calls)
	f.mu.Unlock()
	if moment == Before {
		return &fault.Error{Kind: fault.NothingHappened, Op: "send", Err: ErrInjected}
	}
	if err := f.Sender.Send(ctx, name, m); err != nil || moment == Never {
		return err
	}
	return &fault.Error{Kind: fault.MayHaveHappened, Op: "send", Err: ErrInjected}
}
