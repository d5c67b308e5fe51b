package broker

import (
	"bytes"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"prowgate/shared/queue"
)

// Limits of a message, those of Service Bus Standard.
const (
	MaxBody = 256 << 10 // bytes
	MaxID   = 128       // characters, of a message id and of a session id
)

// Send stores the message. One whose id was already sent within the queue's duplicate window is
// dropped and reported as success, whatever has become of the first: scheduled, received or done.
func (b *Broker) Send(ctx context.Context, name string, m queue.Message) error {
	const op = "send"
	l, now, err := b.enter(ctx, op, name)
	if err != nil {
		return err
	}
	defer b.mu.Unlock()
	if text := l.objection(m); text != "" {
		return refused(op, name+": "+text)
	}
	remembers := l.cfg.DuplicateWindow > 0 && m.ID != ""
	stale := l.seen.forget(now)
	if remembers && l.seen.has(m.ID, now) {
		return nil
	}
	b.sequence++ // a number is never used twice, also when the write fails
	it := l.newItem(m, b.sequence, now)
	w := arrival{item: it, queue: name, now: now, prune: stale}
	if remembers {
		w.remember = now.Add(l.cfg.DuplicateWindow)
	}
	if err := b.journal.insert(w); err != nil {
		return err
	}
	if remembers {
		l.seen.add(m.ID, w.remember)
	}
	l.attach(it, now)
	return nil
}

// objection returns why the queue cannot take the message, empty when it can.
func (l *line) objection(m queue.Message) string {
	switch {
	case len(m.Body) > MaxBody:
		return fmt.Sprintf("the body has %d bytes, more than %d", len(m.Body), MaxBody)
	case utf8.RuneCountInString(m.ID) > MaxID:
		return fmt.Sprintf("the message id is longer than %d characters", MaxID)
	case utf8.RuneCountInString(m.SessionID) > MaxID:
		return fmt.Sprintf("the session id is longer than %d characters", MaxID)
	case l.cfg.Sessions && m.SessionID == "":
		return "the queue has sessions and the message names none"
	case m.TTL < 0:
		return "the time-to-live is negative"
	}
	return ""
}

func (l *line) newItem(m queue.Message, seq int64, now time.Time) *item {
	m.Body = bytes.Clone(m.Body)
	if m.ContentType == "" {
		m.ContentType = queue.ContentType
	}
	it := &item{m: m, seq: seq, available: now}
	if m.ScheduledAt.After(now) {
		it.available = m.ScheduledAt.UTC()
	}
	if ttl := shorter(m.TTL, l.cfg.DefaultTTL); ttl > 0 {
		it.expires = it.available.Add(ttl) // a scheduled message begins to age when it is due
	}
	return it
}

// shorter returns the smaller of two durations of which 0 means unlimited.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
