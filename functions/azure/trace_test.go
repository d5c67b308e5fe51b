package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"prowgate/functions"
	"prowgate/gangway/gangwaytest"
	"prowgate/shared/azurefn"
	"prowgate/shared/config"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	embedded "prowgate/shared/queue/broker"
	"prowgate/shared/queue/httpqueue"
	"prowgate/shared/telemetry"
	"prowgate/shared/telemetry/collectortest"
)

// stage is the service between a broker, a stand-in for Prow and a collector, on a clock that the test moves. Its
// host hands one message after another to the handler, in the form in which the Functions host does.
type stage struct {
	t       *testing.T
	mu      sync.Mutex
	at      time.Time
	broker  *embedded.Broker
	got     *collectortest.Collector
	told    *telemetry.Telemetry
	handler http.Handler
	log     bytes.Buffer
	answers strings.Builder
}

func (s *stage) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *stage) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), got: collectortest.Start(t)}
	s.broker = embedded.New(embedded.Config{Clock: s.now, Queues: []embedded.QueueConfig{
		{Name: "gate-submit"}, {Name: "gate-poll"}, {Name: "gate-cancel"}, {Name: "gate-completion", Sessions: true},
	}})
	queues := httptest.NewServer(httpqueue.Handler(s.broker))
	t.Cleanup(queues.Close)
	prow := httptest.NewServer(gangwaytest.New(gangwaytest.Options{Clock: s.now, Token: "hush-hush", ScriptFor: gangwaytest.Demo(2 * time.Minute)}))
	t.Cleanup(prow.Close)
	use(t, []string{
		"QUEUE_URL=" + queues.URL, "STORE_URL=memory:", "GANGWAY_URL=" + prow.URL, "PROW_URL=" + prow.URL, "ARTIFACTS_URL=" + prow.URL,
		"GANGWAY_TOKEN=hush-hush", "OTEL_EXPORTER_OTLP_ENDPOINT=" + s.got.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=collectors-key",
	})
	settings, err := config.Load()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(azurefn.NewLog(&s.log, slog.LevelDebug, telemetry.LogAttrs))
	s.told, err = telemetry.Start(t.Context(), telemetry.Config{Traces: settings.Traces, Metrics: settings.Metrics, Log: log, Clock: s.now})
	if err != nil {
		t.Fatal(err)
	}
	p, err := wire(settings, s.now, log, s.told)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.release(t.Context()) })
	s.handler = azurefn.New(azurefn.Config{Functions: adapt(functions.Set(p.engine), s.told), Log: log})
	return s
}

