package step

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// Arrival is what is known about a message after sending it.
type Arrival int

// What may be known about a message.
const (
	NotSent   Arrival = iota // it surely did not arrive
	MaybeSent                // an answer was lost; it may have arrived
	Sent                     // the broker has it
)

// Send sends m until the broker has it, the broker refuses it, or ctx ends. Repeating is safe because
// every attempt carries the same message id. The error is that of the last attempt that was made.
func Send(ctx context.Context, q queue.Sender, log *slog.Logger, name string, m queue.Message) (Arrival, error) {
	arrival := NotSent
	back := backoff()
	for {
		err := q.Send(ctx, name, m)
		if err == nil {
			return Sent, nil
		}
		log.Debug("not sent", "queue", name, "error", err)
		kind := fault.KindOf(err)
		if kind == fault.MayHaveHappened {
			arrival = MaybeSent
		}
		if kind == fault.Refused || !pause(ctx, back.Step()) {
			return arrival, err
		}
	}
}

// backoff grows from a quarter of a second to ten seconds.
func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 1000, Cap: 10 * time.Second}
}

// pause waits for d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
