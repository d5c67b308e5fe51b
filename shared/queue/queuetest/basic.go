package queuetest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

func emptyGivesNothing(b *bench) {
	b.none(b.Plain)
}

func sendReceiveComplete(b *bench) {
	b.send(b.Plain, text("m-1"))
	d := b.take(b.Plain, "m-1")
	if d.DeliveryCount != 1 {
		b.Errorf("delivery count %d at the first delivery, want 1", d.DeliveryCount)
	}
	if d.Lock == "" {
		b.Error("a delivery without a lock")
	}
	b.none(b.Plain)
}

func orderKept(b *bench) {
	b.need(Order)
	for i := range 20 {
		b.send(b.Plain, text(fmt.Sprint("m-", i)))
	}
	last := int64(-1)
	for i := range 20 {
		d := b.take(b.Plain, fmt.Sprint("m-", i))
		if d.Sequence <= last {
			b.Errorf("sequence %d after %d, want it to rise", d.Sequence, last)
		}
		last = d.Sequence
	}
}

func intact(b *bench) {
	sent := queue.Message{
		ID: "gate/1 ünïcode \"quoted\" ?&#%", ContentType: "application/json; charset=utf-8",
		Body: []byte("{\"text\":\"grüße\\n\u2028 \\u0000 <&>\"}\n"),
	}
	if _, lacks := b.Lacks[CorrelationID]; !lacks {
		sent.CorrelationID = "c-\x7f-ü\n"
	}
	b.send(b.Plain, sent)
	got := b.receive(b.Plain)
	if diff := cmp.Diff(sent, got.Message); diff != "" {
		b.Errorf("message changed on its way (-sent +received):\n%s", diff)
	}
	b.complete(b.Plain, got)
	b.send(b.Plain, queue.Message{ID: "bare"})
	got = b.take(b.Plain, "bare")
	if got.ContentType != queue.ContentType || len(got.Body) != 0 {
		b.Errorf("bare message: content type %q, body %q; want %q and none", got.ContentType, got.Body, queue.ContentType)
	}
}

func traceArrives(b *bench) {
	m := text("traced")
	m.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	b.send(b.Plain, m)
	d := b.receive(b.Plain)
	if d.Trace != m.Trace {
		b.Errorf("trace %q at the first delivery, want %q", d.Trace, m.Trace)
	}
	b.abandon(b.Plain, d)
	if d := b.take(b.Plain, "traced"); d.Trace != m.Trace {
		b.Errorf("trace %q at the second delivery, want %q", d.Trace, m.Trace)
	}
	b.send(b.Plain, text("untraced"))
	if d := b.take(b.Plain, "untraced"); d.Trace != "" {
		b.Errorf("trace %q of a message that was sent without", d.Trace)
	}
}

func queuesApart(b *bench) {
	b.needQueue(b.Duplicates, "queue with duplicate detection")
	b.send(b.Plain, text("m-1"))
	b.none(b.Duplicates)
	b.take(b.Plain, "m-1")
}

func tooLarge(b *bench) {
	b.need(RefuseTooLarge)
	m := text("big")
	m.Body = bytes.Repeat([]byte("x"), 256<<10+1)
	if err := b.Sender.Send(b.ctx, b.Plain, m); !fault.Is(err, fault.Refused) {
		b.Errorf("send of %d bytes: %v, want a refusal", len(m.Body), err)
	}
	b.none(b.Plain)
	m.Body = m.Body[:200<<10]
	b.send(b.Plain, m)
	if d := b.take(b.Plain, "big"); len(d.Body) != 200<<10 {
		b.Errorf("received %d bytes of %d", len(d.Body), 200<<10)
	}
}

func (b *bench) scheduled(id string, in time.Duration) queue.Message {
	m := text(id)
	m.ScheduledAt = b.now().Add(in)
	return m
}

func scheduledNotBefore(b *bench) {
	b.need(Scheduling)
	b.needTime()
	b.send(b.Plain, b.scheduled("later", 10*time.Second))
	b.none(b.Plain)
	b.send(b.Plain, text("now"))
	b.take(b.Plain, "now")
	b.Advance(5 * time.Second)
	b.none(b.Plain)
	b.Advance(5 * time.Second)
	b.take(b.Plain, "later")
}

func scheduledInOrder(b *bench) {
	b.need(Scheduling, Order)
	b.needTime()
	b.send(b.Plain, b.scheduled("third", 9*time.Second))
	b.send(b.Plain, b.scheduled("first", 3*time.Second))
	b.send(b.Plain, b.scheduled("second", 6*time.Second))
	b.Advance(10 * time.Second)
	for _, id := range []string{"first", "second", "third"} {
		b.take(b.Plain, id)
	}
}

func scheduledInThePast(b *bench) {
	b.need(Scheduling)
	b.send(b.Plain, b.scheduled("past", -time.Hour))
	b.take(b.Plain, "past")
}

func cancelledContext(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if err := b.Sender.Send(ctx, b.Plain, text("m-1")); err == nil {
		b.Error("send with a cancelled context: no error")
	}
	b.send(b.Plain, text("m-2"))
	if _, ok, err := b.Receiver.Receive(ctx, b.Plain, "", b.Patience); err == nil || ok {
		b.Errorf("receive with a cancelled context: ok %t, error %v; want an error", ok, err)
	}
	b.take(b.Plain, "m-2")
}
