// Package telemetry sends traces and metrics to an OpenTelemetry collector, by OTLP over HTTP. It is off
// unless a collector is named: then every wrapper returns what it was given, and nothing runs.
//
// One gate is one trace: a message carries the context of whoever sent it (Sender), and the invocation that
// takes it goes on with that (Run). Nothing of a request's query, headers or body is ever told, and no text
// leaves with an EV2 marker in it. A collector that is away or slow costs what was to be sent, and no
// invocation: spans wait in a bounded queue that is emptied behind the work.
//
// Entry point: Start.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"

	"prowgate/shared/engine"
)

// scope names this program in everything it sends.
const scope = "prowgate"

// Config says what to send. Where to, and how often, the SDK reads from the standard OTEL_ variables of the
// environment; package config has checked them by then.
type Config struct {
	Traces, Metrics bool
	Log             *slog.Logger      // is told of a collector that does not answer
	Clock           func() time.Time  // is asked when such a one is tried again
	Transport       http.RoundTripper // carries the exports; nil: one with the certificates that the variables name
}

// Telemetry is what a handler is watched with. Nil and the zero value are off. Its methods may be used by many
// goroutines at once.
type Telemetry struct {
	tracer   trace.Tracer // nil: no traces
	watch    engine.Watch // nil: neither traces nor metrics
	signals  []signal
	troubles *troubles
	clock    func() time.Time
	mu       sync.Mutex
	resumeAt time.Time // no Flush before
}

// signal is one of the SDK's two providers.
type signal interface {
	ForceFlush(ctx context.Context) error
	Shutdown(ctx context.Context) error
}

// Start begins to send what the settings ask for; it connects to nothing yet. An error means settings of
// OpenTelemetry that contradict one another, or name a certificate that cannot be read.
func Start(ctx context.Context, c Config) (*Telemetry, error) {
	if !c.Traces && !c.Metrics {
		return &Telemetry{}, nil
	}
	t := &Telemetry{clock: c.Clock, troubles: newTroubles(c.Log, c.Clock)}
	// The SDK tells of its own affairs through the process; it would print them to stderr, as no line of JSON.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { t.troubles.note(context.WithoutCancel(ctx), err) }))
	from, err := origin(ctx)
	if err != nil {
		return nil, err
	}
	meter := metric.Meter(noop.Meter{})
	if c.Traces {
		traces, err := newTraces(ctx, c, from, t.troubles)
		if err != nil {
			return nil, fmt.Errorf("traces: %w", err)
		}
		t.tracer, t.signals = traces.Tracer(scope), append(t.signals, traces)
	}
	if c.Metrics {
		metrics, err := newMetrics(ctx, c, from, t.troubles)
		if err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
		meter, t.signals = metrics.Meter(scope), append(t.signals, metrics)
	}
	t.watch, err = newWatch(meter)
	return t, err
}

// Watch returns the engine's watcher, nil when nothing is sent.
func (t *Telemetry) Watch() engine.Watch {
	if t == nil || t.watch == nil {
		return nil
	}
	return t.watch
}

func (t *Telemetry) traced() bool { return t != nil && t.tracer != nil }

const (
	// flushTime bounds a Flush, which a message waits for.
	flushTime = 500 * time.Millisecond
	// flushPause is how long a collector that failed one is left in peace.
	flushPause = time.Minute
	// stopTime bounds Stop.
	stopTime = 2 * time.Second
)

// Flush sends what is left, for whoever may be frozen next. It takes half a second at most, and after one that
// failed it does nothing for a minute.
func (t *Telemetry) Flush(ctx context.Context) {
	if t == nil || len(t.signals) == 0 || t.pausing() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	failures := t.troubles.count()
	t.each(func(s signal) error { return s.ForceFlush(ctx) })
	if ctx.Err() == nil && t.troubles.count() == failures {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resumeAt = t.clock().Add(flushPause)
}

func (t *Telemetry) pausing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock().Before(t.resumeAt)
}

// Stop sends what is left and ends what runs, in two seconds at most.
func (t *Telemetry) Stop(ctx context.Context) {
	if t == nil || len(t.signals) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	t.each(func(s signal) error { return s.Shutdown(ctx) })
}

// each does the same to both signals at once; a failure is told where it comes in.
func (t *Telemetry) each(do func(signal) error) {
	var wg sync.WaitGroup
	for _, s := range t.signals {
		wg.Go(func() { _ = do(s) })
	}
	wg.Wait()
}
