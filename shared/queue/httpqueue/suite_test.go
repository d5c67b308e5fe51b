package httpqueue_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/httpqueue"
	"prowgate/shared/queue/queuetest"
	"prowgate/shared/sqlitedb"
)

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

func testConfig(h *hands) broker.Config {
	return broker.Config{Clock: h.now, Queues: []broker.QueueConfig{
		{Name: "plain", LockDuration: 30 * time.Second, MaxDeliveries: 3},
		{Name: "dup", DuplicateWindow: 10 * time.Minute},
		{Name: "session", Sessions: true},
	}}
}

// serve starts the handler and returns a client of it.
func serve(t testing.TB, handler http.Handler) (*httpqueue.Client, *url.URL) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := httpqueue.New(base, nil)
	t.Cleanup(func() { _ = client.Close(t.Context()) })
	return client, base
}

func harness(c *httpqueue.Client, h *hands) queuetest.Harness {
	return queuetest.Harness{
		Sender: c, Receiver: c, Plain: "plain", Duplicates: "dup", Sessions: "session",
		Now: h.now, Advance: h.advance,
		LockDuration: 30 * time.Second, MaxDeliveries: 3, DuplicateWindow: 10 * time.Minute,
	}
}

func TestSuiteOverHTTP(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		h := newHands()
		client, _ := serve(t, httpqueue.Handler(broker.New(testConfig(h))))
		return harness(client, h)
	})
}

func TestSuiteOverHTTPOnSQLite(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		h := newHands()
		db, err := sqlitedb.Open(filepath.Join(t.TempDir(), "data.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		b, err := broker.Open(db, testConfig(h))
		if err != nil {
			t.Fatal(err)
		}
		client, _ := serve(t, httpqueue.Handler(b))
		return harness(client, h)
	})
}
