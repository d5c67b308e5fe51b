package broker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

func newTest(t testing.TB) (*Broker, *hands) {
	t.Helper()
	h := newHands()
	return New(testConfig(h)), h
}

func send(t testing.TB, b *Broker, name string, m queue.Message) {
	t.Helper()
	if err := b.Send(t.Context(), name, m); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func receive(t testing.TB, b *Broker, name, session string) queue.Delivery {
	t.Helper()
	d, ok, err := b.TryReceive(t.Context(), name, session)
	if err != nil || !ok {
		t.Fatalf("receive from %s: ok %t, error %v", name, ok, err)
	}
	return d
}

func nothingIn(t testing.TB, b *Broker, name, session string) {
	t.Helper()
	if d, ok, err := b.TryReceive(t.Context(), name, session); err != nil || ok {
		t.Fatalf("receive from %s: got %q, error %v; want nothing", name, d.ID, err)
	}
}

func counts(t testing.TB, b *Broker, name string, want depth.Counts) {
	t.Helper()
	got, err := b.Counts(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts of %s (-want +got):\n%s", name, diff)
	}
}

func TestCountsFollowEveryState(t *testing.T) {
	b, h := newTest(t)
	for i := range 4 {
		send(t, b, "plain", queue.Message{ID: fmt.Sprint("m-", i)})
	}
	send(t, b, "plain", queue.Message{ID: "later", ScheduledAt: h.now().Add(time.Minute)})
	counts(t, b, "plain", depth.Counts{Active: 4, Scheduled: 1})
	first, second := receive(t, b, "plain", ""), receive(t, b, "plain", "")
	if err := b.DeadLetter(t.Context(), "plain", first, "Unreadable", "no gate id"); err != nil {
		t.Fatal(err)
	}
	counts(t, b, "plain", depth.Counts{Active: 2, Scheduled: 1, Locked: 1, DeadLettered: 1})
	counts(t, b, "plain"+queue.DeadLetter, depth.Counts{Active: 1})
	if err := b.Complete(t.Context(), "plain", second); err != nil {
		t.Fatal(err)
	}
	h.advance(time.Minute)
	counts(t, b, "plain", depth.Counts{Active: 3, DeadLettered: 1})
}

func TestDeadLetterKeepsReasonAndCanBeDrained(t *testing.T) {
	b, h := newTest(t)
	send(t, b, "plain", queue.Message{ID: "m-1", Body: []byte("x"), TTL: time.Minute})
	d := receive(t, b, "plain", "")
	if err := b.DeadLetter(t.Context(), "plain", d, "Unreadable", strings.Repeat("é", 2*maxDeadText)); err != nil {
		t.Fatal(err)
	}
	h.advance(time.Hour) // nothing expires in a dead-letter queue
	dead := "plain" + queue.DeadLetter
	for range 5 { // and its deliveries are not limited
		d = receive(t, b, dead, "")
		if d.DeadReason != "Unreadable" || d.DeadText != strings.Repeat("é", maxDeadText) {
			t.Fatalf("reason %q, text of %d bytes", d.DeadReason, len(d.DeadText))
		}
		if err := b.Abandon(t.Context(), dead, d); err != nil {
			t.Fatal(err)
		}
	}
	d = receive(t, b, dead, "")
	if err := b.DeadLetter(t.Context(), dead, d, "again", ""); !fault.Is(err, fault.Refused) {
		t.Errorf("dead-letter from a dead-letter queue: %v, want a refusal", err)
	}
	if err := b.Complete(t.Context(), dead, d); err != nil {
		t.Fatal(err)
	}
	counts(t, b, dead, depth.Counts{})
}

func TestExpiryDeadLettersWhenTheQueueSaysSo(t *testing.T) {
	b, h := newTest(t)
	send(t, b, "expiring", queue.Message{ID: "default"})
	send(t, b, "expiring", queue.Message{ID: "wants too long", TTL: time.Hour})
	send(t, b, "expiring", queue.Message{ID: "later", ScheduledAt: h.now().Add(time.Minute)})
	h.advance(time.Minute)
	if d := receive(t, b, "expiring", ""); d.ID != "later" {
		t.Fatalf("received %q, want the message that began to age when it was due", d.ID)
	}
	for _, id := range []string{"default", "wants too long"} {
		d := receive(t, b, "expiring"+queue.DeadLetter, "")
		if d.ID != id || d.DeadReason != ReasonExpired {
			t.Errorf("dead-lettered %q with reason %q, want %q with %q", d.ID, d.DeadReason, id, ReasonExpired)
		}
	}
}

func TestExpiredUnderLockGoesWhenTheLockEnds(t *testing.T) {
	b, h := newTest(t)
	send(t, b, "plain", queue.Message{ID: "m-1", TTL: 10 * time.Second})
	d := receive(t, b, "plain", "")
	h.advance(20 * time.Second)
	if err := b.Abandon(t.Context(), "plain", d); err != nil {
		t.Fatal(err)
	}
	counts(t, b, "plain", depth.Counts{})
}

func TestReceiveAndDelete(t *testing.T) {
	b, _ := newTest(t)
	for _, id := range []string{"m-1", "m-2"} {
		send(t, b, "session", queue.Message{ID: id, SessionID: "s"})
	}
	for _, id := range []string{"m-1", "m-2"} {
		d, ok, err := b.ReceiveAndDelete(t.Context(), "session", "s", 0)
		if err != nil || !ok || d.ID != id || d.Lock != "" || d.DeliveryCount != 1 {
			t.Fatalf("got %+v, ok %t, error %v; want %s without a lock", d, ok, err, id)
		}
	}
	counts(t, b, "session", depth.Counts{})
}

func TestHeldSessionKeepsItsOrder(t *testing.T) {
	b, h := newTest(t)
	for _, id := range []string{"m-1", "m-2"} {
		send(t, b, "session", queue.Message{ID: id, SessionID: "s"})
	}
	d := receive(t, b, "session", "s")
	nothingIn(t, b, "session", "s")
	h.advance(lockDuration)
	if again := receive(t, b, "session", "s"); again.ID != d.ID {
		t.Errorf("received %q after the lock of %q expired", again.ID, d.ID)
	}
}

func TestPeekChangesNothing(t *testing.T) {
	b, h := newTest(t)
	send(t, b, "plain", queue.Message{ID: "later", ScheduledAt: h.now().Add(time.Hour)})
	send(t, b, "plain", queue.Message{ID: "held"})
	send(t, b, "plain", queue.Message{ID: "ready"})
	receive(t, b, "plain", "")
	var ids []string
	for after := int64(0); ; {
		page, err := b.Peek(t.Context(), "plain", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			if ids, after = append(ids, d.ID), d.Sequence; d.Lock != "" {
				t.Errorf("peek shows the lock of %s", d.ID)
			}
		}
	}
	if diff := cmp.Diff([]string{"later", "held", "ready"}, ids); diff != "" {
		t.Errorf("peeked (-want +got):\n%s", diff)
	}
	counts(t, b, "plain", depth.Counts{Active: 1, Scheduled: 1, Locked: 1})
}

func TestRefusals(t *testing.T) {
	b, _ := newTest(t)
	long := strings.Repeat("ü", MaxID+1)
	for name, err := range map[string]error{
		"there is no queue nowhere": b.Send(t.Context(), "nowhere", queue.Message{}),
		"message id is longer":      b.Send(t.Context(), "plain", queue.Message{ID: long}),
		"session id is longer":      b.Send(t.Context(), "session", queue.Message{SessionID: long}),
		"time-to-live is negative":  b.Send(t.Context(), "plain", queue.Message{TTL: -1}),
		"plain has no sessions": func() error {
			_, _, err := b.TryReceive(t.Context(), "plain", "s")
			return err
		}(),
	} {
		if !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want a refusal with %q", err, name)
		}
	}
	send(t, b, "plain", queue.Message{ID: long[:2*MaxID]}) // 128 characters of two bytes
}

