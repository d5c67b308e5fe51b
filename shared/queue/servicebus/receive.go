package servicebus

import (
	"context"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

const (
	// shortestWait is how long a receive that does not want to wait takes: the broker has to be asked.
	shortestWait = 500 * time.Millisecond
	// mostLosses is how many links one receive may lose before it fails.
	mostLosses = 3
)

// Receive waits for the next message of the queue or of the named session; see queue.Receiver. The time in
// which the link is opened does not count. A session stays this receiver's between two calls for as long
// as its lock lasts. While another receiver holds it there is nothing to receive, and if that is so to the
// end of the wait the error is a Conflict.
func (b *Bus) Receive(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	const op = "receive"
	if wait <= 0 {
		wait = shortestWait
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	p := place{queue: name, session: session}
	l, in, opened, err := b.inlet(ctx, waiting, p)
	switch {
	case errors.Is(err, errOver):
		return queue.Delivery{}, false, nil
	case err != nil:
		return queue.Delivery{}, false, b.fault(op, name, err, fault.NothingHappened)
	case opened:
		waiting, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	m, err := b.await(ctx, waiting, l, in)
	switch {
	case m != nil:
		return incoming(m), true, nil
	case errors.Is(err, errOver):
		return queue.Delivery{}, false, nil
	}
	return queue.Delivery{}, false, b.fault(op, name, err, fault.MayHaveHappened)
}

// await waits on the link, and on the next one when it is lost, until there is a message or an error, which is
// errOver when waiting is over. It gives the link's turn back.
func (b *Bus) await(ctx, waiting context.Context, l *line, in *inlet) (*azservicebus.ReceivedMessage, error) {
	for losses := 1; ; losses++ {
		m, err := l.next(waiting, in)
		broken := err != nil && (lost(waiting, err) || verdict(err) == conflict)
		if broken {
			l.reset(ctx, in)
		}
		in.turn.give()
		switch {
		case m != nil:
			return m, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case waiting.Err() != nil:
			return nil, errOver
		case !broken || losses == mostLosses:
			return nil, err
		}
		if l, in, _, err = b.inlet(ctx, waiting, in.place); err != nil {
			return nil, err
		}
	}
}

// next waits on the link until ctx is over, which is errOver. A session is renewed now and then.
func (l *line) next(ctx context.Context, in *inlet) (*azservicebus.ReceivedMessage, error) {
	for {
		if err := l.keepSession(ctx, in); err != nil {
			return nil, err
		}
		var got []*azservicebus.ReceivedMessage
		err := l.within(ctx, l.bus.limits.renew, func(ctx context.Context) (err error) {
			got, err = in.receiver.ReceiveMessages(ctx, 1, nil)
			return err
		})
		switch {
		case len(got) > 0:
			l.hold(in, got[0])
			return got[0], nil
		case err == nil || l.isGone():
			return nil, errGone // the SDK does not say why it returned nothing
		case ctx.Err() != nil:
			return nil, errOver
		case !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
	}
}

// keepSession renews a session that was received from before.
func (l *line) keepSession(ctx context.Context, in *inlet) error {
	r, ok := in.receiver.(*azservicebus.SessionReceiver)
	if !ok || !in.waited {
		in.waited = true
		return nil
	}
	if err := in.settling.take(ctx); err != nil {
		return err
	}
	defer in.settling.give()
	return l.within(ctx, l.bus.limits.settle, func(ctx context.Context) error { return r.RenewSessionLock(ctx, nil) })
}
