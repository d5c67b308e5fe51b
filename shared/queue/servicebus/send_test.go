package servicebus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

func wantActive(t testing.TB, f *far, name string, want int) {
	t.Helper()
	if got := f.state().Queues[name]; got.Active != want || got.Locked != 0 {
		t.Errorf("queue %s holds %+v, want %d active", name, got, want)
	}
}

func wantKind(t testing.TB, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want a fault of kind %v", what, err, kind)
	}
}

func TestSendLosesItsConnection(t *testing.T) {
	f := startFar(t)
	for _, c := range []struct {
		moment string
		stored int
	}{{"before", 0}, {"after", 1}} {
		f.reset()
		b := f.bus(t)
		f.plan(planned{At: "send", Moment: c.moment, How: "cut"})
		err := b.Send(t.Context(), dup, queue.Message{ID: "m-1"})
		wantKind(t, c.moment, err, fault.MayHaveHappened)
		wantActive(t, f, dup, c.stored)
		send(t, b, dup, queue.Message{ID: "m-1"}) // as the caller has to
		wantActive(t, f, dup, 1)
	}
}

func TestSendWithoutAnAnswer(t *testing.T) {
	f := startFar(t)
	for _, moment := range []string{"before", "after"} {
		f.reset()
		b := f.bus(t)
		send(t, b, plain, queue.Message{ID: "m-0"})
		b.limits.send = 100 * time.Millisecond
		f.plan(planned{At: "send", Moment: moment, How: "silent"})
		wantKind(t, moment, b.Send(t.Context(), dup, queue.Message{ID: "m-1"}), fault.MayHaveHappened)
		b.limits.send = patience
		send(t, b, dup, queue.Message{ID: "m-1"})
		wantActive(t, f, dup, 1)
	}
}

// A caller that gives up is no reason to give the connection up.
func TestSendOfACallerThatGivesUp(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	send(t, b, plain, queue.Message{ID: "m-0"})
	f.plan(planned{At: "send", How: "silent"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantKind(t, "send", b.Send(ctx, plain, queue.Message{ID: "m-1"}), fault.MayHaveHappened)
	before := b.line
	send(t, b, plain, queue.Message{ID: "m-2"})
	if b.line != before {
		t.Error("the connection was replaced")
	}
}

func TestRefusals(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	for at, conditions := range map[string]map[string]fault.Kind{
		"attach": {
			"amqp:not-found": fault.Refused, "amqp:unauthorized-access": fault.Refused, "amqp:not-allowed": fault.Refused,
			"com.microsoft:server-busy": fault.NothingHappened, "amqp:internal-error": fault.NothingHappened,
		},
		"send": {
			"amqp:not-allowed": fault.Refused, "com.microsoft:entity-disabled": fault.Refused,
			"com.microsoft:server-busy": fault.NothingHappened, "amqp:resource-limit-exceeded": fault.NothingHappened,
			"com.microsoft:timeout": fault.MayHaveHappened, "amqp:internal-error": fault.MayHaveHappened,
		},
	} {
		for condition, kind := range conditions {
			f.reset()
			f.until("reset", func(s state) bool { return s.Connections == 0 })
			f.plan(planned{At: at, Condition: condition})
			wantKind(t, at+" "+condition, b.Send(t.Context(), plain, queue.Message{ID: "m-1"}), kind)
			send(t, b, plain, queue.Message{ID: "m-2"})
			wantActive(t, f, plain, 1)
		}
	}
	wantKind(t, "no such queue", b.Send(t.Context(), "missing", queue.Message{}), fault.Refused)
	_, _, err := b.Receive(t.Context(), "missing", "", quiet)
	wantKind(t, "receive from no such queue", err, fault.Refused)
	long := make([]byte, maxID+1)
	for i := range long {
		long[i] = 'a'
	}
	wantKind(t, "long id", b.Send(t.Context(), plain, queue.Message{ID: string(long)}), fault.Refused)
	wantKind(t, "body at the limit, with its properties above it",
		b.Send(t.Context(), plain, queue.Message{Body: make([]byte, maxBody)}), fault.Refused)
}

func TestClosedPort(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := (&far{address: address}).bus(t)
	err = b.Send(t.Context(), plain, queue.Message{})
	wantKind(t, "send", err, fault.NothingHappened)
	if dial := (*net.OpError)(nil); !errors.As(err, &dial) || dial.Op != "dial" {
		t.Errorf("the cause is not kept: %v", err)
	}
	_, _, err = b.Receive(t.Context(), plain, "", time.Minute)
	wantKind(t, "receive", err, fault.NothingHappened)
}

// A broker that takes the connection and then says nothing.
func TestSilentPort(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	b := (&far{address: l.Addr().String()}).bus(t)
	b.limits.open = 50 * time.Millisecond
	wantKind(t, "send", b.Send(t.Context(), plain, queue.Message{}), fault.NothingHappened)
}

func TestRestartAndIdleness(t *testing.T) {
	f := startFar(t)
	for name, c := range map[string]struct {
		end   func()
		ended func(state) bool
	}{
		"restart":           {func() { f.tell("drop", nil) }, func(s state) bool { return s.Connections == 0 }},
		"ten idle minutes":  {func() { f.advance(10 * time.Minute) }, func(s state) bool { return s.Links == 0 && s.Connections == 1 }},
		"half an idle hour": {func() { f.advance(30 * time.Minute) }, func(s state) bool { return s.Connections == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			f.reset()
			b := f.bus(t)
			send(t, b, plain, queue.Message{ID: "m-1"})
			complete(t, b, plain, receive(t, b, plain, "", "m-1"))
			none(t, b, sessions, "s")
			c.end()
			f.until(name, c.ended)
			if name != "ten idle minutes" {
				until(t, func() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.line == nil })
			}
			send(t, b, plain, queue.Message{ID: "m-2"})
			complete(t, b, plain, receive(t, b, plain, "", "m-2"))
			send(t, b, sessions, queue.Message{ID: "m-3", SessionID: "s"})
			complete(t, b, sessions, receive(t, b, sessions, "s", "m-3"))
		})
	}
}

func until(t testing.TB, ok func() bool) {
	t.Helper()
	for range 400 {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("it did not come to pass")
}

// Whoever waited for a turn on a connection that ended meanwhile has sent nothing, and uses the next one.
func TestTurnOnALostConnection(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	send(t, b, plain, queue.Message{ID: "m-1"})
	o := b.line.outlets[plain]
	if err := o.turn.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	l := b.line
	go func() { ended <- b.Send(t.Context(), plain, queue.Message{ID: "m-2"}) }()
	f.tell("drop", nil)
	until(t, l.isGone)
	o.turn.give()
	if err := <-ended; err != nil {
		t.Errorf("send: %v", err)
	}
	wantActive(t, f, plain, 2)
}

func TestConcurrentUse(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			session := fmt.Sprint("s-", i)
			for j := range 5 {
				m := queue.Message{ID: fmt.Sprint(j), SessionID: session}
				if err := b.Send(t.Context(), sessions, m); err != nil {
					t.Error(err)
				}
				d, ok, err := b.Receive(t.Context(), sessions, session, patience)
				if err == nil && ok {
					err = b.Complete(t.Context(), sessions, d)
				}
				if err != nil || d.SessionID != session || d.ID != m.ID {
					t.Errorf("received %+v, error %v", d, err)
				}
			}
		})
	}
	all.Wait()
	wantActive(t, f, sessions, 0)
}

