package sqs_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"prowgate/infra/wire"
	"prowgate/shared/queue"
	"prowgate/shared/queue/queuetest"
	"prowgate/shared/queue/sqs"
)

func config() aws.Config {
	return aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}
}

// at returns the configuration of the server of this test, whose queue URLs hold a host that nothing
// resolves.
func at(address string) aws.Config {
	cfg := config()
	cfg.BaseEndpoint = aws.String("http://" + address)
	return cfg
}

func TestSuiteOverTheWire(t *testing.T) {
	cfg := at(wire.Start(t, "sqs.mjs"))
	admin := awssqs.NewFromConfig(cfg)
	var made atomic.Int64
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		plain := fmt.Sprint("plain-", made.Add(1))
		base := createWithDeadLetters(t, admin, plain)
		q, err := sqs.Open(cfg, "sqs:"+base, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return queuetest.Harness{
			Sender: q, Receiver: q, Plain: plain,
			MaxDeliveries: 3, Patience: 5 * time.Second,
			Lacks: map[queuetest.Capability]string{
				queuetest.Order:            "standard queues of SQS keep none",
				queuetest.DeadLetterReason: "SQS does not say why it moved a message",
				queuetest.Supplementary:    "the test's server refuses what SQS itself takes (SQS API, SendMessage)",
				queuetest.TimeToLive:       "SQS has a retention of a queue and none of a message",
				queuetest.LockTokens:       "SQS may take an old receipt handle for a good one",
			},
		}
	})
}

// createWithDeadLetters makes a queue with its dead-letter queue, and returns the base of their URLs.
func createWithDeadLetters(t *testing.T, admin *awssqs.Client, name string) string {
	t.Helper()
	dead := name + sqs.DeadLetterSuffix
	create := func(name string, attributes map[string]string) string {
		out, err := admin.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String(name), Attributes: attributes})
		if err != nil {
			t.Fatal(err)
		}
		return aws.ToString(out.QueueUrl)
	}
	deadURL := create(dead, nil)
	out, err := admin.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: aws.String(deadURL), AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	if err != nil {
		t.Fatal(err)
	}
	url := create(name, map[string]string{
		"MaximumMessageSize": "1048576", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"3"}`, out.Attributes["QueueArn"]),
	})
	return strings.TrimSuffix(url, "/"+name)
}

// wireQueue is a queue "q" of its own, which gives a message three times.
func wireQueue(t *testing.T) *sqs.Queues {
	t.Helper()
	cfg := at(wire.Start(t, "sqs.mjs"))
	q, err := sqs.Open(cfg, createWithDeadLetters(t, awssqs.NewFromConfig(cfg), "q")+"/", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func send(t *testing.T, q *sqs.Queues, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := q.Send(t.Context(), "q", queue.Message{ID: id, Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
}

func receive(t *testing.T, q *sqs.Queues, name string) queue.Delivery {
	t.Helper()
	d, ok, err := q.Receive(t.Context(), name, "", 5*time.Second)
	if err != nil || !ok {
		t.Fatalf("receive from %s: %t, %v", name, ok, err)
	}
	return d
}

// Nothing hides a copy from a receiver: who receives has to take a second one for the first.
func TestCopiesArrive(t *testing.T) {
	q := wireQueue(t)
	send(t, q, "g1.tick.2", "g1.tick.2")
	if a, b := receive(t, q, "q"), receive(t, q, "q"); a.ID != "g1.tick.2" || b.ID != a.ID || a.Lock == b.Lock {
		t.Errorf("got %+v and %+v", a, b)
	}
}
