package queuetest

import (
	"fmt"
	"sync"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

func (b *bench) sendIn(session, id string) {
	b.Helper()
	m := text(id)
	m.SessionID = session
	b.send(b.Sessions, m)
}

func (b *bench) takeIn(session, id string) {
	b.Helper()
	d := b.receiveIn(b.Sessions, session)
	if d.ID != id || d.SessionID != session {
		b.Fatalf("received %q of session %q, want %q of %q", d.ID, d.SessionID, id, session)
	}
	b.complete(b.Sessions, d)
}

func sessionsIsolated(b *bench) {
	b.needQueue(b.Sessions, "queue with sessions")
	b.sendIn("one", "m-1")
	b.sendIn("two", "m-2")
	b.noneIn(b.Sessions, "three")
	b.takeIn("two", "m-2")
	b.noneIn(b.Sessions, "two")
	held := b.receiveIn(b.Sessions, "one")
	b.sendIn("two", "m-3")
	b.takeIn("two", "m-3") // a held session does not hold up another
	b.complete(b.Sessions, held)
	b.noneIn(b.Sessions, "one")
}

func sessionInOrder(b *bench) {
	b.needQueue(b.Sessions, "queue with sessions")
	for i := range 5 {
		b.sendIn("one", fmt.Sprint("a-", i))
		b.sendIn("two", fmt.Sprint("b-", i))
	}
	for i := range 5 {
		b.takeIn("one", fmt.Sprint("a-", i))
	}
	for i := range 5 {
		b.takeIn("two", fmt.Sprint("b-", i))
	}
}

func sessionRequired(b *bench) {
	b.needQueue(b.Sessions, "queue with sessions")
	b.need(RefuseNoSession)
	if err := b.Sender.Send(b.ctx, b.Sessions, text("m-1")); !fault.Is(err, fault.Refused) {
		b.Errorf("send without a session: %v, want a refusal", err)
	}
	if _, _, err := b.Receiver.Receive(b.ctx, b.Sessions, "", b.Quiet); !fault.Is(err, fault.Refused) {
		b.Errorf("receive without a session: %v, want a refusal", err)
	}
}

// competingReceivers sends from four goroutines and receives in eight.
func competingReceivers(b *bench) {
	const senders, each, receivers = 4, 25, 8
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for i := range each {
				if err := b.Sender.Send(b.ctx, b.Plain, text(fmt.Sprintf("m-%d-%d", s, i))); err != nil {
					b.Errorf("send: %v", err)
				}
			}
		})
	}
	sending.Wait()
	var receiving sync.WaitGroup
	var mu sync.Mutex
	got := map[string]int{}
	for range receivers {
		receiving.Go(func() {
			for {
				d, ok := b.drainOne()
				if !ok {
					return
				}
				mu.Lock()
				got[d.ID]++
				mu.Unlock()
			}
		})
	}
	receiving.Wait()
	for id, n := range got {
		if n != 1 {
			b.Errorf("%s was delivered %d times", id, n)
		}
	}
	if len(got) != senders*each {
		b.Errorf("%d different messages arrived of %d", len(got), senders*each)
	}
}

// drainOne receives and completes one message; ok is false when there is none left.
func (b *bench) drainOne() (d queue.Delivery, ok bool) {
	d, ok, err := b.Receiver.Receive(b.ctx, b.Plain, "", max(b.Patience, b.Quiet))
	if err == nil && ok {
		err = b.Receiver.Complete(b.ctx, b.Plain, d)
	}
	if err != nil {
		b.Errorf("receive or complete: %v", err)
	}
	return d, ok && err == nil
}
