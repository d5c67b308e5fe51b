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
	"sync/atomic"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
	"prowgate/shared/queue/depth"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// clock stands still until it is put forward.
type clock struct{ since atomic.Int64 }

func (c *clock) now() time.Time          { return noon().Add(time.Duration(c.since.Load())) }
func (c *clock) forward(d time.Duration) { c.since.Add(int64(d)) }

// save stores a record that came at the given time, in the place of what was there.
func save(t testing.TB, s store.Store, r gate.Record, at time.Time) {
	t.Helper()
	r.CreatedAt = at
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	old, _, err := s.Load(t.Context(), r.Key())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), store.Entry{Key: r.Key(), Version: old.Version, Body: body}); err != nil {
		t.Fatal(err)
	}
}

func config(records Records, c *clock) Config {
	return Config{Records: records, Clock: c.now, Log: slog.New(slog.DiscardHandler), Where: "here", Path: "/", Every: time.Second}
}

func serve(records Records) http.Handler { return New(config(records, &clock{})).Handler() }

func get(t testing.TB, h http.Handler, path string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body), w.Header()
}

// answer is what a program reads.
type answer struct {
	Gates []struct {
		GateID   string
		Timeline *[]gate.Moment
	}
	Total int
	Next  string
}

func gatesOf(t testing.TB, h http.Handler, query string) (string, answer) {
	t.Helper()
	code, body, header := get(t, h, "/api/gates"+query)
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil || code != 200 || a.Gates == nil || header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v %s: %v", code, header, body, err)
	}
	var all []string
	for _, g := range a.Gates {
		if g.Timeline == nil {
			t.Errorf("gate %s has no timeline in JSON", g.GateID)
		}
		all = append(all, g.GateID)
	}
	return strings.Join(all, " "), a
}

