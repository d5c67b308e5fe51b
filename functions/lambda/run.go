package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"prowgate/functions"
	"prowgate/functions/page"
	"prowgate/shared/azurefn"
	"prowgate/shared/config"
	"prowgate/shared/telemetry"
)

// where is what the page says of the place it runs at.
const where = "AWS Lambda"

// run makes the handler of the functions. An error names every setting that is wrong, and holds no secret.
func run(ctx context.Context, out io.Writer, clock func() time.Time) (*handler, error) {
	settings, err := config.Load(opens()...)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	log := slog.New(azurefn.NewLog(out, settings.LogLevel, scopeOf, telemetry.LogAttrs)) // a line of JSON each, without markers
	// What libraries print by package log, net/http for one, goes the same way.
	slog.SetDefault(log)
	told, err := telemetry.Start(ctx, telemetry.Config{Traces: settings.Traces, Metrics: settings.Metrics, Log: log, Clock: clock})
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry: %w", err)
	}
	p, err := wire(ctx, settings, clock, log, told)
	if err != nil {
		return nil, err
	}
	return &handler{
		functions: functions.Set(p.engine),
		byQueue: map[string]string{
			settings.SubmitQueue: "submit", settings.PollQueue: "poll", settings.CancelQueue: "cancel",
		},
		queues: p.queues,
		status: status{records: p.records, page: page.Handler(p.records, where, clock, log), log: log},
		told:   told,
		log:    log,
	}, nil
}
