package broker

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"prowgate/shared/queue/queuetest"
	"prowgate/shared/sqlitedb"
)

// hands is a clock that moves only when it is told to.
type hands struct {
	mu sync.Mutex
	at time.Time
}

func newHands() *hands {
	return &hands{at: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
}

func (h *hands) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *hands) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

const (
	lockDuration = 30 * time.Second
	window       = 10 * time.Minute
)

func testConfig(h *hands) Config {
	return Config{Clock: h.now, Queues: []QueueConfig{
		{Name: "plain", LockDuration: lockDuration, MaxDeliveries: 3},
		{Name: "dup", LockDuration: lockDuration, DuplicateWindow: window},
		{Name: "session", LockDuration: lockDuration, Sessions: true, DefaultTTL: 24 * time.Hour},
		{Name: "expiring", LockDuration: lockDuration, DefaultTTL: time.Minute, DeadLetterOnExpiry: true},
	}}
}

func harness(b *Broker, h *hands) queuetest.Harness {
	return queuetest.Harness{
		Sender: b, Receiver: b, Plain: "plain", Duplicates: "dup", Sessions: "session",
		Now: h.now, Advance: h.advance, LockDuration: lockDuration, MaxDeliveries: 3, DuplicateWindow: window,
	}
}

func openFile(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openBroker(t testing.TB, db *sql.DB, h *hands) *Broker {
	t.Helper()
	b, err := Open(db, testConfig(h))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSuiteInMemory(t *testing.T) {
	queuetest.Run(t, func(*testing.T) queuetest.Harness {
		h := newHands()
		return harness(New(testConfig(h)), h)
	})
}

func TestSuiteOnSQLite(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		h := newHands()
		return harness(openBroker(t, openFile(t, filepath.Join(t.TempDir(), "data.db")), h), h)
	})
}
