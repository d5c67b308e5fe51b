package broker

import (
	"bytes"
	"time"

	"prowgate/shared/queue"
)

// item is one message in the broker.
type item struct {
	m           queue.Message
	seq         int64
	available   time.Time // when it was, or will be, ready to be received: its place in the queue
	expires     time.Time // zero: never
	deliveries  int
	lock        string // empty when not locked
	lockedUntil time.Time
	reason      string
	text        string
	index       [roles]int
}

// line is one queue. Every item is in items, and in exactly one of scheduled, ready and locked; those
// that can expire and are not locked are in expiry as well.
type line struct {
	cfg       QueueConfig
	dead      *line // nil for a dead-letter queue
	items     map[int64]*item
	scheduled *pile
	ready     map[string]*pile // by session, under "" in a queue without sessions; no empty piles
	locked    *pile
	locks     map[string]*item // by lock token
	held      map[string]bool  // sessions of which a message is locked
	expiry    *pile
	seen      memory
	wake      chan struct{} // nil when nobody waits; see waker
}

func newLine(cfg QueueConfig) *line {
	return &line{
		cfg:       cfg,
		items:     map[int64]*item{},
		scheduled: &pile{less: byPlace, role: roleState},
		ready:     map[string]*pile{},
		locked:    &pile{less: byLockEnd, role: roleState},
		locks:     map[string]*item{},
		held:      map[string]bool{},
		expiry:    &pile{less: byExpiry, role: roleExpiry},
		seen:      memory{until: map[string]time.Time{}},
	}
}

// session returns the key of the item's ready pile.
func (l *line) session(it *item) string {
	if l.cfg.Sessions {
		return it.m.SessionID
	}
	return ""
}

// attach puts an unlocked item where it belongs at the given time.
func (l *line) attach(it *item, now time.Time) {
	it.index = [roles]int{-1, -1}
	l.items[it.seq] = it
	if !it.expires.IsZero() {
		l.expiry.put(it)
	}
	if it.available.After(now) {
		l.scheduled.put(it)
	} else {
		l.makeReady(it)
	}
	l.notify()
}

func (l *line) makeReady(it *item) {
	key := l.session(it)
	if l.ready[key] == nil {
		l.ready[key] = &pile{less: byPlace, role: roleState}
	}
	l.ready[key].put(it)
}

func (l *line) unready(it *item) {
	key := l.session(it)
	if p := l.ready[key]; p != nil {
		if p.drop(it); p.Len() == 0 {
			delete(l.ready, key)
		}
	}
}

// detach takes the item out of the queue, whatever its state.
func (l *line) detach(it *item) {
	if it.lock != "" {
		l.unlock(it)
	} else {
		l.scheduled.drop(it)
		l.unready(it)
	}
	l.expiry.drop(it)
	delete(l.items, it.seq)
	l.notify() // the next message of its session may be free now
}

// take locks a ready item.
func (l *line) take(it *item, lock string, until time.Time) {
	l.unready(it)
	l.expiry.drop(it) // a message does not expire under a receiver's hands
	it.lock, it.lockedUntil = lock, until
	l.locked.put(it)
	l.locks[lock] = it
	if l.cfg.Sessions {
		l.held[it.m.SessionID] = true
	}
}

// unlock ends the item's lock and leaves it in no state pile.
func (l *line) unlock(it *item) {
	l.locked.drop(it)
	delete(l.locks, it.lock)
	delete(l.held, it.m.SessionID)
	it.lock, it.lockedUntil = "", time.Time{}
}

// head returns the next item that a receiver of the session would get, nil when there is none. While
// a message of a session is locked the session belongs to that receiver.
func (l *line) head(session string) *item {
	if l.held[session] {
		return nil
	}
	return l.ready[session].top()
}

// waker returns a channel that is closed when something may have become ready.
func (l *line) waker() <-chan struct{} {
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake
}

func (l *line) notify() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// delivery shows the item to a receiver; the body is the receiver's own.
func (it *item) delivery() queue.Delivery {
	m := it.m
	m.Body = bytes.Clone(m.Body)
	return queue.Delivery{
		Message: m, Lock: it.lock, Sequence: it.seq, DeliveryCount: it.deliveries,
		EnqueuedAt: it.available, LockedUntil: it.lockedUntil, DeadReason: it.reason, DeadText: it.text,
	}
}
