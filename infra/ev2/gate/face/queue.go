package face

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// Queue sends to the service's queues and reads one gate's messages from its face, for a step that waits: SQS
// can neither select messages nor receive for one gate. Nothing is taken away by reading, so that a step which
// is run again gets the same completion. Receive is for one goroutine.
type Queue struct {
	sender
	client *Client
	every  time.Duration
	clock  func() time.Time

	next  time.Time // not asked before
	ready []queue.Delivery
	seen  []gate.Moment // the timeline at the last look
}

// sender is the part of the queues that is used as it is.
type sender interface {
	queue.Sender
	Close(ctx context.Context) error
}

// NewQueue returns a queue that asks the face no more often than once every so often.
func NewQueue(s sender, c *Client, every time.Duration, clock func() time.Time) *Queue {
	return &Queue{sender: s, client: c, every: every, clock: clock}
}

// Receive waits up to wait for a progress message, made of the gate's timeline, or the completion. The queue's
// name is of no meaning here; session is the gate's id.
func (q *Queue) Receive(ctx context.Context, _, session string, wait time.Duration) (d queue.Delivery, ok bool, err error) {
	for end := q.clock().Add(wait); ; {
		if len(q.ready) > 0 {
			d, q.ready = q.ready[0], q.ready[1:]
			return d, true, nil
		}
		now := q.clock()
		if rest := min(q.next.Sub(now), end.Sub(now)); rest > 0 {
			if !pause(ctx, rest) {
				return d, false, nil
			}
			continue
		}
		if now.Before(q.next) {
			return d, false, nil
		}
		q.next = now.Add(q.every)
		if err := q.ask(ctx, session); err != nil {
			return d, false, err
		}
	}
}

// Complete does nothing: the service keeps its records.
func (*Queue) Complete(context.Context, string, queue.Delivery) error { return nil }

// Abandon does nothing: what was read is read again.
func (*Queue) Abandon(context.Context, string, queue.Delivery) error { return nil }

// ask looks at the gate and makes messages of what is new.
func (q *Queue) ask(ctx context.Context, id string) error {
	body, v, found, err := q.client.Completion(ctx, id)
	switch {
	case err != nil || !found:
		return err
	case body != nil:
		q.ready = append(q.ready, delivery(id, "completion", body))
		return nil
	}
	for _, m := range news(q.seen, v.Timeline) {
		n := gate.Notice{
			Kind: gate.KindProgress, GateID: v.GateID, JobName: v.JobName, Region: v.Region, ExecutionID: v.ExecutionID,
			JobURL: v.JobURL, State: v.State, Text: m.Event + ": " + m.Text, SentAt: m.At,
		}
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		q.ready = append(q.ready, delivery(id, "progress", body))
	}
	q.seen = v.Timeline
	return nil
}

func delivery(id, kind string, body []byte) queue.Delivery {
	return queue.Delivery{
		Message:       queue.Message{ID: id + "." + kind, SessionID: id, ContentType: queue.ContentType, Body: body},
		DeliveryCount: 1,
	}
}

// news returns what of a timeline came after its last look. Entries in the middle may have given way, the
// newest stay; where the last one seen is gone, its time tells.
func news(seen, now []gate.Moment) []gate.Moment {
	if len(seen) == 0 {
		return now
	}
	last := seen[len(seen)-1]
	for i, m := range slices.Backward(now) {
		if m == last {
			return now[i+1:]
		}
	}
	return slices.DeleteFunc(slices.Clone(now), func(m gate.Moment) bool { return !m.At.After(last.At) })
}

// pause waits for d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
