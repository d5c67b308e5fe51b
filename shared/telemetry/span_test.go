package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/azurefn"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
	"prowgate/shared/telemetry"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// outbox keeps what was sent.
type outbox struct {
	sent []queue.Message
	err  error
}

func (o *outbox) Send(_ context.Context, _ string, m queue.Message) error {
	o.sent = append(o.sent, m)
	return o.err
}

// run calls a function in its bubble and returns what had arrived at the end.
func run(t *testing.T, in telemetry.Invocation, work func(context.Context, rig) error) (rig, error) {
	t.Helper()
	clean(t)
	var r rig
	var err error
	synctest.Test(t, func(t *testing.T) {
		r = start(t.Context(), t, nil)
		err = r.Run(t.Context(), in, func(ctx context.Context) error { return work(ctx, r) })
		r.Stop(t.Context())
	})
	if _, broken := r.Exports(); len(broken) > 0 {
		t.Errorf("not readable: %v", broken)
	}
	return r, err
}

func TestInvocation(t *testing.T) {
	in := telemetry.Invocation{
		Function: "submit", ID: "i-1", Queue: "gate-submit", MessageID: "m-1", Delivery: 2, Trace: parent,
		Body: []byte(`{"gateId":"g-1","jobName":"job-1","region":"westus3","executionId":"e-1","allowEv2Retry":true}`),
	}
	away := errors.New("the store is away")
	r, err := run(t, in, func(ctx context.Context, _ rig) error {
		var line bytes.Buffer
		slog.New(azurefn.NewLog(&line, slog.LevelInfo, telemetry.LogAttrs)).InfoContext(ctx, "hello")
		if !strings.Contains(line.String(), `"trace":"0af7651916cd43dd8448eb211c80319c"`) || !strings.Contains(line.String(), `"span":"`) {
			t.Errorf("log line %s", line.String())
		}
		return away
	})
	got := r.span(t, "submit")
	if !errors.Is(err, away) || !got.Failed || got.Kind != "CONSUMER" || "00-"+got.Trace+"-"+got.Parent+"-01" != parent {
		t.Errorf("%v, %+v", err, got)
	}
	want := map[string]string{
		"faas.invoked_name": "submit", "faas.trigger": "pubsub", "faas.invocation_id": "i-1", "messaging.destination.name": "gate-submit",
		"messaging.message.id": "m-1", "messaging.message.delivery_count": "2", "error.type": "*errors.errorString",
		"gate.id": "g-1", "gate.job": "job-1", "gate.region": "westus3", "gate.execution.id": "e-1",
	}
	if diff := cmp.Diff(want, got.Attributes); diff != "" {
		t.Error(diff)
	}
}

// A message may carry anything as its trace; what is none begins a new one.
func TestNoTrace(t *testing.T) {
	for _, trace := range []string{"", "|old.form.", parent + "-x", strings.ToUpper(parent), "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01"} {
		r, err := run(t, telemetry.Invocation{Function: "poll", Trace: trace, Body: []byte("hello")}, func(context.Context, rig) error { return nil })
		if got := r.span(t, "poll"); err != nil || got.Parent != "" || got.Trace == "" || got.Failed {
			t.Errorf("%q: %v, %+v", trace, err, got)
		}
	}
}

func TestPanicGoesOn(t *testing.T) {
	r, err := run(t, telemetry.Invocation{Function: "outer"}, func(ctx context.Context, r rig) (err error) {
		defer func() { err = fmt.Errorf("recovered %v", recover()) }()
		return r.Run(ctx, telemetry.Invocation{Function: "cancel"}, func(context.Context) error { panic("boom") })
	})
	if got := r.span(t, "cancel"); !got.Failed || err == nil || err.Error() != "recovered boom" {
		t.Errorf("%v, %+v", err, got)
	}
}

// Messages carry the span they are sent in, but for a poll's next tick, which carries what the poll came with.
func TestMessagesCarryTheTrace(t *testing.T) {
	tick, notice := queue.Message{ID: "g.tick.2", ScheduledAt: time.Unix(1, 0)}, queue.Message{ID: "g.completion", CorrelationID: "g"}
	for _, c := range []struct {
		function, trace string
		m               queue.Message
		own             bool
	}{
		{"submit", parent, tick, true},
		{"cancel", parent, tick, true},
		{"poll", parent, tick, false},
		{"poll", "cc" + parent[2:] + "-" + mixed(), tick, false},
		{"poll", "cc" + parent[2:] + "-" + strings.Repeat("x", 1<<16), tick, false},
		{"poll", parent, notice, true},
		{"poll", "none", tick, true},
		{"sweep", "", tick, true},
	} {
		box := &outbox{err: &fault.Error{Kind: fault.NothingHappened, Text: "hush-hush"}}
		r, err := run(t, telemetry.Invocation{Function: c.function, Trace: c.trace}, func(ctx context.Context, r rig) error {
			return r.Sender(box).Send(ctx, "gate-x", c.m)
		})
		sent, by := r.span(t, "send gate-x"), r.span(t, c.function)
		want := parent
		if c.own {
			want = "00-" + sent.Trace + "-" + sent.ID + "-01"
		}
		if box.sent[0].Trace != want || sent.Parent != by.ID || sent.Trace != by.Trace || sent.Kind != "PRODUCER" {
			t.Errorf("%s: carries %s, want %s; %+v", c.function, box.sent[0].Trace, want, sent)
		}
		if !fault.Is(err, fault.NothingHappened) || !sent.Failed || sent.Attributes["error.type"] != "nothing happened" || sent.Attributes["messaging.message.id"] != c.m.ID {
			t.Errorf("%v, %+v", err, sent)
		}
	}
}

