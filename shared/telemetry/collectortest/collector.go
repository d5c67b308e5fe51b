// Package collectortest is a stand-in for an OpenTelemetry collector. It takes OTLP over HTTP as protobuf
// (opentelemetry-proto, collector/trace/v1 and collector/metrics/v1) and shows what it was sent.
//
// Entry points: Start listens on loopback, New takes its requests through InProcess.
package collectortest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metricsservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it arrived; ids are in hexadecimal digits.
type Span struct {
	Name, Trace, ID, Parent string
	Kind                    string // "CONSUMER", "PRODUCER", "CLIENT", "INTERNAL"
	Failed                  bool
	Attributes              map[string]string
	Events                  []map[string]string // their attributes
}

// Collector keeps what it was sent. It may be used by many goroutines at once.
type Collector struct {
	URL string // empty unless it listens

	mu      sync.Mutex
	spans   []Span
	points  map[string]float64
	origin  map[string]string
	sent    strings.Builder
	exports int
	status  int
	broken  []string
}

// New returns a collector that is reached through InProcess.
func New() *Collector {
	return &Collector{points: map[string]float64{}, origin: map[string]string{}}
}

// Start returns a collector that listens until the test ends.
func Start(t testing.TB) *Collector {
	t.Helper()
	c := New()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// InProcess returns a transport that reaches the collector whatever the URL's host, on no network.
func (c *Collector) InProcess() http.RoundTripper { return inProcess{c} }

type inProcess struct{ c *Collector }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.c.ServeHTTP(w, req)
	return w.Result(), nil
}

// Refuse makes it answer with that status and take nothing; 0 ends it.
func (c *Collector) Refuse(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exports++
	if c.status != 0 {
		w.WriteHeader(c.status)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = c.take(r.URL.Path, body)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.broken = append(c.broken, fmt.Sprintf("%s %s: %v", r.URL.Path, r.Header.Get("Content-Type"), err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Fprintf(&c.sent, "%s %v\n%s\n", r.URL, r.Header, body)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *Collector) take(path string, body []byte) error {
	switch path {
	case "/v1/traces":
		var req traceservice.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			return err
		}
		for _, r := range req.GetResourceSpans() {
			maps.Copy(c.origin, texts(r.GetResource().GetAttributes()))
			for _, s := range r.GetScopeSpans() {
				for _, span := range s.GetSpans() {
					c.spans = append(c.spans, spanOf(span))
				}
			}
		}
	case "/v1/metrics":
		var req metricsservice.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			return err
		}
		for _, r := range req.GetResourceMetrics() {
			maps.Copy(c.origin, texts(r.GetResource().GetAttributes()))
			for _, s := range r.GetScopeMetrics() {
				for _, m := range s.GetMetrics() {
					c.measure(m)
				}
			}
		}
	default:
		return fmt.Errorf("nothing is sent to %s", path)
	}
	return nil
}

func spanOf(s *traces.Span) Span {
	found := Span{
		Name: s.GetName(), Trace: fmt.Sprintf("%x", s.GetTraceId()), ID: fmt.Sprintf("%x", s.GetSpanId()), Parent: fmt.Sprintf("%x", s.GetParentSpanId()),
		Kind:   strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"),
		Failed: s.GetStatus().GetCode() == traces.Status_STATUS_CODE_ERROR, Attributes: texts(s.GetAttributes()),
	}
	for _, e := range s.GetEvents() {
		found.Events = append(found.Events, texts(e.GetAttributes()))
	}
	return found
}

// measure keeps the newest value of each series; of a histogram its count, and its sum under "<name>.sum".
func (c *Collector) measure(m *metrics.Metric) {
	for _, p := range slices.Concat(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()) {
		c.points[series(m.GetName(), p.GetAttributes())] = float64(p.GetAsInt()) + p.GetAsDouble()
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		c.points[series(m.GetName(), p.GetAttributes())] = float64(p.GetCount())
		c.points[series(m.GetName()+".sum", p.GetAttributes())] = p.GetSum()
	}
}

func series(name string, attributes []*common.KeyValue) string {
	found := texts(attributes)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		name += " " + key + "=" + found[key]
	}
	return name
}

func texts(attributes []*common.KeyValue) map[string]string {
	found := map[string]string{}
	for _, a := range attributes {
		v := a.GetValue()
		switch v.GetValue().(type) {
		case *common.AnyValue_StringValue:
			found[a.GetKey()] = v.GetStringValue()
		case *common.AnyValue_BoolValue:
			found[a.GetKey()] = fmt.Sprint(v.GetBoolValue())
		default:
			found[a.GetKey()] = fmt.Sprint(v.GetIntValue())
		}
	}
	return found
}

// Spans returns the spans that arrived, in order of arrival.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Points returns the newest value of every series, under its metric's name and attributes: "name key=value".
func (c *Collector) Points() map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.points)
}

// Origin returns the attributes of the resource that sent.
func (c *Collector) Origin() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.origin)
}

// Sent returns everything that was taken, as it was sent: URLs, headers, bodies.
func (c *Collector) Sent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent.String()
}

// Exports returns how many requests came, and what was wrong with those that could not be read.
func (c *Collector) Exports() (n int, broken []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exports, slices.Clone(c.broken)
}
