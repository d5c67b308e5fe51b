package page

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue/depth"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// save stores a record that was heard of at the given time.
func save(t *testing.T, s store.Store, r gate.Record, at time.Time) {
	t.Helper()
	if !at.IsZero() {
		r.Timeline = []gate.Moment{{At: at, Event: "accepted", Text: "hello"}}
	}
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), store.Entry{Key: r.Key(), Body: body}); err != nil {
		t.Fatal(err)
	}
}

func serve(records Records) http.Handler {
	mux := http.NewServeMux()
	Page{
		Records: records,
		Queues: func(context.Context) []Queue {
			return []Queue{{"gate-submit", depth.Counts{Active: 11, Scheduled: 22, Locked: 33, DeadLettered: 44}}}
		},
		Clock: noon,
		Log:   slog.New(slog.DiscardHandler),
	}.Register(mux)
	return mux
}

func get(t *testing.T, h http.Handler, path string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body), w.Header()
}

func ids(t *testing.T, body string) string {
	t.Helper()
	var got struct {
		Gates []struct {
			GateID   string
			Timeline *[]gate.Moment
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Gates == nil {
		t.Fatalf("%s: %v", body, err)
	}
	var all []string
	for _, g := range got.Gates {
		if g.Timeline == nil {
			t.Errorf("gate %s has no timeline in JSON", g.GateID)
		}
		all = append(all, g.GateID)
	}
	return strings.Join(all, " ")
}

func TestGatesNewestFirst(t *testing.T) {
	s := memory.New()
	h := serve(s)
	if _, body, _ := get(t, h, "/api/gates"); body != "{\"gates\":[]}\n" {
		t.Errorf("without gates: %s", body)
	}
	for i := range 2*batch + 7 { // in the order of keys the middle ones are the newest
		save(t, s, gate.Record{GateID: fmt.Sprintf("g%03d", i)}, noon().Add(time.Duration(i%batch)*time.Minute))
	}
	save(t, s, gate.Record{GateID: "newest"}, noon().Add(24*time.Hour))
	save(t, s, gate.Record{GateID: "bare"}, time.Time{})
	save(t, s, gate.Record{ExecutionID: "no-gate"}, noon().Add(48*time.Hour))
	if _, err := s.Save(t.Context(), store.Entry{Key: gate.KeyPrefix + "broken", Body: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	code, body, header := get(t, h, "/api/gates?limit=4")
	if code != 200 || header.Get("Content-Type") != "application/json" || ids(t, body) != "newest g199 g399 g198" {
		t.Errorf("%d %v %s", code, header, ids(t, body))
	}
	if _, body, _ := get(t, h, "/api/gates"); len(strings.Fields(ids(t, body))) != 2*batch+9 || !strings.HasSuffix(ids(t, body), " bare") {
		t.Errorf("all: %s", ids(t, body))
	}
	for _, limit := range []string{"0", "-1", "x", "1.5"} {
		if code, body, _ := get(t, h, "/api/gates?limit="+limit); code != 400 || !strings.Contains(body, `"error"`) {
			t.Errorf("limit %s: %d %s", limit, code, body)
		}
	}
}

func TestGatesBounded(t *testing.T) {
	s := memory.New()
	for i := range maxGates + 20 {
		save(t, s, gate.Record{GateID: fmt.Sprintf("g%04d", i)}, noon())
	}
	for _, path := range []string{"/api/gates", "/api/gates?limit=100000"} {
		if _, body, _ := get(t, serve(s), path); len(strings.Fields(ids(t, body))) != maxGates {
			t.Errorf("%s: %d gates", path, len(strings.Fields(ids(t, body))))
		}
	}
}

func TestOneGate(t *testing.T) {
	s := memory.New()
	save(t, s, gate.Record{GateID: "g1", Phase: gate.PhaseRunning}, noon())
	for path, want := range map[string]int{"/api/gates/g1": 200, "/api/gates/g2": 404, "/api/gates/a%2Fb": 404} {
		code, body, _ := get(t, serve(s), path)
		if code != want || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if _, body, _ := get(t, serve(s), "/api/gates/g1"); !strings.Contains(body, `"gateId":"g1","phase":"running"`) {
		t.Error(body)
	}
}

// broken is a store that cannot be reached.
type broken struct{ store.Store }

func (broken) Load(context.Context, string) (store.Entry, bool, error) {
	return store.Entry{}, false, errors.New("no store <here>")
}

func (broken) List(context.Context, string, string, int) ([]store.Entry, error) {
	return nil, errors.New("no store <here>")
}

func TestNoStore(t *testing.T) {
	for text, records := range map[string]Records{"no store": broken{}, "own memory": nil} {
		for _, path := range []string{"/api/gates", "/api/gates/g1"} {
			if code, body, _ := get(t, serve(records), path); code != 503 || !strings.Contains(body, text) || !json.Valid([]byte(body)) {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		if code, body, _ := get(t, serve(records), "/"); code != 200 || !strings.Contains(body, text) || strings.Contains(body, "<here>") {
			t.Errorf("page: %d %s", code, body)
		}
	}
}

// TestPage shows a gate whose every text wants to be markup.
func TestPage(t *testing.T) {
	const evil = `"'><script>alert(1)</script>`
	s := memory.New()
	r := gate.Record{
		GateID: "g1", Gating: gate.Gating{JobName: "job" + evil, Region: "region" + evil}, Phase: gate.PhaseDone, State: "state" + evil,
		ExecutionID: "id" + evil, JobURL: "javascript:alert(2)", Verdict: &gate.Notice{},
		Timeline: []gate.Moment{{At: noon().Add(-90 * time.Second), Event: "event" + evil, Text: "text" + evil}},
	}
	r.Verdict.Outcome = gate.Succeeded
	save(t, s, r, time.Time{})
	save(t, s, gate.Record{GateID: "tombstone"}, noon().Add(-time.Hour))
	code, body, header := get(t, serve(s), "/")
	if code != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v", code, header)
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, `href="javascript`) {
		t.Errorf("not escaped: %s", body)
	}
	for _, want := range []string{"g1", "succeeded", "1m30s ago", "2026-05-01 11:58:30", "job&#34;", "text&#34;", "cancelled early", "<td>11</td><td>22</td><td>33</td>", `class="bad">44<`} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if i, j := strings.Index(body, `id="gate-g1"`), strings.Index(body, `id="gate-tombstone"`); i < 0 || j < i {
		t.Errorf("order: %d %d", i, j)
	}
}

// TestPageNeedsNothing wants no outside resource, and a policy that allows exactly the page's own style
// and script.
func TestPageNeedsNothing(t *testing.T) {
	_, body, header := get(t, serve(memory.New()), "/")
	if found := regexp.MustCompile(`(?i)(src|href)=|https?:|@import|url\(`).FindString(body); found != "" {
		t.Errorf("the page refers to something: %q", found)
	}
	policy := header.Get("Content-Security-Policy")
	for _, tag := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<` + tag + `>(.*)</` + tag + `>`).FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("no %s", tag)
		}
		sum := sha256.Sum256([]byte(m[1]))
		if want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
			t.Errorf("%s does not hold %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'") || !strings.Contains(body, "No gates yet") {
		t.Error(policy, body)
	}
}
