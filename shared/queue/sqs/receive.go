package sqs

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

const (
	// lockDuration is how long a received message is hidden from others. Renew starts it again.
	lockDuration = 5 * time.Minute
	// maxWait is the longest wait of one call (SQS API, ReceiveMessage: WaitTimeSeconds).
	maxWait = 20 * time.Second
)

// Receive waits up to wait for a message, in whole seconds; see queue.Receiver. A message that is not
// due yet is sent on and waited past. SQS cannot receive for one session alone.
func (q *Queues) Receive(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	if session != "" {
		return queue.Delivery{}, false, &fault.Error{Kind: fault.Refused, Op: "receive", Text: "SQS cannot receive for one session alone"}
	}
	for end := q.clock().Add(wait); ; {
		d, found, err := q.next(ctx, name, end.Sub(q.clock()))
		if err != nil {
			return queue.Delivery{}, false, err
		}
		if found {
			d, found, err = q.due(ctx, name, d)
		}
		if err != nil || found || !q.clock().Before(end) {
			return d, found, err
		}
	}
}

// next makes one call for one message.
func (q *Queues) next(ctx context.Context, name string, wait time.Duration) (d queue.Delivery, found bool, err error) {
	wait = (min(max(wait, 0), maxWait) + time.Second - 1).Truncate(time.Second)
	in := &sqs.ReceiveMessageInput{
		QueueUrl: q.url(name), MaxNumberOfMessages: 1,
		WaitTimeSeconds:       int32(wait / time.Second),         //nolint:gosec // at most 20
		VisibilityTimeout:     int32(lockDuration / time.Second), //nolint:gosec // a constant
		MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{
			types.MessageSystemAttributeNameApproximateReceiveCount, types.MessageSystemAttributeNameSentTimestamp,
		},
	}
	err = q.call(ctx, "receive", name, wait, func(ctx context.Context) error {
		out, err := q.api.ReceiveMessage(ctx, in)
		if err != nil || len(out.Messages) == 0 {
			return err
		}
		found = true
		d, err = delivery(out.Messages[0], q.clock())
		return err
	})
	return d, found, err
}

// due returns d if its time has come; otherwise it sends the message on and then takes it from here.
// Whoever dies in between leaves two copies, which is harmless, and never none.
func (q *Queues) due(ctx context.Context, name string, d queue.Delivery) (queue.Delivery, bool, error) {
	forwarded, err := q.Forward(ctx, name, d.Message)
	if err != nil || !forwarded {
		return d, !forwarded && err == nil, err
	}
	return queue.Delivery{}, false, q.Complete(ctx, name, d)
}

// delivery reads a message of SQS. It has no number of the broker's: standard queues keep no order.
func delivery(m types.Message, now time.Time) (queue.Delivery, error) {
	attributes := make(map[string]string, len(m.MessageAttributes))
	for key, value := range m.MessageAttributes {
		attributes[key] = aws.ToString(value.StringValue)
	}
	message, err := Decode(aws.ToString(m.MessageId), aws.ToString(m.Body), attributes)
	if err != nil {
		return queue.Delivery{}, &fault.Error{Kind: fault.Refused, Op: "receive", Err: err}
	}
	d := queue.Delivery{Message: message, Lock: aws.ToString(m.ReceiptHandle), LockedUntil: now.Add(lockDuration)}
	d.DeliveryCount, _ = strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	if ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64); err == nil {
		d.EnqueuedAt = time.UnixMilli(ms).UTC()
	}
	return d, nil
}

// Complete removes the message for good. SQS may take an old receipt handle for a good one, so that a
// lock that is gone is not always a Conflict.
func (q *Queues) Complete(ctx context.Context, name string, d queue.Delivery) error {
	return q.call(ctx, "complete", name, 0, func(ctx context.Context) error {
		_, err := q.api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: q.url(name), ReceiptHandle: aws.String(d.Lock)})
		return err
	})
}

// Abandon gives the message back for redelivery at once.
func (q *Queues) Abandon(ctx context.Context, name string, d queue.Delivery) error {
	return q.GiveBack(ctx, name, d.Lock, 0)
}

// GiveBack gives a message back, by its receipt handle, for redelivery after that time: whole seconds, 12
// hours at most. A Lambda event source leaves a failed message hidden to the end of its lock.
func (q *Queues) GiveBack(ctx context.Context, name, lock string, after time.Duration) error {
	return q.hide(ctx, "abandon", name, lock, after)
}

// Renew hides the message for another lockDuration and returns the new end.
func (q *Queues) Renew(ctx context.Context, name string, d queue.Delivery) (time.Time, error) {
	until := q.clock().Add(lockDuration)
	return until, q.hide(ctx, "renew", name, d.Lock, lockDuration)
}

func (q *Queues) hide(ctx context.Context, op, name, lock string, lasting time.Duration) error {
	return q.call(ctx, op, name, 0, func(ctx context.Context) error {
		_, err := q.api.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
			QueueUrl: q.url(name), ReceiptHandle: aws.String(lock),
			VisibilityTimeout: int32(min(lasting, 12*time.Hour) / time.Second), //nolint:gosec // at most 43,200
		})
		return err
	})
}
