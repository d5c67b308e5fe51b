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
	"prowgate/shared/store"
	"prowgate/shared/store/storeurl"
	"prowgate/shared/telemetry"
)

// parts are what the handler is made of.
type parts struct {
	engine  *engine.Engine
	records store.Store
	release func(context.Context) error // lets go of them, once no call is under way any more
}

// wire makes the parts that the settings name.
func wire(s config.Settings, clock func() time.Time, log *slog.Logger, told *telemetry.Telemetry) (parts, error) {
	token, err1 := tokenOf(s, clock, log)
	sender, err2 := queueurl.Open(s.QueueURL.Reveal())
	records, closer, err3 := storeurl.Open(s.StoreURL.Reveal())
	if err3 != nil {
		err3 = fmt.Errorf("STORE_URL: %w", err3)
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return parts{}, err
	}
	release := func(ctx context.Context) error { return errors.Join(sender.Close(ctx), closer.Close()) }
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
	e := engine.New(engine.Parts{
		Gangway:         gangway.NewClient(servers("gangway")),
		Deck:            gangway.NewDeck(servers("deck")),
		Artifacts:       gangway.NewArtifacts(servers("artifacts")),
		Store:           told.Store(records),
		Queue:           told.Sender(sender),
		Queues:          engine.Queues{Poll: s.PollQueue, Completion: s.CompletionQueue},
		Clock:           clock,
		Log:             log,
		Watch:           told.Watch(),
		RatePerMinute:   s.RatePerMinute,
		Burst:           s.Burst,
		ExclusiveLabels: s.ExclusiveLabels,
	})
	return parts{engine: e, records: records, release: release}, nil
}

// tokenOf returns where the token for Gangway comes from: the vault, or the setting.
func tokenOf(s config.Settings, clock func() time.Time, log *slog.Logger) (*secret.Source, error) {
	if s.GangwayTokenURI == "" {
		return secret.Fixed(s.GangwayToken.Reveal(), clock, log), nil
	}
	read, err := keyvault.Reader(s.GangwayTokenURI, keyvault.Config{})
	if err != nil {
		return nil, fmt.Errorf("GANGWAY_TOKEN_URI: %w", err)
	}
	return secret.New(read, clock, log), nil
}
