package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"prowgate/functions"
	"prowgate/shared/azurefn"
	"prowgate/shared/config"
)

// invocationTimeout is how long one invocation may take. It is the sum of what the slowest message can
// need (all of Deck's jobs, a few calls to Gangway, the store), and less than functionTimeout in
// host.json, at which the host restarts the process with everything that runs in it.
const invocationTimeout = 4 * time.Minute

// run serves the functions until ctx ends. A line on out says when it listens. An error names every
// setting that is wrong, and holds no secret.
func run(ctx context.Context, out io.Writer, clock func() time.Time) error {
	settings, err := config.Load()
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	log := slog.New(azurefn.NewLog(out, settings.LogLevel))
	e, release, err := wire(settings, clock, log)
	if err != nil {
		return err
	}
	handler := azurefn.New(azurefn.Config{Functions: adapt(functions.Set(e)), Log: log, Timeout: invocationTimeout})
	err = serve(ctx, settings.Port, handler, log)
	return errors.Join(err, release(context.WithoutCancel(ctx)))
}

// adapt puts the functions behind the host's protocol: a failed invocation is one whose message has to
// be delivered again.
func adapt(set map[string]functions.Handler) map[string]azurefn.Handler {
	handlers := make(map[string]azurefn.Handler, len(set))
	for name, handle := range set {
		handlers[name] = func(ctx context.Context, in azurefn.Invocation) error {
			if err := handle(ctx, in.Body); functions.Redeliver(err) {
				return err
			}
			return nil
		}
	}
	return handlers
}
