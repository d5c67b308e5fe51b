package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"prowgate/functions"
	"prowgate/functions/page"
	"prowgate/shared/azurefn"
	"prowgate/shared/config"
	"prowgate/shared/telemetry"
)

// invocationTimeout is how long one invocation may take. It is the sum of what the slowest message can
// need (all of Deck's jobs, a few calls to Gangway, the store), and less than functionTimeout in
// host.json, at which the host restarts the process with everything that runs in it.
const invocationTimeout = 4 * time.Minute

// where is what the page says of the place it runs at.
const where = "Azure Functions"

// run serves the functions until ctx ends. A line on out says when it listens. An error names every
// setting that is wrong, and holds no secret.
func run(ctx context.Context, out io.Writer, clock func() time.Time) error {
	settings, err := config.Load(opens()...)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	log := slog.New(azurefn.NewLog(out, settings.LogLevel, telemetry.LogAttrs))
	// What libraries print by package log, net/http for one, goes the same way.
	slog.SetDefault(log)
	told, err := telemetry.Start(ctx, telemetry.Config{Traces: settings.Traces, Metrics: settings.Metrics, Log: log, Clock: clock})
	if err != nil {
		return fmt.Errorf("OpenTelemetry: %w", err)
	}
	defer told.Stop(context.WithoutCancel(ctx)) // the host kills; what was not sent by then is lost
	p, err := wire(settings, clock, log, told)
	if err != nil {
		return err
	}
	handler := azurefn.New(azurefn.Config{
		Functions: adapt(functions.Set(p.engine), told),
		HTTP:      azurefn.HTTPFunction{Name: page.Name, Handler: page.Handler(p.records, where, clock, log)},
		Log:       log,
		Timeout:   invocationTimeout,
		Wait:      functions.Wait,
		Secret:    os.Getenv(azurefn.SecretSetting), // no setting of the service: it is between a host and its handler
	})
	err = serve(ctx, settings.Port, handler, log)
	return errors.Join(err, p.release(context.WithoutCancel(ctx)))
}

// adapt puts the functions behind the host's protocol, each invocation in a span of its own: a failed one is
// one whose message has to be delivered again.
func adapt(set map[string]functions.Handler, told *telemetry.Telemetry) map[string]azurefn.Handler {
	handlers := make(map[string]azurefn.Handler, len(set))
	for name, handle := range set {
		handlers[name] = func(ctx context.Context, in azurefn.Invocation) error {
			err := told.Run(ctx, about(in), func(ctx context.Context) error { return handle(ctx, in.Body) })
			if functions.Redeliver(err) {
				return err
			}
			return nil
		}
	}
	return handlers
}

func about(in azurefn.Invocation) telemetry.Invocation {
	return telemetry.Invocation{
		Function: in.Function, ID: in.ID, MessageID: in.MessageID, Delivery: in.DeliveryCount, Trace: in.Trace, Body: in.Body,
	}
}