func TestStoreCalls(t *testing.T) {
	r, err := run(t, telemetry.Invocation{Function: "poll"}, func(ctx context.Context, r rig) error {
		s := r.Store(memory.New())
		_, _, err := s.Load(ctx, "gate:g-1")
		version, saved := s.Save(ctx, store.Entry{Key: "gate:g-1", Body: []byte("{}")})
		_, conflict := s.Save(ctx, store.Entry{Key: "budget", Version: "other", Body: []byte("{}")})
		entries, listed := s.List(ctx, "gate:", "", 5)
		_, due := s.Due(ctx, time.Unix(1, 0), 5)
		if !fault.Is(conflict, fault.Conflict) || len(entries) != 1 {
			t.Errorf("%v, %v", conflict, entries)
		}
		return errors.Join(err, saved, listed, due, s.Delete(ctx, "gate:g-1", version))
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.Spans() {
		if s.Name != "poll" {
			got = append(got, strings.TrimSpace(s.Name+" "+s.Attributes["db.query.summary"]+" "+s.Attributes["error.type"]))
			if s.Parent != r.span(t, "poll").ID || s.Failed {
				t.Errorf("%+v", s)
			}
		}
	}
	want := []string{"store load gate:g-1", "store save gate:g-1", "store save budget conflict", "store list gate:", "store due", "store delete gate:g-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// far is a server of Prow's side.
type far struct {
	status int
	seen   http.Header
	err    error
}

func (f *far) RoundTrip(req *http.Request) (*http.Response, error) {
	f.seen = req.Header
	if f.err != nil {
		return nil, f.err
	}
	return &http.Response{StatusCode: f.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("hush-hush body"))}, nil
}

func ask(ctx context.Context, rt http.RoundTripper, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("hush-hush request"))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer hush-hush-token")
	res, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return errors.Join(err, res.Body.Close())
}

func TestRequests(t *testing.T) {
	const address = "https://user:hush-hush@gangway.example:8443/v1/executions?sig=hush-hush#hush-hush"
	for _, c := range []struct {
		far    far
		failed bool
		want   map[string]string
	}{
		{far{status: 200}, false, map[string]string{"http.response.status_code": "200"}},
		{far{status: 429}, true, map[string]string{"http.response.status_code": "429", "error.type": "429"}},
		{far{err: &url.Error{Op: "Post", URL: address, Err: errors.New("refused hush-hush")}}, true, map[string]string{"error.type": "*url.Error"}},
	} {
		r, _ := run(t, telemetry.Invocation{Function: "submit"}, func(ctx context.Context, r rig) error {
			return errors.Join(nil, ignore(ask(ctx, r.Transport("gangway", &c.far), address)))
		})
		got := r.span(t, "gangway POST")
		for key, value := range map[string]string{
			"peer.service": "gangway", "http.request.method": "POST", "server.address": "gangway.example", "server.port": "8443", "url.path": "/v1/executions",
		} {
			c.want[key] = value
		}
		if diff := cmp.Diff(c.want, got.Attributes); diff != "" || got.Failed != c.failed || got.Kind != "CLIENT" || got.Parent != r.span(t, "submit").ID {
			t.Errorf("%+v %s", got, diff)
		}
		if strings.Contains(r.Sent(), "hush-hush") {
			t.Errorf("a secret was told: %q", r.Sent())
		}
		if c.far.seen.Get("traceparent") != "" || c.far.seen.Get("Authorization") == "" {
			t.Errorf("the request was changed: %v", c.far.seen)
		}
	}
}

func ignore(error) error { return nil }

// Whatever a job, a queue, a message, a path or a fault is called: no marker is sent, in no letter case.
func TestNoMarkerIsSent(t *testing.T) {
	m := mixed()
	in := telemetry.Invocation{
		Function: "submit", ID: m, Queue: m, MessageID: m, Delivery: 1, Trace: m,
		Body: []byte(`{"gateId":"` + m + `","jobName":"` + strings.Repeat("x", 200) + m + m + `","region":"` + strings.ToUpper(m) + `"}`),
	}
	r, _ := run(t, in, func(ctx context.Context, r rig) error {
		record := gate.Record{GateID: m, ExecutionID: m, Phase: gate.Phase(m), Verdict: &gate.Notice{Outcome: gate.Outcome(m), Retry: gate.Retry(m)}}
		record.Gating.JobName, record.Gating.Region, record.Abort.Outcome = m, m, gate.AbortOutcome(m)
		r.Watch().Saved(ctx, gate.Record{}, record)
		_, _, _ = r.Store(memory.New()).Load(ctx, "gate:"+m)
		_ = r.Sender(&outbox{err: errors.New(m)}).Send(ctx, m, queue.Message{ID: m, CorrelationID: m})
		_ = ask(ctx, r.Transport(m, &far{err: errors.New(m)}), "https://"+m+".example/"+m+"?"+m)
		return &fault.Error{Text: m}
	})
	if gate.HasMarker(r.Sent()) || len(r.Spans()) < 4 || len(r.Points()) < 2 {
		t.Errorf("%d spans, %d series: %q", len(r.Spans()), len(r.Points()), r.Sent())
	}
	if rest := m[strings.LastIndex(m, "-"):]; !strings.Contains(r.Sent(), rest) {
		t.Error("nothing of the names was told")
	}
}
