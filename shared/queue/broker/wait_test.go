package broker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// inBubble runs the test on synctest's clock, which jumps when every goroutine waits.
func inBubble(t *testing.T, run func(t *testing.T, b *Broker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(nil)
		cfg.Clock = time.Now
		run(t, New(cfg))
	})
}

// arrives asserts that a receiver that waits a minute gets the message after exactly that long.
func arrives(t *testing.T, b *Broker, name, session, id string, after time.Duration) queue.Delivery {
	t.Helper()
	start := time.Now()
	d, ok, err := b.Receive(t.Context(), name, session, time.Minute)
	if err != nil || !ok || d.ID != id {
		t.Fatalf("received %q, ok %t, error %v; want %q", d.ID, ok, err, id)
	}
	if took := time.Since(start); took != after {
		t.Errorf("%s arrived after %v, want %v", id, took, after)
	}
	return d
}

func later(after time.Duration, do func()) {
	go func() {
		<-time.After(after)
		do()
	}()
}

func TestWaitEndsEmpty(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		start := time.Now()
		if _, ok, err := b.Receive(t.Context(), "plain", "", 7*time.Second); ok || err != nil {
			t.Fatalf("ok %t, error %v", ok, err)
		}
		if took := time.Since(start); took != 7*time.Second {
			t.Errorf("waited %v, want 7s", took)
		}
	})
}

func TestWaitWakesForSend(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		later(3*time.Second, func() { send(t, b, "plain", queue.Message{ID: "m-1"}) })
		arrives(t, b, "plain", "", "m-1", 3*time.Second)
	})
}

func TestWaitWakesForScheduledMessageSentMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		later(3*time.Second, func() {
			send(t, b, "plain", queue.Message{ID: "m-1", ScheduledAt: time.Now().Add(2 * time.Second)})
		})
		arrives(t, b, "plain", "", "m-1", 5*time.Second)
	})
}

func TestWaitWakesForLockExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		send(t, b, "plain", queue.Message{ID: "m-1"})
		receive(t, b, "plain", "")
		arrives(t, b, "plain", "", "m-1", lockDuration)
	})
}

func TestWaitWakesForAbandon(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		send(t, b, "plain", queue.Message{ID: "m-1"})
		d := receive(t, b, "plain", "")
		later(time.Second, func() { _ = b.Abandon(t.Context(), "plain", d) })
		arrives(t, b, "plain", "", "m-1", time.Second)
	})
}

func TestWaitWakesForTheNextOfASession(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		send(t, b, "session", queue.Message{ID: "m-1", SessionID: "s"})
		send(t, b, "session", queue.Message{ID: "m-2", SessionID: "s"})
		d := receive(t, b, "session", "s")
		later(time.Second, func() { _ = b.Complete(t.Context(), "session", d) })
		arrives(t, b, "session", "s", "m-2", time.Second)
	})
}

func TestWaitWakesForDeadLetter(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		send(t, b, "plain", queue.Message{ID: "m-1"})
		d := receive(t, b, "plain", "")
		later(time.Second, func() { _ = b.DeadLetter(t.Context(), "plain", d, "r", "") })
		arrives(t, b, "plain"+queue.DeadLetter, "", "m-1", time.Second)
	})
}

// Eight wait, one message comes: one gets it, the others wait on.
func TestWaitersShareNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		got := make(chan bool, 8)
		for range 8 {
			go func() {
				_, ok, err := b.Receive(t.Context(), "plain", "", 10*time.Second)
				got <- ok && err == nil
			}()
		}
		synctest.Wait()
		send(t, b, "plain", queue.Message{ID: "m-1"})
		received := 0
		for range 8 {
			if <-got {
				received++
			}
		}
		if received != 1 {
			t.Errorf("%d receivers got the one message", received)
		}
	})
}

func TestCancelEndsTheWaitWithoutAMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, b *Broker) {
		ctx, cancel := context.WithCancel(t.Context())
		later(time.Second, cancel)
		_, ok, err := b.ReceiveAndDelete(ctx, "plain", "", time.Minute)
		if ok || !errors.Is(err, context.Canceled) || !fault.Is(err, fault.NothingHappened) {
			t.Fatalf("ok %t, error %v; want a cancelled wait", ok, err)
		}
		send(t, b, "plain", queue.Message{ID: "m-1"})
		if d := receive(t, b, "plain", ""); d.DeliveryCount != 1 {
			t.Errorf("delivery count %d, want 1", d.DeliveryCount)
		}
	})
}
