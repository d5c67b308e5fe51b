package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/functions/page"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// away is a store that cannot be reached.
type away struct{ store.Store }

func (away) Load(context.Context, string) (store.Entry, bool, error) {
	return store.Entry{}, false, &fault.Error{Kind: fault.NothingHappened, Text: "away"}
}

func (away) List(context.Context, string, string, int) ([]store.Entry, error) {
	return nil, &fault.Error{Kind: fault.NothingHappened, Text: "away"}
}

func face(records store.Store) status {
	log := slog.New(slog.DiscardHandler)
	return status{records: records, page: page.Handler(records, where, func() time.Time { return noon }, log), log: log}
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

// ask asks the face through the handler, as a function's URL does.
func ask(t *testing.T, s status, method, path, query string) (code int, header map[string]string, body string) {
	t.Helper()
	h := &handler{status: s, log: s.log}
	payload := fmt.Sprintf(`{"version":"2.0","rawPath":%q,"rawQueryString":%q,"requestContext":{"domainName":"x.lambda-url","http":{"method":%q,"path":%q}}}`,
		path, query, method, path)
	raw, err := h.Invoke(t.Context(), []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("%s, %v", raw, err)
	}
	return answer.StatusCode, answer.Headers, answer.Body
}

// get asks for JSON.
func get(t *testing.T, s status, method, path string, into any) int {
	t.Helper()
	code, header, body := ask(t, s, method, path, "")
	if err := json.Unmarshal([]byte(body), into); err != nil || header["Content-Type"] != "application/json" {
		t.Fatalf("%s %v: %v", body, header, err)
	}
	return code
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

func TestThePageIsServedWithItsPolicy(t *testing.T) {
	s := memory.New()
	put(t, s, closed(true))
	code, header, body := ask(t, face(s), "GET", "/api/page", "q=g1")
	if code != 200 || header["Content-Type"] != "text/html; charset=utf-8" || header["Content-Security-Policy"] == "" {
		t.Errorf("%d %v", code, header)
	}
	if !strings.Contains(body, "g1") || !strings.Contains(body, "AWS Lambda") || gate.HasMarker(body) {
		t.Error(body)
	}
}

func TestGatesComeInParts(t *testing.T) {
	s := memory.New()
	for i := range 5 {
		put(t, s, gate.Record{GateID: fmt.Sprintf("g%d", i), CreatedAt: noon.Add(time.Duration(i) * time.Second)})
	}
	var got struct {
		Gates []gate.View
		Next  string
	}
	seen, query := []string{}, "limit=2"
	for range 3 {
		code, _, body := ask(t, face(s), "GET", "/api/gates", query)
		got.Gates, got.Next = nil, ""
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		for _, g := range got.Gates {
			seen = append(seen, g.GateID)
		}
		query = "limit=2&after=" + url.QueryEscape(got.Next)
	}
	if diff := cmp.Diff([]string{"g4", "g3", "g2", "g1", "g0"}, seen); diff != "" || got.Next != "" {
		t.Error(diff, got.Next)
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
		{away{}, "GET", "/api/gates/g1/completion", 503},
		{memory.New(), "DELETE", "/api/page", 405},
		{memory.New(), "GET", "", 400},
	} {
		if code, _, body := ask(t, face(c.records), c.method, c.path, ""); code != c.want || body == "" || gate.HasMarker(body) {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, code, body, c.want)
		}
	}
}
