package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// opens are the forms of settings that this program links adapters for: those of AWS alone. Of the other programs
// only the command `gate` links any of them.
func opens() []config.Form {
	return []config.Form{config.FormSQS, config.FormDynamoDB, config.FormSecretsManager}
}

// wire makes the parts that the settings name, whose forms are among those it opens.
func wire(ctx context.Context, s config.Settings, clock func() time.Time, log *slog.Logger, told *telemetry.Telemetry) (parts, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return parts{}, fmt.Errorf("AWS settings: %w", err)
	}
	queues, err1 := sqs.Open(cfg, s.QueueURL.Reveal(), clock)
	if err1 != nil {
		err1 = fmt.Errorf("QUEUE_URL: %w", err1)
	}
	_, table, err2 := config.StoreForm(s.StoreURL.Reveal())
	if err := errors.Join(err1, err2); err != nil {
		return parts{}, err
	}
	records := dynamodb.New(cfg, table)
	e := assemble.Engine(s, assemble.Cloud{Token: tokenOf(cfg, s, clock, log), Records: records, Sender: queues}, clock, log, told)
	return parts{engine: e, queues: queues, records: records}, nil
}

// tokenOf returns where the token for Gangway comes from: Secrets Manager, or the setting.
func tokenOf(cfg aws.Config, s config.Settings, clock func() time.Time, log *slog.Logger) *secret.Source {
	if s.GangwayTokenURI == "" {
		return secret.Fixed(s.GangwayToken.Reveal(), clock, log)
	}
	return secret.New(readSecret(cfg, s.GangwayTokenURI), clock, log)
}
