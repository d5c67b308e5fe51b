package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"prowgate/shared/azurefn"
	"prowgate/shared/gate"
	"prowgate/shared/telemetry"
	"prowgate/shared/telemetry/collectortest"
)

// clean leaves no variable of OpenTelemetry but the endpoint.
func clean(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"TRACES_ENDPOINT", "METRICS_ENDPOINT", "HEADERS", "PROTOCOL", "TIMEOUT", "COMPRESSION", "METRICS_TEMPORALITY_PREFERENCE",
	} {
		t.Setenv("OTEL_EXPORTER_OTLP_"+name, "")
	}
	for _, name := range []string{"OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_METRIC_EXPORT_INTERVAL"} {
		t.Setenv(name, "")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
}

// rig is a telemetry that sends to a collector in this process.
type rig struct {
	*telemetry.Telemetry
	*collectortest.Collector
	log *safeBuffer
}

// safeBuffer is written to by the SDK's goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start begins with that transport; nil is the collector's own. The clock is the bubble's where there is one.
func start(ctx context.Context, t *testing.T, rt http.RoundTripper) rig {
	t.Helper()
	r := rig{Collector: collectortest.New(), log: &safeBuffer{}}
	if rt == nil {
		rt = r.InProcess()
	}
	told, err := telemetry.Start(ctx, telemetry.Config{
		Traces: true, Metrics: true, Log: slog.New(azurefn.NewLog(r.log, slog.LevelDebug)), Clock: time.Now, Transport: rt,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Telemetry = told
	return r
}

// span returns the one span of that name that arrived.
func (r rig) span(t *testing.T, name string) collectortest.Span {
	t.Helper()
	var found []collectortest.Span
	for _, s := range r.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %q in %+v", len(found), name, r.Spans())
	}
	return found[0]
}

// mixed is a marker in letters of both cases.
func mixed() string {
	marker := gate.Marker(gate.KnownIssueEligible)
	return strings.ToUpper(marker[:5]) + marker[5:]
}
