package broker

import (
	"context"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// Complete removes the message for good.
func (b *Broker) Complete(ctx context.Context, name string, d queue.Delivery) error {
	return b.settle(ctx, "complete", name, d, func(l *line, it *item, _ time.Time) error {
		if err := b.journal.remove(it.seq); err != nil {
			return err
		}
		l.detach(it)
		return nil
	})
}

// Abandon gives the message back, or dead-letters it when its deliveries are used up.
func (b *Broker) Abandon(ctx context.Context, name string, d queue.Delivery) error {
	return b.settle(ctx, "abandon", name, d, func(l *line, it *item, now time.Time) error {
		return b.release(l, it, now)
	})
}

// DeadLetter puts the message into the queue's dead-letter queue, with a reason for programs and a
// text for people. A message that is there already is refused.
func (b *Broker) DeadLetter(ctx context.Context, name string, d queue.Delivery, reason, text string) error {
	const op = "dead-letter"
	return b.settle(ctx, op, name, d, func(l *line, it *item, now time.Time) error {
		if l.dead == nil {
			return refused(op, name+" is a dead-letter queue itself")
		}
		return b.bury(l, it, reason, text, now)
	})
}

// Renew makes the lock last for the queue's lock duration from now and returns its new end.
func (b *Broker) Renew(ctx context.Context, name string, d queue.Delivery) (time.Time, error) {
	var until time.Time
	err := b.settle(ctx, "renew", name, d, func(l *line, it *item, now time.Time) error {
		until = now.Add(l.cfg.LockDuration)
		l.locked.drop(it)
		it.lockedUntil = until
		l.locked.put(it)
		return nil
	})
	return until, err
}

// settle runs act on the item that the delivery's lock holds; only the lock token counts.
func (b *Broker) settle(ctx context.Context, op, name string, d queue.Delivery, act func(*line, *item, time.Time) error) error {
	l, now, err := b.enter(ctx, op, name)
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if err := b.advance(l, now); err != nil {
		return err
	}
	it, ok := l.locks[d.Lock]
	if !ok {
		return &fault.Error{Kind: fault.Conflict, Op: op, Text: name + ": the lock has expired or the message is settled"}
	}
	return act(l, it, now)
}
