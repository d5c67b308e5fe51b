package broker

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

// reopen returns a broker on the same file as another process would find it after kill -9.
func reopen(t testing.TB, path string, h *hands) *Broker {
	t.Helper()
	return openBroker(t, openFile(t, path), h)
}

func TestEverythingSurvives(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	b := reopen(t, path, h)
	full := queue.Message{
		ID: "full", SessionID: "s", CorrelationID: "c", ContentType: "text/plain", Body: []byte("body"), TTL: time.Hour,
		ScheduledAt: h.now().Add(1500 * time.Millisecond),
	}
	send(t, b, "session", full)
	send(t, b, "dup", queue.Message{ID: "done"})
	if err := b.Complete(t.Context(), "dup", receive(t, b, "dup", "")); err != nil {
		t.Fatal(err)
	}
	send(t, b, "plain", queue.Message{ID: "dead"})
	if err := b.DeadLetter(t.Context(), "plain", receive(t, b, "plain", ""), "reason", "text"); err != nil {
		t.Fatal(err)
	}

	b = reopen(t, path, h)
	counts(t, b, "session", depth.Counts{Scheduled: 1})
	send(t, b, "dup", queue.Message{ID: "done"})
	counts(t, b, "dup", depth.Counts{})
	if d := receive(t, b, "plain"+queue.DeadLetter, ""); d.ID != "dead" || d.DeadReason != "reason" || d.DeadText != "text" {
		t.Errorf("dead-lettered message came back as %+v", d)
	}
	h.advance(1500 * time.Millisecond)
	d := receive(t, b, "session", "s")
	if diff := cmp.Diff(full, d.Message); diff != "" {
		t.Errorf("message changed (-sent +received):\n%s", diff)
	}
	if d.DeliveryCount != 1 || !d.EnqueuedAt.Equal(full.ScheduledAt) {
		t.Errorf("count %d, enqueued %v", d.DeliveryCount, d.EnqueuedAt)
	}
}

func TestLocksOfAFormerProcessAreReleased(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	var first queue.Delivery
	for n := 1; n <= 3; n++ {
		b := reopen(t, path, h)
		if n == 1 {
			send(t, b, "plain", queue.Message{ID: "m-1"})
			send(t, b, "plain", queue.Message{ID: "m-2"})
		}
		d := receive(t, b, "plain", "")
		if d.ID != "m-1" || d.DeliveryCount != n {
			t.Fatalf("process %d received %q with count %d", n, d.ID, d.DeliveryCount)
		}
		if n == 1 {
			first = d
		} else if err := b.Complete(t.Context(), "plain", first); !fault.Is(err, fault.Conflict) {
			t.Errorf("complete with a lock of a former process: %v, want a conflict", err)
		}
	}
	b := reopen(t, path, h) // the third and last delivery ended with its process
	if d := receive(t, b, "plain"+queue.DeadLetter, ""); d.ID != "m-1" || d.DeadReason != ReasonDeliveries {
		t.Errorf("dead-lettered %q with reason %q", d.ID, d.DeadReason)
	}
	if d := receive(t, b, "plain", ""); d.ID != "m-2" {
		t.Errorf("received %q, want m-2", d.ID)
	}
}

// A file of before traces gets the column that it lacks, and keeps its messages.
func TestTraceInTheFile(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	send(t, reopen(t, path, h), "plain", queue.Message{ID: "m-1"})
	if _, err := openFile(t, path).Exec(`ALTER TABLE broker_messages DROP COLUMN trace`); err != nil {
		t.Fatal(err)
	}
	send(t, reopen(t, path, h), "plain", queue.Message{ID: "m-2", Trace: "00-a-b-01"})
	b := reopen(t, path, h)
	for _, want := range []queue.Message{{ID: "m-1"}, {ID: "m-2", Trace: "00-a-b-01"}} {
		d, ok, err := b.ReceiveAndDelete(t.Context(), "plain", "", 0)
		if err != nil || !ok || d.ID != want.ID || d.Trace != want.Trace {
			t.Errorf("ok %t, %v, trace %q of %s, want %+v", ok, err, d.Trace, d.ID, want)
		}
	}
}

func TestSequenceNeverRepeats(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	last := int64(0)
	for range 3 {
		b := reopen(t, path, h)
		send(t, b, "plain", queue.Message{})
		d, ok, err := b.ReceiveAndDelete(t.Context(), "plain", "", 0)
		if err != nil || !ok || d.Sequence <= last {
			t.Fatalf("sequence %d after %d, ok %t, error %v", d.Sequence, last, ok, err)
		}
		last = d.Sequence
	}
}

