// Package servicebus sends and receives through Azure Service Bus.
//
// Entry point: New, with the value of QUEUE_URL: a namespace, sb://<namespace>.servicebus.windows.net, that
// is used as an Azure identity, or a connection string of a namespace.
//
// The SDK repeats a call on its own only when the link was detached under it; everything else is reported
// once and left to the caller. One connection is kept and replaced after a loss, with a link for each queue
// that is sent to or received from. Every call to the SDK has a deadline of its own, for some of the SDK's
// calls have none; one that does not keep it loses its connection.
package servicebus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"prowgate/shared/queue"
)

var (
	_ queue.Sender   = (*Bus)(nil)
	_ queue.Receiver = (*Bus)(nil)
)

// limits are how long the parts of a call may take.
type limits struct {
	open   time.Duration // connecting and opening a link
	token  time.Duration // getting a token, while a link is opened or in the background
	send   time.Duration
	settle time.Duration // completing, abandoning, renewing
	close  time.Duration
	grace  time.Duration // what a call may take beyond its limit before its connection is cut
	renew  time.Duration // how often a session is renewed while waiting; a lock lasts a minute or more
	pause  time.Duration // between two attempts at a session that somebody else holds
}

func defaultLimits() limits {
	return limits{
		open: 20 * time.Second, token: 15 * time.Second, send: 15 * time.Second, settle: 10 * time.Second,
		close: 5 * time.Second, grace: 2 * time.Second, renew: 20 * time.Second, pause: time.Second,
	}
}

// Bus is a namespace. Its methods may be used by many goroutines at once; sends to one queue go one after
// the other, as do receives from one queue or session. Errors are faults: Refused for what can never work
// (no such queue, no right, a message that breaks a limit), Conflict for a lock that is gone or a session
// that another receiver holds, NothingHappened when the broker was not reached or is busy, MayHaveHappened
// for a call whose answer is missing. No error shows a key or a token.
type Bus struct {
	target   target
	identity azcore.TokenCredential // nil with a connection string
	dial     dialer
	limits   limits

	mu     sync.Mutex
	line   *line // nil before the first call and after a loss
	closed bool
}

// New returns the namespace that raw names. It connects to nothing yet. Its error does not repeat raw.
func New(raw string) (*Bus, error) {
	t, err := parse(raw)
	if err != nil {
		return nil, err
	}
	b := &Bus{target: t, dial: t.dial, limits: defaultLimits()}
	if t.connection == "" {
		if b.identity, err = defaultIdentity(b.limits.token); err != nil {
			return nil, err
		}
	}
	if _, err := newLine(b); err != nil { // the SDK's own rules
		return nil, errors.New(b.text(err))
	}
	return b, nil
}

// Close gives up what is under way and lets go of the connection. What was received and not settled comes
// back when its lock ends.
func (b *Bus) Close(ctx context.Context) error {
	b.mu.Lock()
	l := b.line
	b.line, b.closed = nil, true
	b.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.close(ctx)
}

// connected returns the connection in use; fresh says that it was just made. It is made for real when its
// first link is opened.
func (b *Bus) connected() (l *line, fresh bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, false, errClosed
	}
	if b.line != nil && !b.line.isGone() {
		return b.line, false, nil
	}
	l, err = newLine(b)
	if err != nil {
		return nil, false, err
	}
	b.line = l
	return l, true, nil
}

// drop gives a connection up; the next call makes another.
func (b *Bus) drop(ctx context.Context, l *line) {
	b.mu.Lock()
	if b.line == l {
		b.line = nil
	}
	b.mu.Unlock()
	l.cut()
	_ = l.close(ctx) // there is nothing left that could be saved
}

// errClosed says that Close was called.
var errClosed = errors.New("the queue was closed")
