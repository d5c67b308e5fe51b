package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metricsservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"prowgate/shared/telemetry"
)

// echo is a collector that repeats what it was sent, headers and all: as an error, or beside a good answer.
type echo struct{ status int }

func (e echo) RoundTrip(req *http.Request) (*http.Response, error) {
	said := fmt.Sprintf("no such key: %v %s", req.Header, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	w := httptest.NewRecorder()
	if e.status != http.StatusOK {
		w.WriteHeader(e.status)
		_, _ = io.WriteString(w, said)
		return w.Result(), nil
	}
	var answer proto.Message = &traceservice.ExportTraceServiceResponse{PartialSuccess: &traceservice.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: said}}
	if strings.HasSuffix(req.URL.Path, "/metrics") {
		answer = &metricsservice.ExportMetricsServiceResponse{PartialSuccess: &metricsservice.ExportMetricsPartialSuccess{RejectedDataPoints: 1, ErrorMessage: said}}
	}
	body, err := proto.Marshal(answer)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(body)
	return w.Result(), err
}

// TestCollectorsAnswerBringsNoKeyIntoTheLog, neither as it is set nor as it is sent nor without the word before it.
func TestCollectorsAnswerBringsNoKeyIntoTheLog(t *testing.T) {
	for status, want := range map[int]string{401: "401 Unauthorized", 503: "body left out", 200: "partial success"} {
		for _, signal := range []string{"traces", "metrics"} {
			clean(t)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hush-hush%2Fhush")
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=s%C3%A9same,authorization=Bearer%20hush-hush%2Fhush")
			t.Setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "")
			synctest.Test(t, func(t *testing.T) {
				r := start(t.Context(), t, echo{status})
				if signal == "traces" {
					call(t, r, 1)
				} else {
					r.Watch().Swept(t.Context(), 1)
				}
				r.Stop(t.Context())
				time.Sleep(4 * time.Minute) // what is tried again has a time limit of its own
				log := r.log.String()
				if !strings.Contains(log, want) {
					t.Errorf("%d, %s: does not say %q: %s", status, signal, want, log)
				}
				for _, key := range []string{"hush", "same", "%2F", "no such key"} {
					if strings.Contains(log, key) {
						t.Errorf("%d, %s: holds %q: %s", status, signal, key, log)
					}
				}
			})
		}
	}
}

// kinds keeps the content type of each path.
type kinds struct {
	mu   sync.Mutex
	seen map[string]string
}

func (k *kinds) RoundTrip(req *http.Request) (*http.Response, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[req.URL.Path] = req.Header.Get("Content-Type")
	return httptest.NewRecorder().Result(), nil
}

// TestProtocols: JSON is for traces alone, and package config lets no metrics be set to it.
func TestProtocols(t *testing.T) {
	const jsonType, protobuf = "application/json", "application/x-protobuf"
	for _, c := range []struct {
		env  map[string]string
		want map[string]string
	}{
		{nil, map[string]string{"/v1/traces": protobuf, "/v1/metrics": protobuf}},
		{map[string]string{"TRACES_PROTOCOL": "http/json"}, map[string]string{"/v1/traces": jsonType, "/v1/metrics": protobuf}},
		{map[string]string{"PROTOCOL": "http/json", "METRICS_PROTOCOL": "http/protobuf"}, map[string]string{"/v1/traces": jsonType, "/v1/metrics": protobuf}},
	} {
		clean(t)
		for _, name := range []string{"TRACES_PROTOCOL", "METRICS_PROTOCOL"} {
			t.Setenv("OTEL_EXPORTER_OTLP_"+name, "")
		}
		for name, value := range c.env {
			t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
		}
		synctest.Test(t, func(t *testing.T) {
			k := &kinds{seen: map[string]string{}}
			r := start(t.Context(), t, k)
			err := r.Run(t.Context(), telemetry.Invocation{Function: "submit"}, func(context.Context) error { return nil })
			r.Watch().Swept(t.Context(), 1)
			if r.Stop(t.Context()); err != nil || !maps.Equal(k.seen, c.want) {
				t.Errorf("%v: %v, %v", c.env, k.seen, err)
			}
		})
	}
}
