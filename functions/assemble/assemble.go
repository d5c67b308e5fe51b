// Package assemble makes the engine that the mains of all clouds run. A main brings what is its cloud's own; what a
// setting means for the engine is the same everywhere.
//
// Entry point: Engine.
package assemble

import (
	"log/slog"
	"time"

	"prowgate/gangway"
	"prowgate/shared/config"
	"prowgate/shared/engine"
	"prowgate/shared/queue"
	"prowgate/shared/secret"
	"prowgate/shared/store"
	"prowgate/shared/telemetry"
)

// Cloud is what differs between clouds.
type Cloud struct {
	Token   *secret.Source // for Gangway
	Records store.Store
	Sender  queue.Sender
}

// Engine returns the engine that the settings ask for, over the cloud's parts, watched by told.
func Engine(s config.Settings, c Cloud, clock func() time.Time, log *slog.Logger, told *telemetry.Telemetry) *engine.Engine {
	servers := func(peer string) gangway.Config {
		return gangway.Config{
			GangwayURL:   s.GangwayURL,
			ProwURL:      s.ProwURL,
			ArtifactsURL: s.ArtifactsURL,
			Token:        c.Token.Token,
			TokenRefused: c.Token.Refused,
			Transport:    told.Transport(peer, nil),
			Clock:        clock,
		}
	}
	return engine.New(engine.Parts{
		Gangway:         gangway.NewClient(servers("gangway")),
		Deck:            gangway.NewDeck(servers("deck")),
		Artifacts:       gangway.NewArtifacts(servers("artifacts")),
		Store:           told.Store(c.Records),
		Queue:           told.Sender(c.Sender),
		Queues:          engine.Queues{Poll: s.PollQueue, Completion: s.CompletionQueue},
		Clock:           clock,
		Log:             log,
		Watch:           told.Watch(),
		RatePerMinute:   s.RatePerMinute,
		Burst:           s.Burst,
		ExclusiveLabels: s.ExclusiveLabels,
	})
}
