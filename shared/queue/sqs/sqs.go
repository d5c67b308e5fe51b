// Package sqs keeps messages in standard queues of Amazon SQS. What SQS lacks is made up for here or
// left to the receivers:
//
//   - A delay of more than 15 minutes is made of hops: the message carries the time it is for, and who
//     receives it too early sends it on (Receive here, Forward for a Lambda event source).
//   - The sender's message id travels as an attribute. Nothing is dropped as a duplicate: the decision on
//     a gate acts on the current tick only and a completion keeps its id, so that a second copy of any
//     message changes nothing.
//   - There are no sessions and no time-to-live of a message; a queue's retention takes its place.
//   - The queue behind <queue>/$deadletterqueue is called <queue>-deadletter, and a redrive policy fills it.
//
// Entry point: Open.
package sqs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"prowgate/shared/awsfault"
	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

var (
	_ queue.Sender   = (*Queues)(nil)
	_ queue.Receiver = (*Queues)(nil)
)

const (
	// maxBody is the largest body, as everywhere; SQS itself takes 1 MiB with the attributes.
	maxBody = 256 << 10
	// maxDelay is the longest delay of one message (SQS API, SendMessage: DelaySeconds).
	maxDelay = 900 * time.Second
	// patience is how long a call may take, beyond the time that a receiver asked to wait.
	patience = 15 * time.Second
)

// API is what this package needs of the SDK's client.
type API interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, o ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(ctx context.Context, in *sqs.ChangeMessageVisibilityInput, o ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

// Queues are the queues of one account in one region. They retry nothing and may be used by many
// goroutines at once; see package awsfault for the kinds of their errors.
type Queues struct {
	api   API
	base  string // a queue's URL is this, a slash and its name
	clock func() time.Time
}

// Open returns the queues that raw names: https://sqs.<region>.amazonaws.com/<account>, or any other base
// of queue URLs after "sqs:". It connects to nothing. No error repeats raw.
func Open(cfg aws.Config, raw string, clock func() time.Time) (*Queues, error) {
	base := strings.TrimRight(raw, "/")
	if len(base) > len(prefix) && strings.EqualFold(base[:len(prefix)], prefix) {
		base = base[len(prefix):]
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Path == "" || u.User != nil {
		return nil, errors.New("SQS: the base of the queues' URLs must be a host and an account")
	}
	client := sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		if o.BaseEndpoint == nil { // an AWS_ENDPOINT_URL of the environment goes before the URL's own host
			o.BaseEndpoint = aws.String(u.Scheme + "://" + u.Host)
		}
		o.Retryer = aws.NopRetryer{} // the caller repeats, with the same message id
		o.HTTPClient = awsfault.Watch(o.HTTPClient)
	})
	return New(client, base, clock), nil
}

const prefix = "sqs:"

// New returns the queues below base that api reaches.
func New(api API, base string, clock func() time.Time) *Queues {
	return &Queues{api: api, base: base, clock: clock}
}

// Close implements the queue of package queueurl. Idle connections end by themselves.
func (*Queues) Close(context.Context) error { return nil }

// Send sends; see queue.Sender. TTL is the queue's retention here, whatever the message says.
func (q *Queues) Send(ctx context.Context, name string, m queue.Message) error {
	const op = "send"
	if len(m.Body) > maxBody {
		return &fault.Error{Kind: fault.Refused, Op: op, Text: fmt.Sprintf("%s: the body has %d bytes, more than %d", name, len(m.Body), maxBody), Err: fault.ErrContent}
	}
	body, attributes := encode(m, q.clock())
	for key, value := range attributes {
		if !printable(value) {
			return &fault.Error{Kind: fault.Refused, Op: op, Text: name + ": " + key + " has characters that SQS does not take", Err: fault.ErrContent}
		}
	}
	in := &sqs.SendMessageInput{
		QueueUrl: q.url(name), MessageBody: aws.String(body), DelaySeconds: delay(m.ScheduledAt, q.clock()),
		MessageAttributes: make(map[string]types.MessageAttributeValue, len(attributes)),
	}
	for key, value := range attributes {
		in.MessageAttributes[key] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(value)}
	}
	return q.call(ctx, op, name, 0, func(ctx context.Context) error {
		_, err := q.api.SendMessage(ctx, in)
		return err
	})
}

// Forward sends a message on that came before its time, and reports whether it did; one that is due is
// left to the caller. After an error the message must be kept: its redelivery forwards it again.
func (q *Queues) Forward(ctx context.Context, name string, m queue.Message) (bool, error) {
	if !m.ScheduledAt.After(q.clock()) {
		return false, nil
	}
	err := q.Send(ctx, name, m)
	return err == nil, err
}

// delay is how long SQS holds a message for that time: whole seconds, never too few, 15 minutes at most.
func delay(at, now time.Time) int32 {
	rest := at.Sub(now)
	if at.IsZero() || rest <= 0 {
		return 0
	}
	seconds := (min(rest, maxDelay) + time.Second - 1) / time.Second
	return int32(seconds) //nolint:gosec // at most 900
}

// url returns a queue's URL; the dead-letter suffix becomes the one that SQS allows in a name.
func (q *Queues) url(name string) *string {
	if live, ok := strings.CutSuffix(name, queue.DeadLetter); ok {
		name = live + DeadLetterSuffix
	}
	return aws.String(q.base + "/" + url.PathEscape(name))
}

// DeadLetterSuffix ends the name of a dead-letter queue in SQS.
const DeadLetterSuffix = "-deadletter"
