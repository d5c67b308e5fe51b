package queuetest

import (
	"time"

	"prowgate/shared/fault"
)

func (b *bench) needDuplicates() {
	b.Helper()
	b.needQueue(b.Duplicates, "queue with duplicate detection")
}

func duplicateDropped(b *bench) {
	b.needDuplicates()
	b.send(b.Duplicates, text("m-1"))
	b.send(b.Duplicates, text("m-1"))
	b.send(b.Duplicates, text("m-2"))
	b.take(b.Duplicates, "m-1")
	b.take(b.Duplicates, "m-2")
	b.none(b.Duplicates)
}

func duplicateOfScheduled(b *bench) {
	b.needDuplicates()
	b.need(Scheduling)
	b.needTime()
	b.send(b.Duplicates, b.scheduled("tick", 5*time.Second))
	b.send(b.Duplicates, b.scheduled("tick", 5*time.Second))
	b.send(b.Duplicates, text("tick"))
	b.none(b.Duplicates)
	b.Advance(6 * time.Second)
	b.take(b.Duplicates, "tick")
	b.none(b.Duplicates)
}

func duplicateAfterCompletion(b *bench) {
	b.needDuplicates()
	b.need(DuplicateLifetime)
	b.send(b.Duplicates, text("m-1"))
	b.take(b.Duplicates, "m-1")
	b.send(b.Duplicates, text("m-1"))
	b.none(b.Duplicates)
}

func duplicateAfterWindow(b *bench) {
	b.needDuplicates()
	b.needTime()
	b.send(b.Duplicates, text("m-1"))
	b.take(b.Duplicates, "m-1")
	b.Advance(b.DuplicateWindow + time.Second)
	b.send(b.Duplicates, text("m-1"))
	b.take(b.Duplicates, "m-1")
	b.send(b.Duplicates, text("m-1"))
	b.none(b.Duplicates)
}

func sameIDInPlain(b *bench) {
	b.send(b.Plain, text("m-1"))
	b.send(b.Plain, text("m-1"))
	b.take(b.Plain, "m-1")
	b.take(b.Plain, "m-1")
	b.none(b.Plain)
}

// onceDespite sends through a sender whose first call fails at that moment, and repeats as a sender
// must.
func onceDespite(b *bench, when Moment, kind fault.Kind) {
	b.needDuplicates()
	s := &Flaky{Sender: b.Sender, Plan: func(call int) Moment {
		if call == 1 {
			return when
		}
		return Never
	}}
	if err := s.Send(b.ctx, b.Duplicates, text("m-1")); !fault.Is(err, kind) {
		b.Fatalf("first send: %v, want a fault of kind %v", err, kind)
	}
	if err := s.Send(b.ctx, b.Duplicates, text("m-1")); err != nil {
		b.Fatalf("repeated send: %v", err)
	}
	b.take(b.Duplicates, "m-1")
	b.none(b.Duplicates)
}

func lostAnswer(b *bench)   { onceDespite(b, After, fault.MayHaveHappened) }
func failedBefore(b *bench) { onceDespite(b, Before, fault.NothingHappened) }