func TestGatesNewestFirst(t *testing.T) {
	s := memory.New()
	if _, body, _ := get(t, serve(s), "/api/gates"); body != "{\"gates\":[],\"total\":0}\n" {
		t.Errorf("without gates: %s", body)
	}
	for i := range 2*batch + 7 { // in the order of keys the middle ones are the newest
		save(t, s, gate.Record{GateID: fmt.Sprintf("g%04d", i)}, noon().Add(time.Duration(i%batch)*time.Minute))
	}
	save(t, s, gate.Record{GateID: "newest"}, noon().Add(24*time.Hour))
	save(t, s, gate.Record{GateID: "timeless"}, time.Time{})
	if _, err := s.Save(t.Context(), store.Entry{Key: gate.KeyPrefix + "broken", Body: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	h := serve(s)
	if got, a := gatesOf(t, h, "?limit=4"); got != "newest g0499 g0999 g0498" || a.Total != 2*batch+9 || a.Next == "" {
		t.Errorf("%s, %d, %q", got, a.Total, a.Next)
	}
	for _, query := range []string{"limit=0", "limit=-1", "limit=x", "limit=1.5", "after=x", "after=2026~", "after=~g1"} {
		if code, body, _ := get(t, h, "/api/gates?"+query); code != 400 || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
}

func TestOneGate(t *testing.T) {
	s := memory.New()
	save(t, s, gate.Record{GateID: "g1", Phase: gate.PhaseRunning}, noon())
	h := serve(s)
	for path, want := range map[string]int{"/api/gates/g1": 200, "/api/gates/g2": 404, "/api/gates/a%2Fb": 404} {
		code, body, _ := get(t, h, path)
		if code != want || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	save(t, s, gate.Record{GateID: "g1", Phase: gate.PhaseDone}, noon())
	if _, body, _ := get(t, h, "/api/gates/g1"); !strings.Contains(body, `"gateId":"g1","phase":"done"`) || !strings.Contains(body, `"timeline":[]`) {
		t.Error(body)
	}
}

func TestNoStore(t *testing.T) {
	away := &counted{err: errors.New("no store <here>" + gate.Marker(gate.KnownIssueEligible)), clock: &clock{}}
	for text, records := range map[string]Records{"no store": away, "own memory": nil} {
		for _, path := range []string{"/api/gates", "/api/gates/g1"} {
			if code, body, _ := get(t, serve(records), path); code != 503 || !strings.Contains(body, text) || !json.Valid([]byte(body)) || gate.HasMarker(body) {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		code, body, _ := get(t, serve(records), "/")
		if code != 200 || !strings.Contains(body, text) || strings.Contains(body, "<here>") || gate.HasMarker(body) {
			t.Errorf("page: %d %s", code, body)
		}
	}
}

// TestPage shows a gate whose every text wants to be markup, or to make EV2 retry.
func TestPage(t *testing.T) {
	evil := `"'><script>alert(1)</script>` + gate.Marker(gate.InfraPreconditionEligible)
	s := memory.New()
	r := gate.Record{
		GateID: "g1", Gating: gate.Gating{JobName: "job" + evil, Region: "region" + evil}, Phase: gate.PhaseDone, State: prow.State("state" + evil),
		ExecutionID: "id" + evil, JobURL: "javascript:alert(2)" + evil,
		Verdict:  &gate.Notice{Kind: gate.KindCompletion, Outcome: gate.Succeeded, SentAt: noon().Add(-30 * time.Second), Error: "error" + evil, FailedTests: []string{"test" + evil}},
		Timeline: []gate.Moment{{At: noon().Add(-90 * time.Second), Event: "event" + evil, Text: "text" + evil}},
	}
	save(t, s, r, noon().Add(-90*time.Second))
	save(t, s, gate.Record{GateID: "tombstone"}, noon().Add(-time.Hour))
	for _, path := range []string{"/?open=gate-g1&q=script&x=" + "%22%3E%3Cscript%3Ealert(3)%3C/script%3E", "/?open=gate-g1&part=live"} {
		code, body, header := get(t, serve(s), path)
		if code != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%d %v", code, header)
		}
		if strings.Contains(body, "<script>alert") || strings.Contains(body, `href="javascript`) || gate.HasMarker(body) {
			t.Errorf("not made harmless: %s", body)
		}
		for _, want := range []string{"g1", "succeeded", "took 1 min 00 s, ended 30 s ago", "2026-05-01 11:58:30", "job&#34;", "text&#34;", "error&#34;", "test&#34;"} {
			if !strings.Contains(body, want) {
				t.Errorf("%q is not on the page", want)
			}
		}
	}
	if _, body, _ := get(t, serve(s), "/api/gates"); gate.HasMarker(body) {
		t.Error("a program is shown a marker")
	}
}

// TestOnlyWhatIsOpenIsShownInFull, so that a page of many gates stays small.
func TestOnlyWhatIsOpenIsShownInFull(t *testing.T) {
	s := memory.New()
	for _, id := range []string{"g1", "g2"} {
		save(t, s, gate.Record{GateID: id, Timeline: []gate.Moment{{Event: "e", Text: "history of " + id}}}, noon())
	}
	c := config(s, &clock{})
	c.Queues = func(_ context.Context, opened func(Letter) bool) []Queue {
		q := Queue{Name: "q", Counts: depth.Counts{Active: 11, Scheduled: 22, Locked: 33, DeadLettered: 44}}
		for i := range int64(2) {
			l := Letter{Queue: "q", Sequence: i, MessageID: fmt.Sprint("m", i)}
			if opened(l) {
				l.Body = "body of " + l.MessageID
			}
			q.Letters = append(q.Letters, l)
		}
		return []Queue{q}
	}
	_, body, _ := get(t, New(c).Handler(), "/?open=gate-g2&open=letter-q-1&open=nothing&key=k")
	for text, want := range map[string]bool{
		"history of g1": false, "history of g2": true, "body of m0": false, "body of m1": true,
		`href="?key=k&amp;open=gate-g1#gate-g1"`: true, "<dd>11</dd>": true, "<dd>22</dd>": true, "<dd>33</dd>": true,
		`class="bad">44<`: true, "42 more, which": true, `name="key" value="k"`: true,
	} {
		if strings.Contains(body, text) != want {
			t.Errorf("%q is on the page: %v", text, !want)
		}
	}
}

// TestManyGates goes through the parts of the page.
func TestManyGates(t *testing.T) {
	s := memory.New()
	for i := range 120 {
		r := gate.Record{GateID: fmt.Sprintf("g%03d", i), Phase: gate.PhaseRunning}
		if i%2 == 1 {
			r.Phase, r.Verdict = gate.PhaseDone, &gate.Notice{Outcome: gate.Failed}
		}
		save(t, s, r, noon().Add(-time.Duration(i)*time.Minute))
	}
	h := serve(s)
	for query, want := range map[string]string{
		"":                     "g000 g098 older=?page=2",
		"?page=2&q=g":          "g100 g079 newer=?page=1&amp;q=g older=?page=3&amp;q=g",
		"?page=3":              "g081 g119 newer=?page=2",
		"?page=99":             "g081 g119 newer=?page=2",
		"?page=x":              "g000 g098 older=?page=2",
		"?outcome=failed&q=g1": "g101 g119",
		"?q=nothing":           "",
		"?outcome=nonsense":    "",
	} {
		_, body, _ := get(t, h, "/"+query)
		ids := regexp.MustCompile(`id="gate-(\w+)"`).FindAllStringSubmatch(body, -1)
		got := ""
		if len(ids) > 0 {
			got = ids[0][1] + " " + ids[len(ids)-1][1]
		}
		for _, m := range regexp.MustCompile(`id="(newer|older)" href="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			got += " " + m[1] + "=" + m[2]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if _, body, _ := get(t, h, "/?q=g1"); !strings.Contains(body, "failed <b>10</b>") || !strings.Contains(body, "all <b>20</b>") {
		t.Errorf("counts: %s", body)
	}
}

// TestPageNeedsNothing wants no outside resource, and a policy that allows exactly the page's own style and
// script.
func TestPageNeedsNothing(t *testing.T) {
	_, body, header := get(t, serve(memory.New()), "/")
	if found := regexp.MustCompile(`src=|https?:|@import|url\(|href="[^?d]`).FindString(body); found != "" {
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
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(body, "No gates yet") {
		t.Error(policy, body)
	}
}

// TestNothingReflectsAMarker: not the query, not a name that is part of an answer to a mistake. The page's own style and
// script hold none, so that what their hashes name is what is sent.
func TestNothingReflectsAMarker(t *testing.T) {
	marker := strings.ToUpper(gate.Marker(gate.KnownIssueEligible))
	s := memory.New()
	save(t, s, gate.Record{GateID: "g1"}, noon())
	h := serve(s)
	for _, path := range []string{
		"/?q=" + marker, "/?outcome=" + marker, "/?" + marker + "=" + marker + "&open=gate-g1", "/?part=live&key=" + marker,
		"/api/gates?limit=" + marker, "/api/gates?after=" + marker, "/api/gates/" + marker,
	} {
		if _, body, _ := get(t, h, path); gate.HasMarker(body) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if _, body, _ := get(t, h, "/?q="+marker); !strings.Contains(body, marker[len("ev2-"):]) {
		t.Error("the rest of the query is not shown")
	}
	if gate.HasMarker(pageCSS + pageJS) {
		t.Error("the page's own files hold a marker")
	}
}

func TestOnlyReading(t *testing.T) {
	h := serve(memory.New())
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		for _, path := range []string{"/", "/api/gates", "/api/gates/g1"} {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil)); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
}

func TestLinks(t *testing.T) {
	for address, link := range map[string]bool{
		"https://prow.example/view/gs/a": true, "http://127.0.0.1:7071/x": true, "HTTPS://prow.example/": true,
		"javascript:alert(1)": false, "data:text/html,x": false, "//evil.example/": false, "/view": false, "": false, "ftp://a/b": false,
		"https://user:secret@evil.example/": false, "https://": false, " javascript:alert(1)": false, "http://a b/": false,
	} {
		if got := httpLink(address); (got != "") != link {
			t.Errorf("%q: %q", address, got)
		}
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", 61 * time.Second: "1 min 01 s", 3*time.Hour + 5*time.Minute: "3 h 05 min", 50 * time.Hour: "2 days",
	} {
		if got := span(noon(), noon().Add(d)); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
