package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"prowgate/functions"
	"prowgate/shared/azurefn"
	"prowgate/shared/telemetry"
	"prowgate/shared/telemetry/collectortest"
)

// A message goes on with the trace in its attribute, its lines name it and the request, and all of it is sent before
// the process is frozen.
func TestTraceOfAMessage(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
	synctest.Test(t, func(t *testing.T) {
		c, r := collectortest.New(), newRig()
		told, err := telemetry.Start(t.Context(), telemetry.Config{Traces: true, Metrics: true, Clock: time.Now, Transport: c.InProcess()})
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop(t.Context())
		log := slog.New(azurefn.NewLog(&r.log, slog.LevelInfo, scopeOf, telemetry.LogAttrs))
		r.told, r.functions = told, map[string]functions.Handler{"poll": func(ctx context.Context, _ []byte) error {
			log.InfoContext(ctx, "hello")
			return nil
		}}
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
		begun := time.Now()
		r.invoke(ctx, t, record("gate-poll", "sqs-1", `{"gateId":"g-1","seq":2}`, 3,
			`"Id":{"dataType":"String","stringValue":"g-1.tick.2"},"traceparent":{"dataType":"String","stringValue":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`))
		if took := time.Since(begun); took != 0 {
			t.Errorf("took %v", took)
		}
		spans := c.Spans()
		if len(spans) != 1 || spans[0].Trace != "0af7651916cd43dd8448eb211c80319c" || spans[0].Parent != "b7ad6b7169203331" {
			t.Fatalf("arrived: %+v", spans)
		}
		want := map[string]string{
			"faas.invoked_name": "poll", "faas.trigger": "pubsub", "faas.invocation_id": "request-1", "gate.id": "g-1",
			"messaging.destination.name": "gate-poll", "messaging.message.id": "g-1.tick.2", "messaging.message.delivery_count": "3",
		}
		if diff := cmp.Diff(want, spans[0].Attributes); diff != "" {
			t.Error(diff)
		}
		var line map[string]any
		if err := json.Unmarshal(r.log.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		delete(line, "level")
		if diff := cmp.Diff(map[string]any{
			"msg": "hello", "invocation": "request-1", "function": "poll", "message": "g-1.tick.2", "delivery": 3.0,
			"trace": spans[0].Trace, "span": spans[0].ID,
		}, line); diff != "" {
			t.Error(diff)
		}
	})
}

// Lines of a failure name the request too, without a trace when there are none.
func TestLinesNameTheRequest(t *testing.T) {
	r := newRig()
	r.handler.log = slog.New(azurefn.NewLog(&r.log, slog.LevelInfo, scopeOf, telemetry.LogAttrs))
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	r.invoke(ctx, t, record("gate-poll", "a", `"fail"`, 1, ""), record("gate-poll", "b", `"panic"`, 1, ""))
	lines := 0
	for line := range strings.Lines(r.log.String()) {
		lines++
		if strings.Count(line, `"invocation":"request-1"`) != 1 || strings.Count(line, `"message":`) != 1 || strings.Contains(line, `"trace"`) {
			t.Error(line)
		}
	}
	if lines < 4 {
		t.Error(r.log.String())
	}
}

// A sweep is a span as well, and so is one that fails.
func TestTraceOfASweep(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
	synctest.Test(t, func(t *testing.T) {
		c, r := collectortest.New(), newRig()
		told, err := telemetry.Start(t.Context(), telemetry.Config{Traces: true, Clock: time.Now, Transport: c.InProcess()})
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop(t.Context())
		r.told = told
		r.functions["sweep"] = func(context.Context, []byte) error { return fmt.Errorf("away") }
		if _, err := r.Invoke(t.Context(), []byte(`{"detail-type":"Scheduled Event","source":"aws.events"}`)); err == nil {
			t.Error("no error")
		}
		if s := c.Spans(); len(s) != 1 || s[0].Name != "sweep" || !s[0].Failed || s[0].Attributes["faas.trigger"] != "timer" {
			t.Errorf("%+v", s)
		}
	})
}
