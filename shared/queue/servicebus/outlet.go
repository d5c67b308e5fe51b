package servicebus

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// turn lets one goroutine at a time use something.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

// outlet is a link for sending to one queue. Whoever has its turn may use the rest.
type outlet struct {
	queue  string
	turn   turn
	sender *azservicebus.Sender // nil until it is open
}

// Send sends; see queue.Sender. Nothing was sent when the link to the queue could not be opened.
func (b *Bus) Send(ctx context.Context, name string, m queue.Message) error {
	const op = "send"
	if text := objection(m); text != "" {
		return &fault.Error{Kind: fault.Refused, Op: op, Text: name + ": " + text, Err: fault.ErrContent}
	}
	l, o, err := b.outlet(ctx, name)
	if err != nil {
		return b.fault(op, name, err, fault.NothingHappened)
	}
	defer o.turn.give()
	err = l.within(ctx, b.limits.send, func(ctx context.Context) error {
		return o.sender.SendMessage(ctx, outgoing(m), nil)
	})
	if err == nil {
		return nil
	}
	if lost(ctx, err) {
		b.drop(ctx, l)
	}
	return b.fault(op, name, err, fault.MayHaveHappened)
}

// outlet returns the open link for sending to the queue, which is the caller's until it gives the turn back.
func (b *Bus) outlet(ctx context.Context, name string) (*line, *outlet, error) {
	for {
		l, fresh, err := b.connected()
		if err != nil {
			return nil, nil, err
		}
		o := l.outlet(name)
		if err := o.turn.take(ctx); err != nil {
			return nil, nil, err
		}
		if err = l.openOutlet(ctx, o); err == nil {
			return l, o, nil
		}
		o.turn.give()
		if !b.again(ctx, l, fresh, err) {
			return nil, nil, err
		}
	}
}

// again drops a connection on which no link could be opened, and says whether to try with another: only one
// that was kept may have been dead already.
func (b *Bus) again(ctx context.Context, l *line, fresh bool, err error) bool {
	if !lost(ctx, err) {
		return false
	}
	b.drop(ctx, l)
	return !fresh && ctx.Err() == nil
}

// outlet finds the link for sending to the queue, open or not.
func (l *line) outlet(name string) *outlet {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.outlets[name]
	if !ok {
		o = &outlet{queue: name, turn: newTurn()}
		l.outlets[name] = o
	}
	return o
}

// openOutlet opens the link unless it is open. Asking for a batch is what makes the SDK open it without
// sending anything.
func (l *line) openOutlet(ctx context.Context, o *outlet) error {
	if l.isGone() {
		return errGone // while its turn was waited for
	}
	if o.sender != nil {
		return nil
	}
	return l.within(ctx, l.bus.limits.open, func(ctx context.Context) error {
		if err := l.bus.token(ctx); err != nil {
			return err
		}
		s, err := l.client.NewSender(o.queue, nil)
		if err != nil {
			return err
		}
		if _, err = s.NewMessageBatch(ctx, nil); err != nil {
			_ = s.Close(ctx) // it never came about
			return err
		}
		o.sender = s
		return nil
	})
}
