package broker

import (
	"context"
	"fmt"
	"time"

	"prowgate/shared/fault"
)

// Discard removes one message for good by its number, whatever its place in the queue; it is made for
// people who have looked at it with Peek. A message that is not there, or that a receiver holds, is a
// fault of kind Conflict.
func (b *Broker) Discard(ctx context.Context, name string, sequence int64) error {
	const op = "discard"
	l, now, err := b.enter(ctx, op, name)
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if err := b.advance(l, now); err != nil {
		return err
	}
	it, ok := l.items[sequence]
	switch {
	case !ok:
		return conflict(op, fmt.Sprintf("%s: there is no message %d any more", name, sequence))
	case it.lock != "":
		return conflict(op, fmt.Sprintf("%s: a receiver holds message %d until %s", name, sequence, it.lockedUntil.Format(time.TimeOnly)))
	}
	if err := b.journal.remove(sequence); err != nil {
		return err
	}
	l.detach(it)
	return nil
}

func conflict(op, text string) error {
	return &fault.Error{Kind: fault.Conflict, Op: op, Text: text}
}
