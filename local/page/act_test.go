package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/depth"
)

// post sends a form as a browser does, with further headers.
func (s *scene) post(t *testing.T, path, form string, headers ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:7071"+path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (s *scene) counts(t *testing.T) depth.Counts {
	t.Helper()
	c, err := s.broker.Counts(t.Context(), "gate-submit")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const first = "queue=gate-submit&sequence=1"

// TestResendKeepsTheMessage: the body's bytes and all else that a receiver sees but the id, which the queue would
// take for a duplicate's.
func TestResendKeepsTheMessage(t *testing.T) {
	s := newScene(t)
	body := []byte("\x00\xff not JSON\r\n")
	s.bury(t, "poison", body)
	const id = "resent-1-eaaf6184fa45" // the same for this letter wherever it lies
	if code, text := s.post(t, "/dead-letters/resend", first); code != 200 || !strings.Contains(text, `"done":"Re-sent to gate-submit as `+id+`."`) {
		t.Fatalf("%d %s", code, text)
	}
	if c := s.counts(t); c != (depth.Counts{Active: 1}) {
		t.Errorf("%+v", c)
	}
	d, _, err := s.broker.TryReceive(t.Context(), "gate-submit", "")
	want := queue.Message{ID: id, Body: body, ContentType: "text/x", Trace: "t"}
	if diff := cmp.Diff(want, d.Message); diff != "" || err != nil || d.DeliveryCount != 1 {
		t.Errorf("%s %v, delivery %d", diff, err, d.DeliveryCount)
	}
	if code, _ := s.post(t, "/dead-letters/resend", first); code != http.StatusNotFound {
		t.Errorf("the second time: %d", code)
	}
}

// TestResendIsLostToNoOther: messages that somebody has sent under ids that a letter might get do not swallow it, and
// letters that differ in anything get ids that differ.
func TestResendIsLostToNoOther(t *testing.T) {
	s := newScene(t)
	s.bury(t, "poison", []byte("body"))
	if err := s.broker.Send(t.Context(), "gate-submit", queue.Message{ID: "resent-1", Body: []byte("another's")}); err != nil {
		t.Fatal(err)
	}
	if code, text := s.post(t, "/dead-letters/resend", first); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if c := s.counts(t); c != (depth.Counts{Active: 2}) {
		t.Errorf("%+v", c)
	}
	seen := map[string]queue.Delivery{}
	for _, d := range []queue.Delivery{
		{Message: queue.Message{ID: "a", Body: []byte("b")}, Sequence: 1},
		{Message: queue.Message{ID: "a", Body: []byte("b")}, Sequence: 2},
		{Message: queue.Message{ID: "ab"}, Sequence: 1},
		{Message: queue.Message{Body: []byte("ab")}, Sequence: 1},
		{Message: queue.Message{ID: "1 a", Body: []byte("b")}, Sequence: 1},
	} {
		id := resentID(d)
		if other, taken := seen[id]; taken || id != resentID(d) || len(id) > 40 {
			t.Errorf("%+v and %+v: %s", other, d, id)
		}
		seen[id] = d
	}
}

func TestDropTakesThatOne(t *testing.T) {
	s := newScene(t)
	for _, id := range []string{"a", "b", "c"} {
		s.bury(t, id, nil)
	}
	if code, text := s.post(t, "/dead-letters/drop", "queue=gate-submit&sequence=2"); code != 200 || !strings.Contains(text, "Dropped dead letter b of gate-submit.") {
		t.Errorf("%d %s", code, text)
	}
	left, err := s.broker.Peek(t.Context(), "gate-submit"+queue.DeadLetter, 0, 9)
	if err != nil || len(left) != 2 || left[0].ID != "a" || left[1].ID != "c" || left[0].DeliveryCount != 1 {
		t.Errorf("%+v, %v", left, err)
	}
	if c := s.counts(t); c != (depth.Counts{DeadLettered: 2}) {
		t.Errorf("%+v", c)
	}
}

func TestActsRefuse(t *testing.T) {
	s := newScene(t)
	s.bury(t, "poison", nil)
	for _, path := range []string{"/dead-letters/resend", "/dead-letters/drop"} {
		for form, want := range map[string]int{
			"":                                       400,
			"queue=gate-submit":                      400,
			"queue=other&sequence=1":                 400,
			"queue=gate-submit&sequence=x":           400,
			"queue=gate-submit&sequence=0":           400,
			"queue=gate-submit&sequence=-1":          400,
			"queue=gate-submit&sequence=2":           404,
			"queue=gate-completion&sequence=1":       404,
			"queue=gate-submit/$deadletterqueue":     400,
			first + "&x=" + strings.Repeat("x", 8e3): 400,
		} {
			if code, text := s.post(t, path, form); code != want || !strings.Contains(text, `"error"`) {
				t.Errorf("%s %.60s: %d %s", path, form, code, text)
			}
		}
		for _, query := range []string{path + "?" + first, path} { // a link must do nothing
			w := httptest.NewRecorder()
			if s.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, query, nil)); w.Code == 200 {
				t.Errorf("GET %s: %d", query, w.Code)
			}
		}
		if code, _ := s.post(t, path+"?"+first, ""); code != 400 {
			t.Errorf("what an address says counts: %d", code)
		}
		for _, from := range [][]string{
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
			{"Origin", "http://evil.example"},
			{"Origin", "null"},
			{"Origin", "http://localhost:7072"},
		} {
			if code, _ := s.post(t, path, first, from...); code != http.StatusForbidden {
				t.Errorf("%v: %d", from, code)
			}
		}
	}
	if c := s.counts(t); c != (depth.Counts{DeadLettered: 1}) {
		t.Errorf("%+v", c)
	}
}

