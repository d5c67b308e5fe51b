package servicebus

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"prowgate/shared/queue"
)

// place is what a link for receiving is for.
type place struct {
	queue   string
	session string
	byToken bool // nothing is received: it settles what another link, or another process, received
}

// receiver is what the SDK's two receivers have in common.
type receiver interface {
	ReceiveMessages(context.Context, int, *azservicebus.ReceiveMessagesOptions) ([]*azservicebus.ReceivedMessage, error)
	CompleteMessage(context.Context, *azservicebus.ReceivedMessage, *azservicebus.CompleteMessageOptions) error
	AbandonMessage(context.Context, *azservicebus.ReceivedMessage, *azservicebus.AbandonMessageOptions) error
	Close(context.Context) error
}

// inlet is a link for receiving. Whoever has its turn may use the rest; settling has a turn of its own, so
// that it does not wait for a receive.
type inlet struct {
	place    place
	turn     turn
	settling turn
	receiver receiver // nil until it is open
	waited   bool     // since it was opened
}

// holding is a message that was received and not settled.
type holding struct {
	in       *inlet
	receiver receiver
	message  *azservicebus.ReceivedMessage
}

// errOver says that the time to wait was over before it was the caller's turn.
var errOver = errors.New("the wait is over")

// inlet returns the open link for the place, which is the caller's until it gives the turn back; opened
// says that it was opened just now. Its turn, and a session that another receiver holds, are waited for as
// long as waiting lasts.
func (b *Bus) inlet(ctx, waiting context.Context, p place) (l *line, in *inlet, opened bool, err error) {
	over := errOver
	for {
		l, fresh, err := b.connected()
		if err != nil {
			return nil, nil, false, err
		}
		in := l.inlet(p)
		if err := in.turn.take(waiting); err != nil {
			if ctx.Err() == nil {
				err = over
			}
			return nil, nil, false, err
		}
		opened := in.receiver == nil
		if err = l.openInlet(ctx, in); err == nil {
			return l, in, opened, nil
		}
		in.turn.give()
		if p.session != "" && verdict(err) == conflict && pause(waiting, b.limits.pause) {
			over = err // whoever waited for nothing hears why
			continue
		}
		if !b.again(ctx, l, fresh, err) {
			return nil, nil, false, err
		}
	}
}

// pause returns false when ctx is over first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// inlet finds the link for the place, open or not.
func (l *line) inlet(p place) *inlet {
	l.mu.Lock()
	defer l.mu.Unlock()
	in, ok := l.inlets[p]
	if !ok {
		in = &inlet{place: p, turn: newTurn(), settling: newTurn()}
		l.inlets[p] = in
	}
	return in
}

// openInlet opens the link unless it is open.
func (l *line) openInlet(ctx context.Context, in *inlet) error {
	if l.isGone() {
		return errGone // while its turn was waited for
	}
	if in.receiver != nil {
		return nil
	}
	return l.within(ctx, l.bus.limits.open, func(ctx context.Context) error {
		if err := l.bus.token(ctx); err != nil {
			return err
		}
		r, err := l.openReceiver(ctx, in.place)
		if err == nil {
			in.receiver, in.waited = r, false
		}
		return err
	})
}

// openReceiver opens the SDK's receiver. Looking at the messages beyond the last is what makes the SDK open
// the link of a queue without sessions.
func (l *line) openReceiver(ctx context.Context, p place) (receiver, error) {
	if p.session != "" {
		r, err := l.client.AcceptSessionForQueue(ctx, p.queue, p.session, nil)
		if err != nil {
			return nil, err // and not r, which would be an interface that is not nil
		}
		return r, nil
	}
	name, options := p.queue, &azservicebus.ReceiverOptions{}
	if at := len(name) - len(queue.DeadLetter); at > 0 && strings.EqualFold(name[at:], queue.DeadLetter) {
		name, options.SubQueue = name[:at], azservicebus.SubQueueDeadLetter
	}
	r, err := l.client.NewReceiverForQueue(name, options)
	if err != nil {
		return nil, err
	}
	beyond := int64(math.MaxInt64)
	if _, err := r.PeekMessages(ctx, 1, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &beyond}); err != nil {
		_ = r.Close(ctx) // it never came about
		return nil, err
	}
	return r, nil
}

// reset gives up a link that was lost, and with it the holdings: what can still be settled is settled by its
// token. Only whoever has the turn may do this.
func (l *line) reset(ctx context.Context, in *inlet) {
	old := in.receiver
	in.receiver = nil
	l.mu.Lock()
	for key, h := range l.held {
		if h.receiver == old {
			delete(l.held, key)
		}
	}
	l.mu.Unlock()
	_ = l.limited(context.WithoutCancel(ctx), l.bus.limits.close, old.Close) // there is nothing left that could be saved
}
