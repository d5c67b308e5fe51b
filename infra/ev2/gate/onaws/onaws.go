// Package onaws is what the command needs of AWS: queues in SQS, and requests to a Lambda function's URL that
// carry an AWS Signature Version 4, for which IAM lets them in. Both use the default chain of credentials:
// environment, shared files, web identity, container, instance.
//
// Entry points: Queues and Transport.
package onaws

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/fault"
	"prowgate/shared/queue/sqs"
)

// queueHost is the host of SQS in a region (docs.aws.amazon.com/general, Amazon SQS endpoints).
var queueHost = regexp.MustCompile(`(?i)^(?:sqs:)?https?://sqs(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?[:/]`)

// Queues returns the queues that raw, an SQS form of QUEUE_URL, names. It connects to nothing yet.
func Queues(ctx context.Context, raw string, clock func() time.Time) (*sqs.Queues, error) {
	var region string
	if m := queueHost.FindStringSubmatch(raw); m != nil {
		region = m[1]
	}
	cfg, err := load(ctx, region)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("the queues' region is not known: set AWS_REGION")
	}
	return sqs.Open(cfg, raw, clock)
}

// load reads the settings that AWS's own tools read. A region that is given goes before theirs.
func load(ctx context.Context, region string) (aws.Config, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(region))
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS settings: %w", err)
	}
	cfg.Credentials = aws.NewCredentialsCache(known{cfg.Credentials})
	return cfg, nil
}

// known gives the failure to get credentials its kind: without them no request is made.
type known struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (k known) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := k.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, &fault.Error{
			Kind: fault.NothingHappened, Text: "there are no AWS credentials: " + err.Error(),
			Err: fmt.Errorf("%w: %w", console.ErrNoCredentials, err),
		}
	}
	return c, nil
}
