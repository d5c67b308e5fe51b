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

	"prowgate/gangway"
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
	p := parts{queues: queues, records: records}
	servers := func(peer string) gangway.Config {
		return gangway.Config{
			GangwayURL:   s.GangwayURL,
			ProwURL:      s.ProwURL,
			ArtifactsURL: s.ArtifactsURL,
			Token:        token.Token,
			TokenRefused: token.Refused,
			Transport:    told.Transport(peer, nil),
			Clock:        clock,
		}
	}
	p.engine = engine.New(engine.Parts{
		Gangway:         gangway.NewClient(servers("gangway")),
		Deck:            gangway.NewDeck(servers("deck")),
		Artifacts:       gangway.NewArtifacts(servers("artifacts")),
		Store:           told.Store(p.records),
		Queue:           told.Sender(p.queues),
		Queues:          engine.Queues{Poll: s.PollQueue, Completion: s.CompletionQueue},
		Clock:           clock,
		Log:             log,
		Watch:           told.Watch(),
		RatePerMinute:   s.RatePerMinute,
		Burst:           s.Burst,
		ExclusiveLabels: s.ExclusiveLabels,
	})
	return p, nil
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