func TestClosed(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	ended := make(chan error)
	go func() {
		_, _, err := b.Receive(t.Context(), sessions, "s", time.Minute)
		ended <- err
	}()
	f.until("receiving", func(s state) bool { return s.Waiting == 1 })
	if err := b.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	wantKind(t, "receive that was waiting", <-ended, fault.NothingHappened)
	f.until("closed", func(s state) bool { return s.Sessions == 0 && s.Connections == 0 })
	wantKind(t, "send", b.Send(t.Context(), plain, queue.Message{}), fault.NothingHappened)
	wantKind(t, "complete", b.Complete(t.Context(), plain, queue.Delivery{Lock: "x"}), fault.NothingHappened)
}

// What the adapter does not use, but whoever talks to the test broker with the SDK might.
func TestBrokerTakesBatchesAndDeadLetters(t *testing.T) {
	f := startFar(t)
	b := f.bus(t)
	client, err := azservicebus.NewClientFromConnectionString(f.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
	sender, err := client.NewSender(plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := sender.NewMessageBatch(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"m-1", "m-2"} {
		if err := batch.AddMessage(outgoing(queue.Message{ID: id}), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender.SendMessageBatch(t.Context(), batch, nil); err != nil {
		t.Fatal(err)
	}
	receiver, err := client.NewReceiverForQueue(plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := receiver.ReceiveMessages(t.Context(), 1, nil)
	if err != nil || len(got) != 1 || got[0].MessageID != "m-1" {
		t.Fatalf("received %v, error %v", got, err)
	}
	reason, text := "Poison", "cannot be read"
	if err := receiver.DeadLetterMessage(t.Context(), got[0], &azservicebus.DeadLetterOptions{Reason: &reason, ErrorDescription: &text}); err != nil {
		t.Fatal(err)
	}
	if d := receive(t, b, plain+queue.DeadLetter, "", "m-1"); d.DeadReason != reason || d.DeadText != text {
		t.Errorf("dead letter %+v", d)
	}
	receive(t, b, plain, "", "m-2")
}