func TestBodiesAreNotShared(t *testing.T) {
	b, _ := newTest(t)
	body := []byte("body")
	send(t, b, "plain", queue.Message{Body: body})
	body[0] = 'X'
	first := receive(t, b, "plain", "")
	first.Body[1] = 'X'
	if err := b.Abandon(t.Context(), "plain", first); err != nil {
		t.Fatal(err)
	}
	if d := receive(t, b, "plain", ""); string(d.Body) != "body" {
		t.Errorf("body became %q", d.Body)
	}
}

// A driver that jumps from event to event sees every one, in order, and comes to an end.
func TestNextEvent(t *testing.T) {
	b, h := newTest(t)
	start := h.now()
	if at, ok := b.NextEvent(); ok {
		t.Fatalf("an empty broker has an event at %v", at)
	}
	send(t, b, "plain", queue.Message{ID: "held"})
	receive(t, b, "plain", "")
	send(t, b, "plain", queue.Message{ID: "later", ScheduledAt: start.Add(time.Hour)})
	send(t, b, "expiring", queue.Message{ID: "expires"})
	var events []string
	for at, ok := b.NextEvent(); ok; at, ok = b.NextEvent() {
		if !at.After(h.now()) {
			t.Fatalf("event at %v is not in the future of %v", at, h.now())
		}
		events = append(events, at.Sub(start).String())
		h.advance(at.Sub(h.now()))
	}
	if diff := cmp.Diff([]string{"30s", "1m0s", "1h0m0s"}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	counts(t, b, "plain", depth.Counts{Active: 2})
	counts(t, b, "expiring", depth.Counts{DeadLettered: 1})
}

func TestIDsAreForgotten(t *testing.T) {
	b, h := newTest(t)
	for i := range 1000 {
		send(t, b, "dup", queue.Message{ID: fmt.Sprint("m-", i)})
		h.advance(window / 100)
	}
	if m := b.lines["dup"].seen; len(m.until) > 101 || len(m.history) > 101 {
		t.Errorf("%d ids and %d sightings are kept, want about 100", len(m.until), len(m.history))
	}
}

// A clock that is set back does not make the broker remember ids for longer than their window.
func TestIDsAreForgottenThoughTheClockWentBack(t *testing.T) {
	b, h := newTest(t)
	h.advance(time.Hour)
	send(t, b, "dup", queue.Message{ID: "from the future"})
	h.advance(-time.Hour)
	send(t, b, "dup", queue.Message{ID: "m-1"})
	h.advance(window)
	send(t, b, "dup", queue.Message{ID: "m-1"})
	if got := b.lines["dup"].ready[""].Len(); got != 3 {
		t.Errorf("%d messages are ready, want all three", got)
	}
}

func TestSessionsLeaveNothingBehind(t *testing.T) {
	b, _ := newTest(t)
	for i := range 100 {
		session := fmt.Sprint("gate-", i)
		send(t, b, "session", queue.Message{SessionID: session})
		if err := b.Complete(t.Context(), "session", receive(t, b, "session", session)); err != nil {
			t.Fatal(err)
		}
	}
	if l := b.lines["session"]; len(l.ready)+len(l.held)+len(l.locks)+len(l.items) != 0 {
		t.Errorf("left behind: %d ready, %d held, %d locks, %d items", len(l.ready), len(l.held), len(l.locks), len(l.items))
	}
}
