package funchost

import (
	"context"
	"log/slog"
	"time"

	"prowgate/shared/queue"
)

const (
	receiveWait  = 30 * time.Second // one wait for a message
	receivePause = time.Second      // after a queue that failed
	settleWithin = 10 * time.Second
)

// runQueue takes one message after another until receive is done. A message that it holds then is
// still worked on, until work is done.
func (l *life) runQueue(receive, work context.Context, f Function) {
	log := l.host.Log.With("function", f.Name, "queue", f.Queue)
	for receive.Err() == nil {
		d, ok, err := l.host.Queue.Receive(receive, f.Queue, "", receiveWait)
		if err != nil && receive.Err() == nil {
			log.Error("receive failed", "error", err)
			wait(receive, receivePause)
		}
		if err == nil && ok {
			l.handle(work, log.With("message", d.ID, "delivery", d.DeliveryCount), f, d)
		}
	}
}

// handle invokes the function for one message and settles it: completed if the invocation succeeded,
// given back if not.
func (l *life) handle(work context.Context, log *slog.Logger, f Function, d queue.Delivery) {
	renewing, stop := context.WithCancel(work)
	renewed := make(chan struct{})
	go func() { defer close(renewed); l.renew(renewing, log, f, d) }()
	payload, err := queuePayload(f, d, l.host.Clock())
	if err == nil {
		err = l.invoke(work, f, payload)
	}
	stop()
	<-renewed
	settle, done := context.WithTimeout(context.WithoutCancel(work), settleWithin)
	defer done()
	verb, act := "complete", l.host.Queue.Complete
	if err != nil {
		verb, act = "abandon", l.host.Queue.Abandon
	}
	if err := act(settle, f.Queue, d); err != nil {
		log.Warn("message will be delivered again: it could not be settled", "verb", verb, "error", err)
	}
}

// renew keeps the message's lock until ctx is done or the package's limit is reached, each time when
// half of what is left has passed. A lock that is lost is lost: the invocation goes on, as in the real
// host.
func (l *life) renew(ctx context.Context, log *slog.Logger, f Function, d queue.Delivery) {
	if limit := l.host.Package.MaxLockRenewal; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	until := d.LockedUntil
	for wait(ctx, max(until.Sub(l.host.Clock())/2, time.Millisecond)) {
		var err error
		if until, err = l.host.Queue.Renew(ctx, f.Queue, d); err != nil {
			if ctx.Err() == nil {
				log.Warn("lock lost", "error", err)
			}
			return
		}
	}
}
