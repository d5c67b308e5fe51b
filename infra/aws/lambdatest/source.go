package lambdatest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Source is an event source mapping from a queue to a function, with partial batch responses.
type Source struct {
	API      *sqs.Client
	QueueURL string
	ARN      string
	Batch    int32         // most messages of one event
	Limit    time.Duration // of an invocation
	Function *Function

	// Repeat says of each message, the first being 1, whether it is handed over a second time although it was
	// done with, as a standard queue may; nil repeats none. The copy comes with a later batch, and such a source
	// hands over what it has in reverse order.
	Repeat func(n int) bool

	seen, repeated int
	late           []types.Message // copies that are still to be handed over
}

// Repeated is how many copies were handed over. It must not be asked while a turn is under way.
func (s *Source) Repeated() int { return s.repeated }

// hidden is how long a message that is being handled is hidden from others.
const hidden = 10 * time.Minute

// Turn waits up to wait for messages, invokes the function with them, and deletes those that are done with.
// Those that failed are given back at once, where Lambda would leave them hidden for a while. n is how many
// there were; err is what failed the whole batch, or the queue's own failure.
func (s *Source) Turn(ctx context.Context, wait time.Duration) (n int, err error) {
	out, err := s.API.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &s.QueueURL, MaxNumberOfMessages: s.Batch, MessageAttributeNames: []string{"All"},
		WaitTimeSeconds:             int32(wait / time.Second),   //nolint:gosec // a few
		VisibilityTimeout:           int32(hidden / time.Second), //nolint:gosec // a constant
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil || len(out.Messages)+len(s.late) == 0 {
		return 0, err
	}
	failed, err := s.invoke(ctx, s.mixed(out.Messages))
	for _, m := range out.Messages {
		if again := err != nil || slices.Contains(failed, aws.ToString(m.MessageId)); s.settle(ctx, m, again) != nil {
			return len(out.Messages), ctx.Err()
		}
	}
	return len(out.Messages), err
}

// mixed returns the batch as it is handed over, with the copies of earlier messages, and sets aside those that
// will come again.
func (s *Source) mixed(batch []types.Message) []types.Message {
	if s.Repeat == nil {
		return batch
	}
	over := slices.Concat(batch, s.late)
	slices.Reverse(over)
	s.repeated += len(s.late)
	s.late = nil
	for _, m := range batch {
		if s.seen++; s.Repeat(s.seen) {
			s.late = append(s.late, m)
		}
	}
	return over
}

func (s *Source) settle(ctx context.Context, m types.Message, again bool) error {
	if again {
		_, err := s.API.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &s.QueueURL, ReceiptHandle: m.ReceiptHandle})
		return err
	}
	_, err := s.API.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &s.QueueURL, ReceiptHandle: m.ReceiptHandle})
	return err
}

// invoke returns the ids of the messages that have failed.
func (s *Source) invoke(ctx context.Context, messages []types.Message) (failed []string, err error) {
	event := events.SQSEvent{}
	for _, m := range messages {
		event.Records = append(event.Records, s.record(m))
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	body, err := s.Function.Invoke(ctx, payload, s.Limit)
	if err != nil {
		return nil, err
	}
	var answer events.SQSEventResponse
	if err := json.Unmarshal(body, &answer); err != nil || answer.BatchItemFailures == nil {
		return nil, fmt.Errorf("no partial batch response: %s", body)
	}
	for _, f := range answer.BatchItemFailures {
		failed = append(failed, f.ItemIdentifier)
	}
	return failed, nil
}

func (s *Source) record(m types.Message) events.SQSMessage {
	r := events.SQSMessage{
		MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
		Attributes: m.Attributes, MessageAttributes: map[string]events.SQSMessageAttribute{},
		EventSource: "aws:sqs", EventSourceARN: s.ARN, AWSRegion: "eu-west-1",
	}
	for name, a := range m.MessageAttributes {
		r.MessageAttributes[name] = events.SQSMessageAttribute{StringValue: a.StringValue, DataType: aws.ToString(a.DataType)}
	}
	return r
}
