// Package broker is the embedded message broker of the local host and of the simulator. It behaves as
// Azure Service Bus does where prowgate relies on it: peek-lock, scheduled messages, duplicate
// detection, sessions, time-to-live, delivery counts and dead-letter queues.
//
// The core is a deterministic structure in memory that starts no goroutine and reads time only from
// the clock it was given; nothing happens between two calls. Only Receive and ReceiveAndDelete use
// timers, and only when they are asked to wait. With Open every change is written to SQLite before it
// can be seen.
//
// Entry points: New for memory alone, Open for memory in front of a file.
package broker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

var (
	_ queue.Sender   = (*Broker)(nil)
	_ queue.Receiver = (*Broker)(nil)
)

// Defaults of a QueueConfig, those of Service Bus.
const (
	DefaultLockDuration  = time.Minute
	DefaultMaxDeliveries = 10
)

// QueueConfig describes one queue. Its dead-letter queue, <Name>/$deadletterqueue, comes with it: that
// one has no sessions, no duplicate detection, no time-to-live and no limit of deliveries.
type QueueConfig struct {
	Name               string
	LockDuration       time.Duration // DefaultLockDuration when 0
	MaxDeliveries      int           // DefaultMaxDeliveries when 0
	DuplicateWindow    time.Duration // how long a message id is remembered; 0: no duplicate detection
	Sessions           bool          // every message needs a session id, every receiver names one
	DefaultTTL         time.Duration // also the longest a message may ask for; 0: messages do not expire
	DeadLetterOnExpiry bool          // expired messages are dead-lettered instead of dropped
}

// Config is what a broker is made of.
type Config struct {
	Clock   func() time.Time // required
	Queues  []QueueConfig    // of two with one name the later counts
	NewLock func() string    // makes lock tokens that never repeat; random UUIDs when nil
}

// Broker holds the queues. Its methods may be used by many goroutines at once; each takes effect as a
// whole or not at all, and one that has begun to write ends its write whatever becomes of ctx. Errors are faults: Refused for what can never work (a queue that does not
// exist, a message that breaks a limit), Conflict for a lock that is gone, and what the journal said
// when a change could not be written, in which case nothing has changed in memory.
type Broker struct {
	clock   func() time.Time
	newLock func() string
	journal journal

	mu       sync.Mutex
	lines    map[string]*line
	order    []*line // the same; what is done to all of them is done in this order
	sequence int64
}

// New returns a broker that keeps everything in memory and forgets it with the process.
func New(cfg Config) *Broker {
	b := &Broker{clock: cfg.Clock, newLock: cfg.NewLock, journal: nothing{}, lines: map[string]*line{}}
	if b.newLock == nil {
		b.newLock = uuid.NewString
	}
	for _, q := range cfg.Queues {
		b.add(q)
	}
	for _, name := range slices.Sorted(maps.Keys(b.lines)) {
		b.order = append(b.order, b.lines[name])
	}
	return b
}

func (b *Broker) add(cfg QueueConfig) {
	if cfg.LockDuration <= 0 {
		cfg.LockDuration = DefaultLockDuration
	}
	if cfg.MaxDeliveries <= 0 {
		cfg.MaxDeliveries = DefaultMaxDeliveries
	}
	l := newLine(cfg)
	l.dead = newLine(QueueConfig{Name: cfg.Name + queue.DeadLetter, LockDuration: cfg.LockDuration})
	b.lines[l.cfg.Name], b.lines[l.dead.cfg.Name] = l, l.dead
}

// enter takes the broker's lock and finds the queue. Without an error the caller must unlock.
func (b *Broker) enter(ctx context.Context, op, name string) (*line, time.Time, error) {
	if err := ctx.Err(); err != nil {
		return nil, time.Time{}, &fault.Error{Kind: fault.NothingHappened, Op: op, Err: err}
	}
	b.mu.Lock()
	l, ok := b.lines[name]
	if !ok {
		b.mu.Unlock()
		return nil, time.Time{}, refused(op, "there is no queue "+name)
	}
	return l, b.clock().UTC(), nil
}

func refused(op, text string) error {
	return &fault.Error{Kind: fault.Refused, Op: op, Text: text}
}