func TestHeldLetterIsLeft(t *testing.T) {
	s := newScene(t)
	s.bury(t, "poison", nil)
	if _, ok, err := s.broker.TryReceive(t.Context(), "gate-submit"+queue.DeadLetter, ""); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, path := range []string{"/dead-letters/resend", "/dead-letters/drop"} {
		if code, text := s.post(t, path, first); code != http.StatusConflict || !strings.Contains(text, "a receiver holds") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if c := s.counts(t); c != (depth.Counts{DeadLettered: 1}) {
		t.Errorf("%+v", c)
	}
}

func TestWithoutScriptTheBrowserGoesBack(t *testing.T) {
	s := newScene(t)
	s.bury(t, "poison", nil)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/dead-letters/drop", strings.NewReader(first))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.mux.ServeHTTP(w, r); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/#letters" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// shaky fails one kind of call, before its work or after it.
type shaky struct {
	*broker.Broker
	at    string
	after bool
}

func (s *shaky) do(at string, work func() error) error {
	if s.at != at {
		return work()
	}
	s.at = ""
	if s.after {
		if err := work(); err != nil {
			return err
		}
	}
	return &fault.Error{Kind: fault.MayHaveHappened, Op: at, Text: "lost " + gate.Marker(gate.KnownIssueEligible)}
}

func (s *shaky) Send(ctx context.Context, name string, m queue.Message) error {
	return s.do("send", func() error { return s.Broker.Send(ctx, name, m) })
}

func (s *shaky) Discard(ctx context.Context, name string, sequence int64) error {
	return s.do("discard", func() error { return s.Broker.Discard(ctx, name, sequence) })
}

// TestRepeatingAfterAFault: whoever does it again until it is said to be done has it sent once, and nothing is
// lost in between.
func TestRepeatingAfterAFault(t *testing.T) {
	for _, act := range []string{"resend", "drop"} {
		for _, f := range []shaky{{at: "send"}, {at: "send", after: true}, {at: "discard"}, {at: "discard", after: true}} {
			if act == "drop" && f.at == "send" {
				continue
			}
			s := newScene(t)
			s.bury(t, "poison", []byte("body"))
			f.Broker = s.broker
			s.mux = http.NewServeMux()
			register(s.mux, Config{Records: s.store, Broker: &f, Queues: []string{"gate-submit"}, Clock: s.clock.now, Log: s.log}, every)
			code, text := s.post(t, "/dead-letters/"+act, first)
			if code != http.StatusServiceUnavailable || gate.HasMarker(text) {
				t.Errorf("%s, fault %+v: %d %s", act, f, code, text)
			}
			if c := s.counts(t); act == "resend" && c.Active+c.DeadLettered == 0 {
				t.Errorf("fault %+v: the message is lost", f)
			}
			if code, text := s.post(t, "/dead-letters/"+act, first); code != 200 && code != http.StatusNotFound {
				t.Errorf("%s again: %d %s", act, code, text)
			}
			want := depth.Counts{}
			if act == "resend" {
				want.Active = 1
			}
			if c := s.counts(t); c != want {
				t.Errorf("%s, fault at %s, after %v: %+v", act, f.at, f.after, c)
			}
		}
	}
}

// TestQueuesThatCannotBeRead are left out, and the rest is shown.
func TestQueuesThatCannotBeRead(t *testing.T) {
	s := newScene(t)
	d := desk{Config: Config{Broker: s.broker, Queues: []string{"gone", "gate-submit"}, Log: s.log}}
	if got := d.queues(t.Context(), nil); len(got) != 1 || got[0].Name != "gate-submit" {
		t.Errorf("%+v", got)
	}
}

func TestManyLettersAreShownInPart(t *testing.T) {
	s := newScene(t)
	for range shownLetters + 5 {
		s.bury(t, "", nil)
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if body := w.Body.String(); strings.Count(body, `<details id="letter-`) != shownLetters || !strings.Contains(body, "5 more, which come up as the older ones go.") {
		t.Error(body)
	}
}

func TestReadable(t *testing.T) {
	marker := strings.ToUpper(gate.Marker(gate.KnownIssueEligible))
	for body, want := range map[string]string{"": "", "{\n\t\"a\": \"ü\"\r\n}": "", marker: "shown changed", "a\x1b[0m": "not text", "\xff": "not text", "a\u202eb": "not text"} {
		text, note := readable([]byte(body))
		if (want == "") != (note == "") || !strings.Contains(note, want) || note == "" && text != body || gate.HasMarker(text) {
			t.Errorf("%q: %q, %q", body, text, note)
		}
	}
	if text, note := readable(make([]byte, 256<<10)); len(text) > 32<<10 || !strings.Contains(note, "4096 of 262144 bytes") {
		t.Errorf("%d characters, %s", len(text), note)
	}
}
