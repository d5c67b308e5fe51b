package broker

import (
	"context"
	"slices"
	"time"

	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

// Counts returns how many messages the queue has in each state. Its only Refused error is that of a
// queue that does not exist.
func (b *Broker) Counts(ctx context.Context, name string) (depth.Counts, error) {
	l, now, err := b.enter(ctx, "count", name)
	if err != nil {
		return depth.Counts{}, err
	}
	defer b.mu.Unlock()
	if err := b.advance(l, now); err != nil {
		return depth.Counts{}, err
	}
	c := depth.Counts{Scheduled: l.scheduled.Len(), Locked: l.locked.Len()}
	c.Active = len(l.items) - c.Scheduled - c.Locked
	if l.dead != nil {
		c.DeadLettered = len(l.dead.items)
	}
	return c, nil
}

// Peek returns up to limit messages in any state with a sequence number above after, in order of that
// number, and changes none of them. It is made for people: it looks at every message of the queue.
func (b *Broker) Peek(ctx context.Context, name string, after int64, limit int) ([]queue.Delivery, error) {
	l, now, err := b.enter(ctx, "peek", name)
	if err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	if err := b.advance(l, now); err != nil {
		return nil, err
	}
	var numbers []int64
	for n := range l.items {
		if n > after {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var found []queue.Delivery
	for _, n := range numbers[:min(max(limit, 0), len(numbers))] {
		d := l.items[n].delivery()
		d.Lock = "" // looking at a message gives no power over it
		found = append(found, d)
	}
	return found, nil
}

// NextEvent returns when the broker's state next changes by itself: a message becomes due or expires,
// or a lock ends. ok is false when it never will. It lets a driver of virtual time jump from one
// event to the next; what is due already has happened when it returns, so the time lies in the future
// unless the journal fails.
func (b *Broker) NextEvent() (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock().UTC()
	for _, l := range b.order {
		// A failed write leaves its event due, which is what the result then says.
		_ = b.advance(l, now)
	}
	for _, l := range b.order {
		for _, t := range l.events() {
			if !ok || t.Before(at) {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

func (l *line) events() []time.Time {
	var at []time.Time
	if it := l.scheduled.top(); it != nil {
		at = append(at, it.available)
	}
	if it := l.locked.top(); it != nil {
		at = append(at, it.lockedUntil)
	}
	if it := l.expiry.top(); it != nil {
		at = append(at, it.expires)
	}
	return at
}
