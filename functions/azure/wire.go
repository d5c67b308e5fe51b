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
	"prowgate/shared/store/storeurl"
)

// wire makes the engine of the parts that the settings name. What it returns beside it lets go of
// them, once no call is under way any more.
func wire(s config.Settings, clock func() time.Time, log *slog.Logger) (*engine.Engine, func(context.Context) error, error) {
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
		Token:        func(context.Context) (string, error) { return s.GangwayToken.Reveal(), nil },
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
