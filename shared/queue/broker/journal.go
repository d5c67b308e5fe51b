package broker

import "time"

// journal keeps what must survive the process. Each method is one atomic write; its error is a fault:
// NothingHappened when the write surely did not take place, MayHaveHappened when only its commit
// failed. The broker changes its memory after the write, and not at all when that failed: a change
// that did take place shows up again as a second delivery at worst. Locks are not kept.
type journal interface {
	insert(a arrival) error
	delivered(seq int64, count int) error
	remove(seq int64) error
	move(m burial) error
}

// arrival is a new message.
type arrival struct {
	item     *item
	queue    string
	now      time.Time
	remember time.Time // how long duplicates of its id are dropped; zero: they are not
	prune    bool      // ids whose time is over may be removed
}

// burial is a move to a dead-letter queue.
type burial struct {
	seq    int64
	queue  string
	at     time.Time
	reason string
	text   string
}

// nothing is the journal of a broker in memory.
type nothing struct{}

func (nothing) insert(arrival) error       { return nil }
func (nothing) delivered(int64, int) error { return nil }
func (nothing) remove(int64) error         { return nil }
func (nothing) move(burial) error          { return nil }
