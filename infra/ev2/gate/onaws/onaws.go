// Package onaws is what the command needs of AWS: queues in SQS, and requests to a Lambda function's URL that
// carry an AWS Signature Version 4, for which IAM lets them in. Both use the default chain of credentials:
// environment, shared files, web identity, container, instance.
//
// Entry points: Queues and Transport.
package onaws

import (
	"context"
	"fmt"
	"log"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/sqs"
)

// queueHost is the host of SQS in a region (docs.aws.amazon.com/general, Amazon SQS endpoints).
var queueHost = regexp.MustCompile(`(?i)^(?:sqs:)?https?://sqs(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?[:/]`)

// identityLimit is how long the wait for credentials may take. It is shorter than the patience of the call that they
// are for, so that the lack of them is seen as what it is.
const identityLimit = 10 * time.Second

// Identified are queues that ask for credentials before they send.
type Identified struct {
	*sqs.Queues
	identity aws.CredentialsProvider
}

// Send sends; see queue.Sender. Without credentials nothing was sent, and the error's chain has
// console.ErrNoCredentials, also when the time for them was over or ctx has ended.
func (q *Identified) Send(ctx context.Context, name string, m queue.Message) error {
	if _, err := q.identity.Retrieve(ctx); err != nil {
		return err
	}
	return q.Queues.Send(ctx, name, m)
}

// Queues returns the queues that raw, an SQS form of QUEUE_URL, names. It connects to nothing yet.
func Queues(ctx context.Context, raw string, clock func() time.Time) (*Identified, error) {
	return queues(ctx, raw, clock, identityLimit)
}

func queues(ctx context.Context, raw string, clock func() time.Time, limit time.Duration) (*Identified, error) {
	var region string
	if m := queueHost.FindStringSubmatch(raw); m != nil {
		region = m[1]
	}
	cfg, err := load(ctx, region, limit)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("the queues' region is not known: set AWS_REGION")
	}
	q, err := sqs.Open(cfg, raw, clock)
	if err != nil {
		return nil, err
	}
	return &Identified{q, cfg.Credentials}, nil
}

// load reads the settings that AWS's own tools read. A region that is given goes before theirs. What the SDK says by
// itself goes where package log writes. The wait for credentials ends after limit.
func load(ctx context.Context, region string, limit time.Duration) (aws.Config, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(region),
		// The SDK's search for credentials outlives whoever waits for it (aws/credential_cache.go), and the next to
		// wait joins it: a request that gets no answer has to end by itself.
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(limit)),
		awsconfig.WithLogger(logging.LoggerFunc(func(c logging.Classification, format string, v ...any) {
			log.Printf("SDK "+string(c)+" "+format, v...)
		})))
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS settings: %w", err)
	}
	cfg.Credentials = known{cfg.Credentials, limit}
	return cfg, nil
}

// known bounds the wait for credentials and gives its failure a kind: without them no request is made. It stands
// before the SDK's cache, which gives up by itself when ctx ends.
type known struct {
	aws.CredentialsProvider
	limit time.Duration
}

// Retrieve implements aws.CredentialsProvider.
func (k known) Retrieve(ctx context.Context) (aws.Credentials, error) {
	ctx, stop := context.WithTimeout(ctx, k.limit)
	defer stop()
	c, err := k.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, &fault.Error{
			Kind: fault.NothingHappened, Text: "there are no AWS credentials: " + err.Error(),
			Err: fmt.Errorf("%w: %w", console.ErrNoCredentials, err),
		}
	}
	return c, nil
}
