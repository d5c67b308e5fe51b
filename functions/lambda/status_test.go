package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// away is a store that cannot be reached.
type away struct{ store.Store }

func (away) Load(context.Context, string) (store.Entry, bool, error) {
	return store.Entry{}, false, &fault.Error{Kind: fault.NothingHappened, Text: "hush"}
}

func (away) List(context.Context, string, string, int) ([]store.Entry, error) {
	return nil, &fault.Error{Kind: fault.NothingHappened, Text: "hush"}
}

func face(records store.Store) status {
	return status{records: records, log: slog.New(slog.DiscardHandler)}
}

func put(t *testing.T, s store.Store, r gate.Record) {
	t.Helper()
	body, err := r.Encode()
	if err == nil {
		_, err = s.Save(t.Context(), store.Entry{Key: r.Key(), Body: body})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get asks the face through the handler, as a function's URL does.
func get(t *testing.T, s status, method, path string, into any) int {
	t.Helper()
	h := &handler{status: s, log: s.log}
	payload := fmt.Sprintf(`{"version":"2.0","rawPath":%q,"requestContext":{"http":{"method":%q,"path":%q}}}`, path, method, path)
	raw, err := h.Invoke(t.Context(), []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Headers["Content-Type"] != "application/json" {
		t.Fatalf("%s, %v", raw, err)
	}
	if err := json.Unmarshal([]byte(answer.Body), into); err != nil {
		t.Fatalf("%s: %v", answer.Body, err)
	}
	return answer.StatusCode
}

// closed is a gate that ended in a failure that may be retried.
func closed(sent bool) gate.Record {
	return gate.Record{
		GateID: "g1", Phase: gate.PhaseDone, Turn: gate.Turn{Seq: 9, At: noon}, Sent: sent, Gating: gate.Gating{GateID: "g1", JobName: "job"},
		Verdict:  &gate.Notice{Kind: gate.KindCompletion, GateID: "g1", Outcome: gate.Failed, Error: "1 test failed", Retry: gate.KnownIssueEligible, SentAt: noon},
		Timeline: []gate.Moment{{At: noon, Event: "accepted"}},
	}
}

// The face gives the very message that goes to the queue, marker and all.
func TestCompletionIsTheMessageOfTheQueue(t *testing.T) {
	for _, sent := range []bool{false, true} {
		s := memory.New()
		put(t, s, closed(sent))
		var n gate.Notice
		if code := get(t, face(s), "GET", "/api/gates/g1/completion", &n); code != 200 {
			t.Fatalf("status %d", code)
		}
		marker := gate.Marker(gate.KnownIssueEligible)
		if n.Marker != marker || n.Error != marker+": 1 test failed" || !n.SentAt.Equal(noon) || n.Outcome != gate.Failed {
			t.Errorf("sent before %t: %+v", sent, n)
		}
		e, _, err := s.Load(t.Context(), "gate:g1")
		if err != nil || strings.Contains(string(e.Body), `"sent":true`) != sent {
			t.Errorf("asking has changed the record: %s, %v", e.Body, err)
		}
	}
}

func TestGateWithoutCompletion(t *testing.T) {
	s := memory.New()
	put(t, s, gate.Record{GateID: "g1", Phase: gate.PhaseRunning, Gating: gate.Gating{GateID: "g1", JobName: "job"}})
	var v gate.View
	if code := get(t, face(s), "GET", "/api/gates/g1/completion", &v); code != 202 || v.Phase != gate.PhaseRunning {
		t.Errorf("completion: %d %+v", code, v)
	}
	if code := get(t, face(s), "GET", "/api/gates/g1", &v); code != 200 || v.GateID != "g1" || v.Timeline == nil {
		t.Errorf("gate: %d %+v", code, v)
	}
}

func TestViewHoldsNoMarker(t *testing.T) {
	s := memory.New()
	put(t, s, closed(true))
	for _, path := range []string{"/api/gates", "/api/gates/g1"} {
		var body json.RawMessage
		if code := get(t, face(s), "GET", path, &body); code != 200 || gate.HasMarker(string(body)) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

func TestNewestGatesOverPages(t *testing.T) {
	s := memory.New()
	for i := range statusPage + 50 {
		put(t, s, gate.Record{GateID: fmt.Sprintf("g%03d", i), Timeline: []gate.Moment{{At: noon.Add(time.Duration(i) * time.Second)}}})
	}
	if _, err := s.Save(t.Context(), store.Entry{Key: "gate:broken", Body: []byte(`?`)}); err != nil {
		t.Fatal(err)
	}
	var got struct{ Gates []gate.View }
	if code := get(t, face(s), "GET", "/api/gates", &got); code != 200 || len(got.Gates) != statusMost {
		t.Fatalf("status %d, %d gates", code, len(got.Gates))
	}
	ends := []string{got.Gates[0].GateID, got.Gates[statusMost-1].GateID}
	if diff := cmp.Diff([]string{"g249", "g050"}, ends); diff != "" {
		t.Error(diff)
	}
}

func TestOtherAnswers(t *testing.T) {
	for _, c := range []struct {
		records      store.Store
		method, path string
		want         int
	}{
		{memory.New(), "GET", "/", 404},
		{memory.New(), "GET", "/api/gatesx", 404},
		{memory.New(), "GET", "/api/gates/none", 404},
		{memory.New(), "GET", "/api/gates/none/completion", 404},
		{memory.New(), "GET", "/api/gates/%zz", 400},
		{memory.New(), "POST", "/api/gates", 405},
		{away{}, "GET", "/api/gates", 503},
		{away{}, "GET", "/api/gates/g1", 503},
	} {
		var p problem
		if code := get(t, face(c.records), c.method, c.path, &p); code != c.want || p.Error == "" || strings.Contains(p.Error, "hush") {
			t.Errorf("%s %s: %d %+v, want %d", c.method, c.path, code, p, c.want)
		}
	}
}
