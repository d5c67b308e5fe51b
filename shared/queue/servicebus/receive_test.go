package servicebus

import (
	"testing"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// arrival is the result of a receive.
type arrival struct {
	d   queue.Delivery
	ok  bool
	err error
}

func receiveLater(t testing.TB, b *Bus, name, session string) <-chan arrival {
	got := make(chan arrival, 1)
	go func() {
		d, ok, err := b.Receive(t.Context(), name, session, time.Minute)
		got <- arrival{d, ok, err}
	}()
	return got
}

func wantArrival(t testing.TB, got <-chan arrival, id string) queue.Delivery {
	t.Helper()
	a := <-got
	if a.err != nil || !a.ok || a.d.ID != id {
		t.Fatalf("received %q, ok %t, error %v; want %q", a.d.ID, a.ok, a.err, id)
	}
	return a.d
}

func TestWaitOutlivesAConnection(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	for _, c := range []struct{ queue, session string }{{plain, ""}, {sessions, "s"}} {
		f.reset()
		got := receiveLater(t, b, c.queue, c.session)
		f.until("receiving", func(s state) bool { return s.Waiting == 1 })
		f.tell("drop", nil)
		f.until("receiving again", func(s state) bool { return s.Waiting == 1 })
		send(t, b, c.queue, queue.Message{ID: "m-1", SessionID: c.session})
		complete(t, b, c.queue, wantArrival(t, got, "m-1"))
	}
}

// Locks of a queue without sessions do not end with the connection.
func TestSettleAfterTheConnectionIsLost(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	for _, id := range []string{"m-1", "m-2", "m-3"} {
		send(t, b, plain, queue.Message{ID: id})
	}
	first, second, third := receive(t, b, plain, "", "m-1"), receive(t, b, plain, "", "m-2"), receive(t, b, plain, "", "m-3")
	f.tell("drop", nil)
	until(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.line == nil })
	complete(t, b, plain, first)
	if err := b.Abandon(t.Context(), plain, second); err != nil {
		t.Errorf("abandon: %v", err)
	}
	f.advance(time.Second)
	if end, err := b.Renew(t.Context(), plain, third); err != nil || !end.After(third.LockedUntil) {
		t.Errorf("renew: until %v, error %v", end, err)
	}
	wantKind(t, "complete again", b.Complete(t.Context(), plain, first), fault.Conflict)
	wantKind(t, "complete without a lock", b.Complete(t.Context(), plain, queue.Delivery{}), fault.Conflict)
	complete(t, b, plain, third)
	complete(t, b, plain, receive(t, b, plain, "", "m-2"))
	wantActive(t, f, plain, 0)
}

func TestSettleLosesItsConnection(t *testing.T) {
	f := startFar(t)
	for _, c := range []struct {
		moment string
		repeat func(err error) bool
		left   int
	}{
		{"before", func(err error) bool { return err == nil }, 1},
		{"after", func(err error) bool { return fault.Is(err, fault.Conflict) }, 0},
	} {
		for _, how := range []string{"cut", "silent"} {
			f.reset()
			b := f.bus(t)
			send(t, b, plain, queue.Message{ID: "m-1"})
			d := receive(t, b, plain, "", "m-1")
			b.limits.settle = 150 * time.Millisecond
			f.plan(planned{At: "settle", Moment: c.moment, How: how})
			wantKind(t, c.moment+" "+how, b.Complete(t.Context(), plain, d), fault.MayHaveHappened)
			if got := f.state().Queues[plain].Locked; got != c.left {
				t.Errorf("%s %s: %d messages are left, want %d", c.moment, how, got, c.left)
			}
			b.limits.settle = patience
			if err := b.Complete(t.Context(), plain, d); !c.repeat(err) {
				t.Errorf("%s %s, repeated: %v", c.moment, how, err)
			}
			wantActive(t, f, plain, 0)
		}
	}
}

func TestSessionLockLost(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	send(t, b, sessions, queue.Message{ID: "m-1", SessionID: "s"})
	d := receive(t, b, sessions, "s", "m-1")
	f.advance(lockDuration + time.Second)
	f.until("lost", func(s state) bool { return s.Sessions == 0 })
	wantKind(t, "complete", b.Complete(t.Context(), sessions, d), fault.Conflict)
	_, err := b.Renew(t.Context(), sessions, d)
	wantKind(t, "renew", err, fault.Conflict)
	again := receive(t, b, sessions, "s", "m-1")
	if again.DeliveryCount != 2 {
		t.Errorf("delivery count %d, want 2", again.DeliveryCount)
	}
	wantKind(t, "complete the first", b.Complete(t.Context(), sessions, d), fault.Conflict)
	complete(t, b, sessions, again)
}

func TestSessionLockLostWhileWaiting(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	got := receiveLater(t, b, sessions, "s")
	f.until("receiving", func(s state) bool { return s.Waiting == 1 })
	f.advance(lockDuration + time.Second)
	f.until("receiving again", func(s state) bool { return s.Waiting == 1 })
	send(t, b, sessions, queue.Message{ID: "m-1", SessionID: "s"})
	complete(t, b, sessions, wantArrival(t, got, "m-1"))
}

func TestSessionIsRenewed(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	b.limits.renew = 20 * time.Millisecond
	got := receiveLater(t, b, sessions, "s")
	for range 3 {
		n := f.state().Renewals
		f.until("renewed", func(s state) bool { return s.Renewals > n+1 })
		f.advance(lockDuration - time.Second)
	}
	if s := f.state(); s.Sessions != 1 {
		t.Errorf("the session was lost: %+v", s)
	}
	send(t, b, sessions, queue.Message{ID: "m-1", SessionID: "s"})
	d := wantArrival(t, got, "m-1")
	f.advance(time.Millisecond) // the lock may have no second left
	if end, err := b.Renew(t.Context(), sessions, d); err != nil || !end.After(d.LockedUntil) {
		t.Errorf("renew: until %v after %v, error %v", end, d.LockedUntil, err)
	}
	complete(t, b, sessions, d)
}

func TestSessionOfAnotherReceiver(t *testing.T) {
	f := startFar(t)
	holder, b := f.bus(t), f.bus(t)
	send(t, holder, sessions, queue.Message{ID: "m-1", SessionID: "s"})
	receive(t, holder, sessions, "s", "m-1")
	b.limits.pause = 10 * time.Millisecond
	_, ok, err := b.Receive(t.Context(), sessions, "s", quiet)
	wantKind(t, "receive", err, fault.Conflict)
	if ok {
		t.Error("the message was received twice")
	}
	got := receiveLater(t, b, sessions, "s")
	if err := holder.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	complete(t, b, sessions, wantArrival(t, got, "m-1"))
}

func TestKindsOfQueueAreNotMixed(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	_, _, err := b.Receive(t.Context(), plain, "s", quiet)
	wantKind(t, "a session of a queue without sessions", err, fault.Refused)
	none(t, b, plain, "")
}

// Links that come and end at once must not be asked for without an end.
func TestLinksThatDoNotLast(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	f.plan(planned{At: "request", How: "cut", Times: 100})
	_, _, err := b.Receive(t.Context(), plain, "", time.Minute)
	wantKind(t, "receive", err, fault.NothingHappened)
	if left := f.state().Faults; left != 1 {
		t.Errorf("%d faults are planned still, want 1", left)
	}
}
