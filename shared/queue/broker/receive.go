package broker

import (
	"context"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// mode says what receiving does to the message.
type mode bool

const (
	underLock mode = false
	forGood   mode = true
)

// attempt is the result of one look for a message.
type attempt struct {
	d    queue.Delivery
	ok   bool
	wake <-chan struct{} // when there was none: closed when there may be one
	in   time.Duration   // and how long until the queue changes by itself, negative for never
}

// TryReceive is Receive without waiting.
func (b *Broker) TryReceive(ctx context.Context, name, session string) (queue.Delivery, bool, error) {
	a, err := b.try(ctx, name, session, underLock)
	return a.d, a.ok, err
}

// Receive locks the next message; see queue.Receiver.
func (b *Broker) Receive(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	return b.await(ctx, name, session, wait, underLock)
}

// ReceiveAndDelete takes the next message for good; it waits as Receive does.
func (b *Broker) ReceiveAndDelete(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	return b.await(ctx, name, session, wait, forGood)
}

// await looks again whenever a message may have become ready: sent, given back, due, or unlocked.
func (b *Broker) await(ctx context.Context, name, session string, wait time.Duration, md mode) (queue.Delivery, bool, error) {
	if wait <= 0 {
		a, err := b.try(ctx, name, session, md)
		return a.d, a.ok, err
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		a, err := b.try(ctx, name, session, md)
		if err != nil || a.ok {
			return a.d, a.ok, err
		}
		more, err := a.pause(ctx, end.C)
		if err != nil || !more {
			return queue.Delivery{}, false, err
		}
	}
}

// pause blocks until it is worth looking again; more is false when the time to wait is over.
func (a attempt) pause(ctx context.Context, end <-chan time.Time) (more bool, err error) {
	var event <-chan time.Time
	if a.in >= 0 {
		t := time.NewTimer(a.in)
		defer t.Stop()
		event = t.C
	}
	select {
	case <-ctx.Done():
		return false, &fault.Error{Kind: fault.NothingHappened, Op: "receive", Err: ctx.Err()}
	case <-end:
		return false, nil
	case <-a.wake:
	case <-event:
	}
	return true, nil
}

func (b *Broker) try(ctx context.Context, name, session string, md mode) (attempt, error) {
	const op = "receive"
	l, now, err := b.enter(ctx, op, name)
	if err != nil {
		return attempt{}, err
	}
	defer b.mu.Unlock()
	if l.cfg.Sessions && session == "" {
		return attempt{}, refused(op, name+" has sessions: name one")
	}
	if !l.cfg.Sessions && session != "" {
		return attempt{}, refused(op, name+" has no sessions")
	}
	if err := b.advance(l, now); err != nil {
		return attempt{}, err
	}
	it := l.head(session)
	if it == nil {
		return attempt{wake: l.waker(), in: l.untilChange(now)}, nil
	}
	return b.hand(l, it, md, now)
}

// hand gives the item to the receiver.
func (b *Broker) hand(l *line, it *item, md mode, now time.Time) (attempt, error) {
	if md == forGood {
		if err := b.journal.remove(it.seq); err != nil {
			return attempt{}, err
		}
		it.deliveries++
		l.detach(it)
		return attempt{d: it.delivery(), ok: true}, nil
	}
	if err := b.journal.delivered(it.seq, it.deliveries+1); err != nil {
		return attempt{}, err
	}
	it.deliveries++
	l.take(it, b.newLock(), now.Add(l.cfg.LockDuration))
	return attempt{d: it.delivery(), ok: true}, nil
}

// untilChange returns how long until a message becomes due or a lock expires, negative for never.
func (l *line) untilChange(now time.Time) time.Duration {
	in := time.Duration(-1)
	if it := l.scheduled.top(); it != nil {
		in = it.available.Sub(now)
	}
	if it := l.locked.top(); it != nil {
		if d := it.lockedUntil.Sub(now); in < 0 || d < in {
			in = d
		}
	}
	return in
}
