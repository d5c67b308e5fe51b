package broker

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Reasons for which the broker itself dead-letters, the names that Service Bus uses.
const (
	ReasonDeliveries = "MaxDeliveryCountExceeded"
	ReasonExpired    = "TTLExpiredException"
)

// maxDeadText is the most characters of a dead-letter reason or text that are kept.
const maxDeadText = 1024

// advance lets everything happen that the queue's messages were waiting for until now. After an error
// what is left stays due.
func (b *Broker) advance(l *line, now time.Time) error {
	for it := l.locked.top(); it != nil && !it.lockedUntil.After(now); it = l.locked.top() {
		if err := b.release(l, it, now); err != nil {
			return err
		}
	}
	for it := l.scheduled.top(); it != nil && !it.available.After(now); it = l.scheduled.top() {
		l.scheduled.drop(it)
		l.makeReady(it)
		l.notify()
	}
	for it := l.expiry.top(); it != nil && !it.expires.After(now); it = l.expiry.top() {
		if err := b.expire(l, it, now); err != nil {
			return err
		}
	}
	return nil
}

// release ends a lock without completion: the message goes back to its place, unless its deliveries
// are used up. One that has expired meanwhile goes with the next advance.
func (b *Broker) release(l *line, it *item, now time.Time) error {
	if l.dead != nil && it.deliveries >= l.cfg.MaxDeliveries {
		text := fmt.Sprintf("the message was delivered %d times without being completed", it.deliveries)
		return b.bury(l, it, ReasonDeliveries, text, now)
	}
	l.unlock(it)
	l.attach(it, now)
	return nil
}

func (b *Broker) expire(l *line, it *item, now time.Time) error {
	if l.cfg.DeadLetterOnExpiry {
		return b.bury(l, it, ReasonExpired, "the message was not received in its time-to-live", now)
	}
	if err := b.journal.remove(it.seq); err != nil {
		return err
	}
	l.detach(it)
	return nil
}

// bury moves the item to the end of the dead-letter queue. It keeps its number and delivery count.
func (b *Broker) bury(l *line, it *item, reason, text string, now time.Time) error {
	reason, text = clip(reason), clip(text)
	if err := b.journal.move(burial{it.seq, l.dead.cfg.Name, now, reason, text}); err != nil {
		return err
	}
	l.detach(it)
	it.available, it.expires, it.reason, it.text = now, time.Time{}, reason, text
	l.dead.attach(it, now)
	return nil
}

// clip cuts a text to maxDeadText characters.
func clip(s string) string {
	if utf8.RuneCountInString(s) <= maxDeadText {
		return s
	}
	return string([]rune(s)[:maxDeadText])
}
