package telemetry_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store/memory"
	"prowgate/shared/telemetry"
)

type nowhere struct{}

func (nowhere) Send(context.Context, string, queue.Message) error { return nil }

// Off means that whoever is wrapped is given back, and that nothing is left running: a goroutine would be found at
// the bubble's end.
func TestOffIsNothing(t *testing.T) {
	clean(t)
	synctest.Test(t, func(t *testing.T) {
		off, err := telemetry.Start(t.Context(), telemetry.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, told := range []*telemetry.Telemetry{nil, {}, off} {
			records := memory.New()
			if told.Store(records) != records || told.Sender(nowhere{}) != (nowhere{}) || told.Transport("deck", nil) != nil || told.Watch() != nil {
				t.Error("something is wrapped")
			}
			want := errors.New("away")
			err := told.Run(t.Context(), telemetry.Invocation{Function: "poll"}, func(ctx context.Context) error {
				if ctx != t.Context() || telemetry.LogAttrs(ctx) != nil {
					t.Error("the context is another one")
				}
				return want
			})
			if !errors.Is(err, want) {
				t.Errorf("got %v", err)
			}
			told.Flush(t.Context())
			told.Stop(t.Context())
		}
	})
}

func TestOneSignalAlone(t *testing.T) {
	clean(t)
	for _, traces := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			told, err := telemetry.Start(t.Context(), telemetry.Config{Traces: traces, Metrics: !traces, Clock: time.Now, Transport: refusing{}})
			if err != nil {
				t.Fatal(err)
			}
			wrapped := told.Sender(nowhere{}) != (nowhere{})
			if wrapped != traces || told.Watch() == nil {
				t.Errorf("traces %t: sender wrapped %t", traces, wrapped)
			}
			told.Watch().Swept(t.Context(), 1)
			told.Stop(t.Context())
		})
	}
}

// refusing is a collector that nobody listens for; hanging is one that takes the connection and never answers.
type (
	refusing struct{}
	hanging  struct{}
)

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused " + mixed())
}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// A collector that is away or hangs costs an invocation nothing, and a flush half a second, once a minute. What
// waits on one of the SDK's mutexes would stop virtual time, so that the case with more spans than may wait has no
// flush.
func TestBadCollectorHoldsNothingUp(t *testing.T) {
	clean(t)
	for _, c := range []struct {
		name    string
		rt      http.RoundTripper
		calls   int
		flushes []time.Duration
		stop    time.Duration
	}{
		{"refusing", refusing{}, 5000, []time.Duration{0, 0, 0}, 0},
		{"hanging", hanging{}, 10, []time.Duration{500 * time.Millisecond, 0, 0}, 2 * time.Second},
		{"hanging, with more than may wait", hanging{}, 5000, nil, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t.Context(), t, c.rt)
				takes(t, "the invocations", 0, func() { call(t, r, c.calls) })
				for _, want := range c.flushes {
					takes(t, "flush", want, func() { r.Flush(t.Context()) })
				}
				call(t, r, 1)
				takes(t, "stop", c.stop, func() { r.Stop(t.Context()) })
				time.Sleep(4 * time.Minute) // what hangs has a time limit of its own
				if lines := strings.Count(r.log.String(), "telemetry was not taken"); lines != 1 {
					t.Errorf("%d lines tell of it: %s", lines, r.log)
				}
				if gate.HasMarker(r.log.String()) {
					t.Errorf("a marker got out: %s", r.log)
				}
			})
		})
	}
}

func call(t *testing.T, r rig, times int) {
	t.Helper()
	for range times {
		if err := r.Run(t.Context(), telemetry.Invocation{Function: "submit"}, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// takes measures in virtual time.
func takes(t *testing.T, what string, want time.Duration, do func()) {
	t.Helper()
	begun := time.Now()
	do()
	if took := time.Since(begun); took != want {
		t.Errorf("%s took %v, want %v", what, took, want)
	}
}

// A collector that comes back is flushed to again a minute later.
func TestFlushIsTriedAgain(t *testing.T) {
	clean(t)
	synctest.Test(t, func(t *testing.T) {
		r := start(t.Context(), t, nil)
		r.Refuse(http.StatusForbidden)
		r.Watch().Swept(t.Context(), 1)
		r.Flush(t.Context())
		r.Refuse(0)
		r.Flush(t.Context())
		if n := len(r.Points()); n != 0 {
			t.Errorf("%d series arrived although the collector is left in peace", n)
		}
		time.Sleep(time.Minute)
		r.Watch().Swept(t.Context(), 2)
		r.Flush(t.Context())
		if got := r.Points()["prowgate.gates.overdue"]; got != 3 {
			t.Errorf("overdue %v, want 3", got)
		}
		r.Stop(t.Context())
	})
}

// What is told arrives without a flush: spans after five seconds, metrics after fifteen.
func TestSentByItself(t *testing.T) {
	clean(t)
	synctest.Test(t, func(t *testing.T) {
		r := start(t.Context(), t, nil)
		if err := r.Run(t.Context(), telemetry.Invocation{Function: "poll"}, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		r.Watch().Swept(t.Context(), 0)
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()
		if len(r.Spans()) != 1 || len(r.Points()) != 0 {
			t.Errorf("after five seconds %v, %v", r.Spans(), r.Points())
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(r.Points()) != 1 {
			t.Errorf("after fifteen seconds %v", r.Points())
		}
		r.Stop(t.Context())
		if o := r.Origin(); o["service.name"] != "prowgate" || o["service.instance.id"] == "" {
			t.Errorf("sent by %v", o)
		}
		if _, broken := r.Exports(); len(broken) > 0 {
			t.Errorf("not readable: %v", broken)
		}
	})
}