// turn hands over what is due.
func (s *stage) turn() {
	s.t.Helper()
	for name, function := range map[string]string{"gate-submit": "submit", "gate-poll": "poll", "gate-cancel": "cancel"} {
		for {
			d, ok, err := s.broker.Receive(s.t.Context(), name, "", 0)
			if err != nil {
				s.t.Fatal(err)
			}
			if !ok {
				break
			}
			s.invoke(function, d)
			if err := s.broker.Complete(s.t.Context(), name, d); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

func (s *stage) invoke(function string, d queue.Delivery) {
	s.t.Helper()
	literal, err := json.Marshal(string(d.Body))
	if err != nil {
		s.t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		"Data": map[string]any{"message": string(literal)},
		"Metadata": map[string]any{
			"DeliveryCount": strconv.Itoa(d.DeliveryCount), "MessageId": strconv.Quote(d.ID), "ApplicationProperties": map[string]string{"traceparent": d.Trace},
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://127.0.0.1/"+function, bytes.NewReader(body))
	req.Header.Set("X-Azure-Functions-InvocationId", "invocation-"+d.ID)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	s.answers.Write(w.Body.Bytes())
	if w.Code != http.StatusOK {
		s.t.Errorf("%s: %d %s", function, w.Code, w.Body)
	}
}

// completion drives the gate until its verdict is there.
func (s *stage) completion(gateID string) queue.Delivery {
	s.t.Helper()
	for range 60 {
		s.turn()
		for {
			d, ok, err := s.broker.ReceiveAndDelete(s.t.Context(), "gate-completion", gateID, 0)
			if err != nil {
				s.t.Fatal(err)
			}
			if !ok {
				break
			}
			if strings.Contains(string(d.Body), `"kind":"completion"`) {
				return d
			}
		}
		s.advance(15 * time.Second)
	}
	s.t.Fatalf("no completion; log:\n%s", s.log.String())
	return queue.Delivery{}
}

const pipeline = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// From the pipeline's gating message to the completion that it gets all is one trace: its polls are side by side,
// what they call is below them, and the completion carries the span that sent it. The verdict carries a marker;
// nothing that is logged or sent to the collector does, nor the token or the collector's own key.
func TestOneGateIsOneTrace(t *testing.T) {
	s := newStage(t)
	message := `{"gateId":"g-1","jobName":"my-e2e-flaky","cloud":"public","environment":"int","region":"westus3","pollInterval":"30s",` +
		`"gatePromotion":true,"allowEv2Retry":true}`
	if err := s.broker.Send(t.Context(), "gate-submit", queue.Message{ID: "m-1", Trace: pipeline, Body: []byte(message)}); err != nil {
		t.Fatal(err)
	}
	verdict := s.completion("g-1")
	s.told.Stop(t.Context())
	if !gate.HasMarker(string(verdict.Body)) {
		t.Fatalf("this gate is to carry a marker: %s", verdict.Body)
	}
	byName := s.byName()
	if len(byName["submit"]) != 1 || len(byName["poll"]) < 3 || len(byName["gangway POST"]) != 1 || len(byName["artifacts GET"]) == 0 || len(byName["deck GET"]) == 0 {
		t.Errorf("spans %v", names(byName))
	}
	first, sent := byName["submit"][0], byName["send gate-completion"]
	if "00-"+first.Trace+"-"+first.Parent+"-01" != pipeline || byName["gangway POST"][0].Parent != first.ID {
		t.Errorf("%+v", first)
	}
	for _, poll := range byName["poll"] {
		if poll.Parent != byName["poll"][0].Parent || poll.Attributes["gate.id"] != "g-1" || poll.Attributes["gate.region"] != "westus3" {
			t.Errorf("%+v", poll)
		}
	}
	if last := sent[len(sent)-1]; verdict.Trace != "00-"+last.Trace+"-"+last.ID+"-01" {
		t.Errorf("the completion carries %s, sent by %+v", verdict.Trace, last)
	}
	if got := s.got.Points()["prowgate.gates outcome=failed passed=false retry=known-issue-eligible"]; got != 1 {
		t.Errorf("metrics %v", s.got.Points())
	}
	s.checkTexts(first.Trace)
}

func (s *stage) byName() map[string][]collectortest.Span {
	s.t.Helper()
	found := map[string][]collectortest.Span{}
	for _, span := range s.got.Spans() {
		found[span.Name] = append(found[span.Name], span)
		if !strings.Contains(pipeline, span.Trace) {
			s.t.Errorf("in a trace of its own: %+v", span)
		}
	}
	if n, broken := s.got.Exports(); n == 0 || len(broken) > 0 {
		s.t.Fatalf("%d exports, not readable: %v", n, broken)
	}
	return found
}

func names(spans map[string][]collectortest.Span) map[string]int {
	counts := map[string]int{}
	for name, s := range spans {
		counts[name] = len(s)
	}
	return counts
}

// checkTexts looks at every log line, and for secrets and markers in all that went out.
func (s *stage) checkTexts(trace string) {
	s.t.Helper()
	events := 0
	for line := range strings.Lines(s.log.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Errorf("no line of JSON: %s", line)
		}
		if e["event"] == nil {
			continue
		}
		events++
		quoted, _ := json.Marshal(strings.TrimSuffix(line, "\n"))
		if e["gateId"] != "g-1" || e["job"] != "my-e2e-flaky" || e["region"] != "westus3" || e["trace"] != trace || e["invocation"] == nil ||
			!strings.Contains(s.answers.String(), string(quoted)) {
			s.t.Errorf("log line %s", line)
		}
	}
	if events < 4 {
		s.t.Errorf("%d events in the log:\n%s", events, s.log.String())
	}
	for what, text := range map[string]string{"log": s.log.String(), "answers": s.answers.String(), "collector": s.got.Sent()} {
		if gate.HasMarker(text) || strings.Contains(text, "hush-hush") || what != "collector" && strings.Contains(text, "collectors-key") {
			s.t.Errorf("a marker or a secret is in the %s:\n%s", what, text)
		}
	}
}
