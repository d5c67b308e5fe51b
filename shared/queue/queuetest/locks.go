package queuetest

import (
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

func abandonRedelivers(b *bench) {
	b.send(b.Plain, text("m-1"))
	for n := 1; n < b.MaxDeliveries; n++ {
		d := b.receive(b.Plain)
		if d.ID != "m-1" || d.DeliveryCount != n {
			b.Fatalf("received %q with count %d, want m-1 with %d", d.ID, d.DeliveryCount, n)
		}
		b.abandon(b.Plain, d)
	}
	if d := b.take(b.Plain, "m-1"); d.DeliveryCount != b.MaxDeliveries {
		b.Errorf("count %d at the last delivery, want %d", d.DeliveryCount, b.MaxDeliveries)
	}
	b.none(b.Plain)
}

func abandonKeepsItsPlace(b *bench) {
	b.need(Order)
	b.send(b.Plain, text("m-1"))
	b.send(b.Plain, text("m-2"))
	for n := 1; n < b.MaxDeliveries; n++ {
		d := b.receive(b.Plain)
		if d.ID != "m-1" || d.DeliveryCount != n {
			b.Fatalf("received %q with count %d, want m-1 with %d", d.ID, d.DeliveryCount, n)
		}
		b.abandon(b.Plain, d)
	}
	b.take(b.Plain, "m-1")
	b.take(b.Plain, "m-2")
}

func lockExpiryRedelivers(b *bench) {
	b.needTime()
	b.send(b.Plain, text("m-1"))
	first := b.receive(b.Plain)
	b.Advance(b.LockDuration / 2)
	b.none(b.Plain)
	b.Advance(b.LockDuration/2 + time.Second)
	second := b.receive(b.Plain)
	if second.ID != "m-1" || second.DeliveryCount != 2 || second.Lock == first.Lock {
		b.Errorf("received %q, count %d, lock changed %t; want m-1, 2, true",
			second.ID, second.DeliveryCount, second.Lock != first.Lock)
	}
	b.complete(b.Plain, second)
}

func lockedIsHidden(b *bench) {
	b.send(b.Plain, text("m-1"))
	d := b.receive(b.Plain)
	b.none(b.Plain)
	b.complete(b.Plain, d)
	b.none(b.Plain)
}

// conflict asserts that no way of settling d works.
func (b *bench) conflict(d queue.Delivery) {
	b.Helper()
	_, renewed := b.Receiver.Renew(b.ctx, b.Plain, d)
	for op, err := range map[string]error{
		"complete": b.Receiver.Complete(b.ctx, b.Plain, d),
		"abandon":  b.Receiver.Abandon(b.ctx, b.Plain, d),
		"renew":    renewed,
	} {
		if !fault.Is(err, fault.Conflict) {
			b.Errorf("%s with a lock that is gone: %v, want a conflict", op, err)
		}
	}
}

func oldLock(b *bench) {
	b.need(LockTokens)
	b.needTime()
	b.send(b.Plain, text("m-1"))
	old := b.receive(b.Plain)
	b.Advance(b.LockDuration + time.Second)
	b.conflict(old)
	held := b.receive(b.Plain)
	b.conflict(old)
	b.none(b.Plain) // the old lock did not give it back
	b.complete(b.Plain, held)
	b.none(b.Plain)
}

func settleTwice(b *bench) {
	b.need(LockTokens, Order)
	b.send(b.Plain, text("m-1"))
	b.send(b.Plain, text("m-2"))
	d := b.take(b.Plain, "m-1")
	b.conflict(d)
	b.take(b.Plain, "m-2")
}

func renewKeeps(b *bench) {
	b.needTime()
	b.send(b.Plain, text("m-1"))
	d := b.receive(b.Plain)
	b.Advance(b.LockDuration - 2*time.Second)
	until, err := b.Receiver.Renew(b.ctx, b.Plain, d)
	if err != nil || !until.After(d.LockedUntil) {
		b.Fatalf("renew: until %v after %v, error %v; want a later end", until, d.LockedUntil, err)
	}
	b.Advance(b.LockDuration - 2*time.Second)
	b.none(b.Plain)
	b.complete(b.Plain, d)
	b.none(b.Plain)
}

func deadLetterByCount(b *bench) {
	b.need(DeadLetterQueue)
	b.send(b.Plain, text("poison"))
	b.send(b.Plain, text("good"))
	got := map[string]int{}
	for range b.MaxDeliveries + 1 {
		d := b.receive(b.Plain)
		if got[d.ID]++; d.ID == "poison" {
			b.abandon(b.Plain, d)
		} else {
			b.complete(b.Plain, d)
		}
	}
	if got["poison"] != b.MaxDeliveries || got["good"] != 1 {
		b.Fatalf("received %v, want poison %d times and good once", got, b.MaxDeliveries)
	}
	b.none(b.Plain)
	d := b.take(b.Plain+queue.DeadLetter, "poison")
	if string(d.Body) != string(text("poison").Body) {
		b.Errorf("dead-lettered body %q", d.Body)
	}
	if _, lacks := b.Lacks[DeadLetterReason]; !lacks && d.DeadReason != "MaxDeliveryCountExceeded" {
		b.Errorf("dead-letter reason %q, want MaxDeliveryCountExceeded", d.DeadReason)
	}
}

func timeToLive(b *bench) {
	b.need(TimeToLive)
	b.needTime()
	brief, held := text("brief"), text("held")
	brief.TTL, held.TTL = 10*time.Second, 10*time.Second
	b.send(b.Plain, held)
	b.send(b.Plain, brief)
	b.send(b.Plain, text("lasting"))
	d := b.receive(b.Plain)
	b.Advance(11 * time.Second)
	b.complete(b.Plain, d) // who holds a message may still complete it
	b.take(b.Plain, "lasting")
	b.none(b.Plain)
}