func TestExpiryAndOldIDsAreGoneAfterReopening(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	b := reopen(t, path, h)
	send(t, b, "plain", queue.Message{ID: "brief", TTL: time.Second})
	send(t, b, "dup", queue.Message{ID: "old"})
	h.advance(window)
	b = reopen(t, path, h)
	counts(t, b, "plain", depth.Counts{})
	send(t, b, "dup", queue.Message{ID: "old"})
	send(t, b, "dup", queue.Message{ID: "new"})
	h.advance(window)
	send(t, b, "dup", queue.Message{ID: "newest"}) // prunes the others
	counts(t, b, "dup", depth.Counts{Active: 4})
	db := openFile(t, path)
	var rows, ids int
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM broker_messages), (SELECT count(*) FROM broker_ids)`).Scan(&rows, &ids); err != nil {
		t.Fatal(err)
	}
	if rows != 4 || ids != 1 {
		t.Errorf("the file holds %d messages and %d ids, want 4 and 1", rows, ids)
	}
}

func TestUnconfiguredQueuesStayInTheFile(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	send(t, reopen(t, path, h), "plain", queue.Message{ID: "m-1"})
	other, err := Open(openFile(t, path), Config{Clock: h.now, Queues: []QueueConfig{{Name: "other"}}})
	if err != nil {
		t.Fatal(err)
	}
	send(t, other, "other", queue.Message{ID: "m-2"})
	if d := receive(t, reopen(t, path, h), "plain", ""); d.ID != "m-1" {
		t.Errorf("received %q", d.ID)
	}
}

// A database that does not answer: nothing happens, nothing changes, and the fault says so.
func TestClosedFileChangesNothing(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	db := openFile(t, path)
	b := openBroker(t, db, h)
	send(t, b, "plain", queue.Message{ID: "m-1"})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Send(t.Context(), "dup", queue.Message{ID: "m-2"}); !fault.Is(err, fault.NothingHappened) {
		t.Errorf("send: %v, want a fault of kind nothing happened", err)
	}
	if _, ok, err := b.TryReceive(t.Context(), "plain", ""); ok || !fault.Is(err, fault.NothingHappened) {
		t.Errorf("receive: ok %t, %v, want a fault of kind nothing happened", ok, err)
	}
	counts(t, b, "plain", depth.Counts{Active: 1})
	counts(t, b, "dup", depth.Counts{})
}

// unclear is a journal whose next write takes place and reports a failed commit, or fails before it.
type unclear struct {
	journal
	fail   bool
	before bool
}

var errCommit = errors.New("disk gone")

func (u *unclear) write(do func() error) error {
	if !u.fail {
		return do()
	}
	u.fail = false
	if u.before {
		return writeFault(fault.NothingHappened, errCommit)
	}
	return errors.Join(writeFault(fault.MayHaveHappened, errCommit), do())
}

func (u *unclear) insert(a arrival) error {
	return u.write(func() error { return u.journal.insert(a) })
}

func (u *unclear) remove(n int64) error { return u.write(func() error { return u.journal.remove(n) }) }

func (u *unclear) move(m burial) error { return u.write(func() error { return u.journal.move(m) }) }

func (u *unclear) delivered(n int64, c int) error {
	return u.write(func() error { return u.journal.delivered(n, c) })
}

// Every operation fails once, before the write or after it, leaves memory as it was, and works when it
// is repeated.
func TestFailedWritesAtBothMoments(t *testing.T) {
	ctx := t.Context()
	for _, before := range []bool{true, false} {
		h := newHands()
		b := openBroker(t, openFile(t, filepath.Join(t.TempDir(), "data.db")), h)
		u := &unclear{journal: b.journal, before: before}
		b.journal = u
		failing := func(op, name string, unchanged depth.Counts, do func() error) {
			t.Helper()
			u.fail = true
			err := do()
			want := map[bool]fault.Kind{true: fault.NothingHappened, false: fault.MayHaveHappened}[before]
			if !fault.Is(err, want) || !errors.Is(err, errCommit) {
				t.Fatalf("%s: %v, want a fault of kind %v with its cause", op, err, want)
			}
			counts(t, b, name, unchanged)
			if err := do(); err != nil {
				t.Fatalf("%s, repeated: %v", op, err)
			}
		}
		failing("send", "dup", depth.Counts{}, func() error { return b.Send(ctx, "dup", queue.Message{ID: "m-1"}) })
		var d queue.Delivery
		failing("receive", "dup", depth.Counts{Active: 1}, func() (err error) {
			d, _, err = b.TryReceive(ctx, "dup", "")
			return err
		})
		if d.DeliveryCount != 1 {
			t.Errorf("delivery count %d, want 1", d.DeliveryCount)
		}
		failing("dead-letter", "dup", depth.Counts{Locked: 1}, func() error { return b.DeadLetter(ctx, "dup", d, "r", "") })
		d = receive(t, b, "dup"+queue.DeadLetter, "")
		failing("complete", "dup"+queue.DeadLetter, depth.Counts{Locked: 1}, func() error { return b.Complete(ctx, "dup"+queue.DeadLetter, d) })
		counts(t, b, "dup"+queue.DeadLetter, depth.Counts{})
		send(t, b, "expiring", queue.Message{ID: "e"})
		h.advance(time.Minute)
		u.fail = true
		if _, err := b.Counts(ctx, "expiring"); !errors.Is(err, errCommit) {
			t.Fatalf("expiry: %v, want the journal's error", err)
		}
		counts(t, b, "expiring", depth.Counts{DeadLettered: 1})
	}
}

func TestTheFarFutureStaysTheFuture(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	b := reopen(t, path, h)
	send(t, b, "plain", queue.Message{ID: "far", ScheduledAt: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)})
	b = reopen(t, path, h)
	counts(t, b, "plain", depth.Counts{Scheduled: 1})
}
