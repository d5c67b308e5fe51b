package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"prowgate/gangway"
	"prowgate/shared/config"
	"prowgate/shared/engine"
	"prowgate/shared/queue/queueurl"
	"prowgate/shared/secret"
	"prowgate/shared/secret/keyvault"
	"prowgate/shared/store/storeurl"
)

// wire makes the engine of the parts that the settings name. What it returns beside it lets go of
// them, once no call is under way any more.
func wire(s config.Settings, clock func() time.Time, log *slog.Logger) (*engine.Engine, func(context.Context) error, error) {
	token, err := tokenOf(s, clock, log)
	if err != nil {
		return nil, nil, fmt.Errorf("GANGWAY_TOKEN_URI: %w", err)
	}
	sender, err := queueurl.Open(s.QueueURL.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("QUEUE_URL: %w", err)
	}
	records, closer, err := storeurl.Open(s.StoreURL.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("STORE_URL: %w", err)
	}
	release := func(ctx context.Context) error { return errors.Join(sender.Close(ctx), closer.Close()) }
	servers := gangway.Config{
		GangwayURL:   s.GangwayURL,
		ProwURL:      s.ProwURL,
		ArtifactsURL: s.ArtifactsURL,
		Token:        token.Token,
		TokenRefused: token.Refused,
		Clock:        clock,
	}
	return engine.New(engine.Parts{
		Gangway:         gangway.NewClient(servers),
		Deck:            gangway.NewDeck(servers),
		Artifacts:       gangway.NewArtifacts(servers),
		Store:           records,
		Queue:           sender,
		Queues:          engine.Queues{Poll: s.PollQueue, Completion: s.CompletionQueue},
		Clock:           clock,
		Log:             log,
		RatePerMinute:   s.RatePerMinute,
		Burst:           s.Burst,
		ExclusiveLabels: s.ExclusiveLabels,
	}), release, nil
}

// tokenOf returns where the token for Gangway comes from: the vault, or the setting.
func tokenOf(s config.Settings, clock func() time.Time, log *slog.Logger) (*secret.Source, error) {
	if s.GangwayTokenURI == "" {
		return secret.Fixed(s.GangwayToken.Reveal(), clock, log), nil
	}
	read, err := keyvault.Reader(s.GangwayTokenURI, keyvault.Config{})
	if err != nil {
		return nil, err
	}
	return secret.New(read, clock, log), nil
}
