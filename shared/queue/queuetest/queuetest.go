// Package queuetest is the one suite that every implementation of a queue passes: the broker in memory
// and on SQLite, its HTTP face, and the adapters of foreign queues. It also holds Flaky, a sender that
// fails before or after the work.
//
// Entry point: Run, with a function that opens a fresh Harness for each check.
package queuetest

import (
	"context"
	"testing"
	"time"

	"prowgate/shared/queue"
)

// Harness is one fresh set of empty queues under test. What an implementation cannot do is left empty
// here, and the checks that need it are skipped with that reason.
type Harness struct {
	Sender   queue.Sender
	Receiver queue.Receiver

	Plain      string // a queue with neither duplicate detection nor sessions
	Duplicates string // one with duplicate detection
	Sessions   string // one with sessions

	Now     func() time.Time    // the queues' clock; time.Now when nil
	Advance func(time.Duration) // lets that much time pass on it

	LockDuration    time.Duration // of Plain
	MaxDeliveries   int           // of Plain
	DuplicateWindow time.Duration // of Duplicates

	Patience time.Duration // how long a message that is there may take to arrive; 0 with a clock of its own
	Quiet    time.Duration // how long to listen before "nothing came" is believed

	// Lacks names capabilities that the implementation does not have, each with the reason.
	Lacks map[Capability]string
}

// Capability is something that not every implementation can do.
type Capability string

// The capabilities that a Harness may lack.
const (
	Order             Capability = "messages in the order of their arrival"
	DeadLetterQueue   Capability = "receive from <queue>/$deadletterqueue"
	DeadLetterReason  Capability = "say why a message was dead-lettered"
	TimeToLive        Capability = "time-to-live of a message"
	Scheduling        Capability = "scheduled messages"
	CorrelationID     Capability = "correlation id"
	LockTokens        Capability = "conflict when an old lock settles"
	RefuseNoSession   Capability = "refuse a message without session"
	RefuseTooLarge    Capability = "refuse a body above 256 KB before sending"
	Supplementary     Capability = "characters beyond U+FFFF"
	DuplicateLifetime Capability = "remember an id after its message is done"
)

// check is one property of queues. It skips itself through need.
type check struct {
	name string
	run  func(*bench)
}

func checks() []check {
	return []check{
		{"empty queue gives nothing", emptyGivesNothing},
		{"send, receive, complete", sendReceiveComplete},
		{"order is kept", orderKept},
		{"body and properties arrive intact", intact},
		{"the sender's trace arrives", traceArrives},
		{"hostile bodies and ids arrive intact", hostileContent},
		{"characters beyond U+FFFF arrive intact", supplementary},
		{"control characters in an id arrive or are refused", controlCharacters},
		{"the largest body arrives intact", largest},
		{"queues are apart", queuesApart},
		{"a body above the limit is refused", tooLarge},
		{"scheduled: not before its time", scheduledNotBefore},
		{"scheduled: in order of time", scheduledInOrder},
		{"scheduled in the past is due at once", scheduledInThePast},
		{"duplicate is dropped", duplicateDropped},
		{"duplicate of a scheduled message is dropped", duplicateOfScheduled},
		{"duplicate after completion is dropped within the window", duplicateAfterCompletion},
		{"duplicate after the window is accepted", duplicateAfterWindow},
		{"same id in a plain queue is delivered twice", sameIDInPlain},
		{"abandon: redelivered with count", abandonRedelivers},
		{"abandon: redelivered before what came later", abandonKeepsItsPlace},
		{"lock expiry: redelivered with count", lockExpiryRedelivers},
		{"a locked message is nobody else's", lockedIsHidden},
		{"settling with an old lock is a conflict without effect", oldLock},
		{"settling twice is a conflict", settleTwice},
		{"renew keeps the lock", renewKeeps},
		{"too many deliveries: dead-letter with reason", deadLetterByCount},
		{"sessions are isolated", sessionsIsolated},
		{"a session is received in order", sessionInOrder},
		{"a session is required", sessionRequired},
		{"time-to-live", timeToLive},
		{"each message reaches one of eight receivers", competingReceivers},
		{"lost answer, repeated send: delivered once", lostAnswer},
		{"refused connection, repeated send: delivered once", failedBefore},
		{"cancelled context: no send, no receive", cancelledContext},
	}
}

// Run runs every check against a fresh harness each. An implementation has every capability that its harness
// does not name in Lacks: a check of one that it has not fails, and one that it lacks is skipped with the reason.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{T: t, Harness: open(t), ctx: t.Context()}
			for capability, why := range b.Lacks {
				if why == "" {
					t.Errorf("no reason why this lacks %q", capability)
				}
			}
			c.run(b)
		})
	}
}

// bench is what a check works with.
type bench struct {
	*testing.T
	Harness
	ctx context.Context
}

// need skips the check when the harness lacks one of the capabilities.
func (b *bench) need(cs ...Capability) {
	b.Helper()
	for _, c := range cs {
		if why, lacks := b.Lacks[c]; lacks {
			b.Skipf("not supported: %s: %s", c, why)
		}
	}
}

// needQueue skips the check when the harness has no such queue.
func (b *bench) needQueue(name, kind string) {
	b.Helper()
	if name == "" {
		b.Skipf("not supported: no %s", kind)
	}
}

// needTime skips the check when the harness cannot let time pass.
func (b *bench) needTime() {
	b.Helper()
	if b.Advance == nil {
		b.Skip("not supported: the test cannot move this queue's clock")
	}
}

func (b *bench) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}

func (b *bench) send(name string, m queue.Message) {
	b.Helper()
	if err := b.Sender.Send(b.ctx, name, m); err != nil {
		b.Fatalf("send %q to %s: %v", m.ID, name, err)
	}
}

// receive returns the next message of a queue without sessions; it must be there.
func (b *bench) receive(name string) queue.Delivery {
	b.Helper()
	return b.receiveIn(name, "")
}

func (b *bench) receiveIn(name, session string) queue.Delivery {
	b.Helper()
	d, ok, err := b.Receiver.Receive(b.ctx, name, session, b.Patience)
	if err != nil || !ok {
		b.Fatalf("receive from %s %s: ok %t, error %v; want a message", name, session, ok, err)
	}
	return d
}

// take receives and completes the next message, which must be the one with that id.
func (b *bench) take(name, id string) queue.Delivery {
	b.Helper()
	d := b.receive(name)
	if d.ID != id {
		b.Fatalf("received %q from %s, want %q", d.ID, name, id)
	}
	b.complete(name, d)
	return d
}

func (b *bench) complete(name string, d queue.Delivery) {
	b.Helper()
	if err := b.Receiver.Complete(b.ctx, name, d); err != nil {
		b.Fatalf("complete %q: %v", d.ID, err)
	}
}

func (b *bench) abandon(name string, d queue.Delivery) {
	b.Helper()
	if err := b.Receiver.Abandon(b.ctx, name, d); err != nil {
		b.Fatalf("abandon %q: %v", d.ID, err)
	}
}

// none asserts that the queue has nothing to give.
func (b *bench) none(name string) {
	b.Helper()
	b.noneIn(name, "")
}

func (b *bench) noneIn(name, session string) {
	b.Helper()
	d, ok, err := b.Receiver.Receive(b.ctx, name, session, b.Quiet)
	if err != nil || ok {
		b.Fatalf("receive from %s %s: got %q, error %v; want nothing", name, session, d.ID, err)
	}
}

func text(id string) queue.Message {
	return queue.Message{ID: id, Body: []byte(`{"id":"` + id + `"}`)}
}
