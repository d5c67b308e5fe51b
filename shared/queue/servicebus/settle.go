package servicebus

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// mostHeld is how many messages are kept for settling on the link that they came from. Beyond it they are
// settled by their token.
const mostHeld = 1000

// Complete removes the message for good.
func (b *Bus) Complete(ctx context.Context, name string, d queue.Delivery) error {
	return b.settle(ctx, "complete", name, d, func(ctx context.Context, h holding) error {
		return h.receiver.CompleteMessage(ctx, h.message, nil)
	})
}

// Abandon gives the message back.
func (b *Bus) Abandon(ctx context.Context, name string, d queue.Delivery) error {
	return b.settle(ctx, "abandon", name, d, func(ctx context.Context, h holding) error {
		return h.receiver.AbandonMessage(ctx, h.message, nil)
	})
}

// Renew makes the lock last for the queue's lock duration from now and returns its new end. For a message
// of a session it is the session's lock.
func (b *Bus) Renew(ctx context.Context, name string, d queue.Delivery) (until time.Time, err error) {
	const op = "renew"
	l, h, release, err := b.holding(ctx, name, d)
	if err != nil {
		return until, b.fault(op, name, err, fault.NothingHappened)
	}
	defer release()
	err = l.within(ctx, b.limits.settle, func(ctx context.Context) error {
		until, err = h.renew(ctx)
		return err
	})
	if err != nil {
		return time.Time{}, b.unsettled(ctx, op, l, key(name, d.Lock), err)
	}
	return until, nil
}

func (h holding) renew(ctx context.Context) (time.Time, error) {
	switch r := h.receiver.(type) {
	case *azservicebus.SessionReceiver:
		err := r.RenewSessionLock(ctx, nil)
		return r.LockedUntil(), err
	case *azservicebus.Receiver:
		err := r.RenewMessageLock(ctx, h.message, nil)
		return deref(h.message.LockedUntil), err
	}
	return time.Time{}, errors.New("no receiver of the SDK")
}

// settle acts on the message. A session is renewed first: the SDK would repeat what fails for a lost session
// lock for forty seconds, but it reports at once that such a lock cannot be renewed.
func (b *Bus) settle(ctx context.Context, op, name string, d queue.Delivery, act func(context.Context, holding) error) error {
	l, h, release, err := b.holding(ctx, name, d)
	if err != nil {
		return b.fault(op, name, err, fault.NothingHappened)
	}
	defer release()
	err = l.within(ctx, b.limits.settle, func(ctx context.Context) error {
		if r, ok := h.receiver.(*azservicebus.SessionReceiver); ok {
			if err := r.RenewSessionLock(ctx, nil); err != nil {
				return err
			}
		}
		return act(ctx, h)
	})
	if err != nil {
		return b.unsettled(ctx, op, l, key(name, d.Lock), err)
	}
	l.forget(key(name, d.Lock))
	return nil
}

// unsettled turns the failure of a settlement into a fault, and lets go of what it shows to be gone.
func (b *Bus) unsettled(ctx context.Context, op string, l *line, held heldKey, err error) error {
	if verdict(err) == conflict {
		l.forget(held)
	}
	if lost(ctx, err) {
		b.drop(ctx, l)
	}
	return b.fault(op, held.queue, err, fault.MayHaveHappened)
}

// errNotHeld says that a session's message can no longer be settled: its lock ended with the link.
var errNotHeld = errors.New("the session's lock is gone")

// errNoLock says that a delivery names no lock.
var errNoLock = errors.New("the delivery has no lock of this queue")

// holding finds how to settle the delivery, and whose turn that takes until it is released.
func (b *Bus) holding(ctx context.Context, name string, d queue.Delivery) (*line, holding, func(), error) {
	l, _, err := b.connected()
	if err != nil {
		return nil, holding{}, nil, err
	}
	if h, ok := l.holding(key(name, d.Lock)); ok {
		err := h.in.settling.take(ctx)
		return l, h, h.in.settling.give, err
	}
	if d.SessionID != "" {
		return nil, holding{}, nil, errNotHeld
	}
	m, ok := byToken(d.Lock)
	if !ok {
		return nil, holding{}, nil, errNoLock
	}
	l, in, _, err := b.inlet(ctx, ctx, place{queue: name, byToken: true})
	if err != nil {
		return nil, holding{}, nil, err
	}
	return l, holding{in, in.receiver, m}, in.turn.give, nil
}

// heldKey names a message that is held.
type heldKey struct{ queue, lock string }

func key(name, lock string) heldKey { return heldKey{name, lock} }

func (l *line) holding(k heldKey) (holding, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.held[k]
	return h, ok
}

func (l *line) hold(in *inlet, m *azservicebus.ReceivedMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) < mostHeld {
		l.held[key(in.place.queue, lockOf(m))] = holding{in, in.receiver, m}
	}
}

func (l *line) forget(k heldKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, k)
}
