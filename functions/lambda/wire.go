package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"prowgate/functions/assemble"
	"prowgate/shared/config"
	"prowgate/shared/engine"
	"prowgate/shared/queue/sqs"
	"prowgate/shared/secret"
	"prowgate/shared/store"
	"prowgate/shared/store/dynamodb"
	"prowgate/shared/telemetry"
)

// parts are what the handler is made of.
type parts struct {
	engine  *engine.Engine
	queues  *sqs.Queues
	records store.Store
}

// wire makes the parts that the settings name. This program opens the forms of AWS alone, so that it links
// no other cloud's libraries; of the other programs only the command `gate` links those of AWS.
func wire(ctx context.Context, s config.Settings, clock func() time.Time, log *slog.Logger, told *telemetry.Telemetry) (parts, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return parts{}, fmt.Errorf("AWS settings: %w", err)
	}
	token, err1 := tokenOf(cfg, s, clock, log)
	queues, err2 := openQueues(cfg, s, clock)
	records, err3 := openRecords(cfg, s)
	if err := errors.Join(err1, err2, err3); err != nil {
		return parts{}, err
	}
	e := assemble.Engine(s, assemble.Cloud{Token: token, Records: records, Sender: queues}, clock, log, told)
	return parts{engine: e, queues: queues, records: records}, nil
}

func openQueues(cfg aws.Config, s config.Settings, clock func() time.Time) (*sqs.Queues, error) {
	raw := s.QueueURL.Reveal()
	if form, err := config.QueueForm(raw); err != nil || form != config.FormSQS {
		return nil, errors.New("QUEUE_URL: the functions in AWS take the SQS form alone")
	}
	return sqs.Open(cfg, raw, clock)
}

func openRecords(cfg aws.Config, s config.Settings) (store.Store, error) {
	form, table, err := config.StoreForm(s.StoreURL.Reveal())
	if err != nil || form != config.FormDynamoDB {
		return nil, errors.New("STORE_URL: the functions in AWS take dynamodb:<table> alone")
	}
	return dynamodb.New(cfg, table), nil
}

// tokenOf returns where the token for Gangway comes from: Secrets Manager, or the setting.
func tokenOf(cfg aws.Config, s config.Settings, clock func() time.Time, log *slog.Logger) (*secret.Source, error) {
	switch {
	case s.GangwayTokenURI == "":
		return secret.Fixed(s.GangwayToken.Reveal(), clock, log), nil
	case !strings.HasPrefix(s.GangwayTokenURI, "arn:"):
		return nil, errors.New("GANGWAY_TOKEN_URI: the functions in AWS take the ARN of a Secrets Manager secret alone")
	}
	return secret.New(readSecret(cfg, s.GangwayTokenURI), clock, log), nil
}
