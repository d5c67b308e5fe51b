package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/sqs"
)

// line is one queue in virtual time. Waiting for a message lets the time pass.
type line struct {
	now      time.Time
	messages []held
	delays   []int32
	received int
	failSend error
	failGone error
}

type held struct {
	at      time.Time
	message types.Message
}

func (l *line) SendMessage(_ context.Context, in *awssqs.SendMessageInput, _ ...func(*awssqs.Options)) (*awssqs.SendMessageOutput, error) {
	if l.failSend != nil {
		return nil, l.failSend
	}
	l.delays = append(l.delays, in.DelaySeconds)
	id := aws.String(fmt.Sprint("sqs-", len(l.delays)))
	l.messages = append(l.messages, held{l.now.Add(time.Duration(in.DelaySeconds) * time.Second), types.Message{
		MessageId: id, ReceiptHandle: id, Body: in.MessageBody, MessageAttributes: in.MessageAttributes,
	}})
	return &awssqs.SendMessageOutput{}, nil
}

func (l *line) ReceiveMessage(_ context.Context, in *awssqs.ReceiveMessageInput, _ ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error) {
	if l.received++; l.received > 500 {
		return nil, errors.New("received without end")
	}
	until := l.now.Add(time.Duration(in.WaitTimeSeconds) * time.Second)
	for _, m := range l.messages {
		if !m.at.After(until) {
			l.now = later(l.now, m.at)
			return &awssqs.ReceiveMessageOutput{Messages: []types.Message{m.message}}, nil
		}
	}
	l.now = until
	return &awssqs.ReceiveMessageOutput{}, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (l *line) DeleteMessage(_ context.Context, in *awssqs.DeleteMessageInput, _ ...func(*awssqs.Options)) (*awssqs.DeleteMessageOutput, error) {
	if l.failGone != nil {
		return nil, l.failGone
	}
	for i, m := range l.messages {
		if *m.message.ReceiptHandle == *in.ReceiptHandle {
			l.messages = append(l.messages[:i], l.messages[i+1:]...)
			break
		}
	}
	return &awssqs.DeleteMessageOutput{}, nil
}

func (l *line) ChangeMessageVisibility(context.Context, *awssqs.ChangeMessageVisibilityInput, ...func(*awssqs.Options)) (*awssqs.ChangeMessageVisibilityOutput, error) {
	return &awssqs.ChangeMessageVisibilityOutput{}, nil
}

func newLine() (*line, *sqs.Queues) {
	l := &line{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	return l, sqs.New(l, "http://host/account", func() time.Time { return l.now })
}

func TestLongDelayIsMadeOfHops(t *testing.T) {
	l, q := newLine()
	sent := queue.Message{
		ID: "g1.tick.7", CorrelationID: "g1", SessionID: "s", ContentType: queue.ContentType, Body: []byte(`{"seq":7}`),
		ScheduledAt: l.now.Add(40*time.Minute + 1500*time.Millisecond),
	}
	if err := q.Send(t.Context(), "q", sent); err != nil {
		t.Fatal(err)
	}
	d, ok, err := q.Receive(t.Context(), "q", "", time.Hour)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff(sent, d.Message); diff != "" {
		t.Errorf("after the hops (-sent +received):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{900, 900, 602}, l.delays); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
	if l.now.Before(sent.ScheduledAt) || len(l.messages) != 1 {
		t.Errorf("received at %v with %d copies", l.now, len(l.messages))
	}
}

func TestNothingIsReceivedBeforeItsTime(t *testing.T) {
	l, q := newLine()
	if err := q.Send(t.Context(), "q", queue.Message{ID: "m", ScheduledAt: l.now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := q.Receive(t.Context(), "q", "", 50*time.Minute); ok || err != nil {
		t.Errorf("received %t, %v", ok, err)
	}
	if len(l.messages) != 1 {
		t.Errorf("%d messages are left", len(l.messages))
	}
}

// A hop fails before the message is sent on, or after: it is never lost, and at worst there are two.
func TestFailedHopLosesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		plan   func(*line, error)
		copies int
	}{
		{"before it is sent on", func(l *line, err error) { l.failSend = err }, 1},
		{"before the old one is removed", func(l *line, err error) { l.failGone = err }, 2},
	} {
		l, q := newLine()
		if err := q.Send(t.Context(), "q", queue.Message{ID: "m", ScheduledAt: l.now.Add(20 * time.Minute)}); err != nil {
			t.Fatal(err)
		}
		c.plan(l, &smithy.GenericAPIError{Code: "InternalFailure"})
		if _, ok, err := q.Receive(t.Context(), "q", "", time.Hour); ok || !fault.Is(err, fault.MayHaveHappened) {
			t.Errorf("%s: received %t, %v", c.name, ok, err)
		}
		if len(l.messages) != c.copies {
			t.Errorf("%s: %d copies, want %d", c.name, len(l.messages), c.copies)
		}
		c.plan(l, nil)
		if d, ok, err := q.Receive(t.Context(), "q", "", time.Hour); err != nil || !ok || d.ID != "m" {
			t.Errorf("%s: then %q, %t, %v", c.name, d.ID, ok, err)
		}
	}
}

func TestForwardLeavesWhatIsDue(t *testing.T) {
	l, q := newLine()
	for at, want := range map[time.Time]bool{{}: false, l.now: false, l.now.Add(time.Millisecond): true} {
		if got, err := q.Forward(t.Context(), "q", queue.Message{ID: "m", ScheduledAt: at}); got != want || err != nil {
			t.Errorf("%v: forwarded %t, %v", at, got, err)
		}
	}
}

func TestOneSessionAloneIsRefused(t *testing.T) {
	_, q := newLine()
	if _, _, err := q.Receive(t.Context(), "q", "g1", 0); !fault.Is(err, fault.Refused) {
		t.Errorf("got %v", err)
	}
}
