// Package queue holds what every queue of prowgate has in common: the message, the delivery, and the
// two faces of a queue, sending and receiving. Adapters live in the packages below it; queuetest is
// the one suite that all of them pass.
//
// Entry point: Message.
package queue

import (
	"context"
	"time"
)

// ContentType is the content type of every message body of prowgate.
const ContentType = "application/json"

// DeadLetter is the suffix that makes the name of a queue's dead-letter queue.
const DeadLetter = "/$deadletterqueue"

// Message is what a sender hands over.
type Message struct {
	ID            string        // at most 128 characters; queues with duplicate detection drop a repeated one
	SessionID     string        // required by queues with sessions
	CorrelationID string        // free
	ContentType   string        // ContentType when empty
	Trace         string        // the sender's W3C traceparent, for whoever traces; empty means none
	Body          []byte        // at most 256 KB
	ScheduledAt   time.Time     // not delivered before; zero or past means now
	TTL           time.Duration // dropped when not received in time; 0 means the queue's default
}

// Delivery is a message as a receiver holds it.
type Delivery struct {
	Message
	Lock          string // names this delivery when it is settled; empty for receive-and-delete
	Sequence      int64  // the broker's number of the message, in order of arrival
	DeliveryCount int    // 1 at the first delivery
	EnqueuedAt    time.Time
	LockedUntil   time.Time
	DeadReason    string // only in a dead-letter queue: why it was put there
	DeadText      string
}

// Sender sends. A nil error means that the broker has stored the message (or dropped it as a
// duplicate of one it has stored). Errors carry a fault kind; a send that MayHaveHappened is safe to
// repeat with the same message id. Senders may be used by many goroutines at once.
type Sender interface {
	Send(ctx context.Context, queue string, m Message) error
}

// Receiver receives under a lock that lasts until it expires or the delivery is settled. Settling a
// delivery whose lock is gone is a fault of kind Conflict.
type Receiver interface {
	// Receive waits up to wait for a message; ok is false when none came. An empty session receives
	// from queues without sessions; queues with sessions need one.
	Receive(ctx context.Context, queue, session string, wait time.Duration) (d Delivery, ok bool, err error)
	// Complete removes the message for good.
	Complete(ctx context.Context, queue string, d Delivery) error
	// Abandon gives the message back for redelivery at once; after the queue's maximum number of
	// deliveries it goes to the dead-letter queue.
	Abandon(ctx context.Context, queue string, d Delivery) error
	// Renew makes the lock last for the queue's lock duration from now and returns its new end.
	Renew(ctx context.Context, queue string, d Delivery) (time.Time, error)
}
