package httpqueue_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/httpqueue"
)

// reply is a raw answer with its decoded headers.
type reply struct {
	status     int
	body       string
	properties map[string]any
	header     http.Header
}

func ask(t testing.TB, h http.Handler, method, path, properties, body string) reply {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if properties != "" {
		r.Header.Set("BrokerProperties", properties)
	}
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	got := reply{status: w.Code, header: w.Header()}
	raw, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	got.body = strings.TrimSpace(string(raw))
	if p := w.Header().Get("BrokerProperties"); p != "" {
		if err := json.Unmarshal([]byte(p), &got.properties); err != nil {
			t.Fatalf("BrokerProperties %q: %v", p, err)
		}
	}
	return got
}

// wants asserts the status, and that body holds each of the texts.
func (r reply) wants(t testing.TB, status int, texts ...string) {
	t.Helper()
	if r.status != status {
		t.Fatalf("HTTP %d %s, want %d", r.status, r.body, status)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			t.Errorf("body %s, want it to hold %s", r.body, text)
		}
	}
	if r.body != "" && r.header.Get("Content-Type") != "application/json" {
		t.Errorf("content type %q", r.header.Get("Content-Type"))
	}
}

func newHandler() (http.Handler, *broker.Broker, *hands) {
	h := newHands()
	b := broker.New(testConfig(h))
	return httpqueue.Handler(b), b, h
}

// The wire as an outsider with curl sees it.
func TestContract(t *testing.T) {
	h, _, clock := newHandler()
	ask(t, h, "POST", "/dup/messages", `{"MessageId":"m-1","CorrelationId":"c"}`, `{"a":1}`).wants(t, 201, `{"messageId":"m-1"}`)
	ask(t, h, "POST", "/dup/messages", `{"MessageId":"m-1"}`, `{"a":2}`).wants(t, 201)
	ask(t, h, "POST", "/dup/messages", `{"MessageId":"m-2","ScheduledEnqueueTimeUtc":"Mon, 30 Nov 2026 09:01:00 GMT"}`, `{}`).wants(t, 201)
	ask(t, h, "GET", "/dup", "", "").wants(t, 200, `{"active":1,"scheduled":1,"locked":0,"deadLettered":0}`)
	got := ask(t, h, "DELETE", "/dup/messages/head?timeout=0", "", "")
	got.wants(t, 200, `{"a":1}`)
	for name, want := range map[string]any{
		"MessageId": "m-1", "CorrelationId": "c", "SequenceNumber": 1.0, "DeliveryCount": 1.0,
		"EnqueuedTimeUtc": "Mon, 30 Nov 2026 09:00:00 GMT", "LockToken": nil, "LockedUntilUtc": nil,
	} {
		if got.properties[name] != want {
			t.Errorf("property %s is %v, want %v", name, got.properties[name], want)
		}
	}
	ask(t, h, "DELETE", "/dup/messages/head?timeout=0", "", "").wants(t, 204)
	clock.advance(time.Minute)
	ask(t, h, "DELETE", "/dup/messages/head?timeout=0.0", "", "").wants(t, 200, `{}`)
}

func TestSessionsOnTheWire(t *testing.T) {
	h, _, _ := newHandler()
	ask(t, h, "POST", "/session/messages", `{"SessionId":"gate/ü 1"}`, `{}`).wants(t, 201)
	ask(t, h, "POST", "/session/messages", `{}`, `{}`).wants(t, 400, "session")
	ask(t, h, "DELETE", "/session/messages/head?timeout=0", "", "").wants(t, 400, "session")
	ask(t, h, "DELETE", "/session/messages/head?timeout=0&sessionId=other", "", "").wants(t, 204)
	got := ask(t, h, "DELETE", "/session/messages/head?timeout=0&sessionId=gate%2F%C3%BC+1", "", "")
	got.wants(t, 200)
	if got.properties["SessionId"] != "gate/ü 1" {
		t.Errorf("session %v", got.properties["SessionId"])
	}
}

func TestPeekLockOnTheWire(t *testing.T) {
	h, _, clock := newHandler()
	ask(t, h, "POST", "/plain/messages", `{"MessageId":"a/b"}`, `{}`).wants(t, 201)
	lock := func() string {
		got := ask(t, h, "POST", "/plain/messages/head?timeout=0", "", "")
		got.wants(t, 201, `{}`)
		token, _ := got.properties["LockToken"].(string)
		return "/plain/messages/a%2Fb/" + token
	}
	path := lock()
	clock.advance(20 * time.Second)
	got := ask(t, h, "POST", path, "", "")
	got.wants(t, 200)
	if got.properties["LockedUntilUtc"] != "Mon, 30 Nov 2026 09:00:50 GMT" {
		t.Errorf("renewed until %v", got.properties["LockedUntilUtc"])
	}
	ask(t, h, "PUT", path, "", "").wants(t, 200)
	ask(t, h, "DELETE", path, "", "").wants(t, 410, `"code":"lock-lost"`)
	ask(t, h, "DELETE", lock(), "", "").wants(t, 200)
	ask(t, h, "GET", "/plain", "", "").wants(t, 200, `"active":0`, `"locked":0`)
}

func TestDeadLetterQueueOnTheWire(t *testing.T) {
	h, b, _ := newHandler()
	for _, path := range []string{"/plain/$deadletterqueue", "/plain/%24deadletterqueue", "/plain/$DeadLetterQueue"} {
		ask(t, h, "POST", "/plain/messages", "", `{}`).wants(t, 201)
		d, _, err := b.TryReceive(t.Context(), "plain", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.DeadLetter(t.Context(), "plain", d, "Unreadable", "bad\r\ntext \U0001f600"); err != nil {
			t.Fatal(err)
		}
		ask(t, h, "GET", "/plain", "", "").wants(t, 200, `"deadLettered":1`)
		ask(t, h, "GET", path, "", "").wants(t, 200, `"active":1`)
		got := ask(t, h, "DELETE", path+"/messages/head?timeout=0", "", "")
		got.wants(t, 200)
		if got.properties["DeadLetterReason"] != "Unreadable" || got.properties["DeadLetterErrorDescription"] != "bad\r\ntext \U0001f600" {
			t.Errorf("%s: properties %v", path, got.properties)
		}
		ask(t, h, "POST", path+"/messages", "", `{}`).wants(t, 201)
		ask(t, h, "DELETE", path+"/messages/head?timeout=0", "", "").wants(t, 200)
	}
}

func TestBadRequests(t *testing.T) {
	h, _, _ := newHandler()
	for _, c := range []struct {
		method, path, properties string
		status                   int
		want                     string
	}{
		{"POST", "/nowhere/messages", "", 404, "nowhere"},
		{"GET", "/nowhere", "", 404, `"code":"unknown-queue"`},
		{"GET", "/", "", 404, "queue"},
		{"GET", "/plain/other", "", 400, "path"},
		{"GET", "/plain/messages/head/a/b", "", 400, "path"},
		{"DELETE", "/plain/messages/id", "", 400, "lock token"},
		{"GET", "/plain/messages", "", 405, "GET"},
		{"PUT", "/plain/messages/head", "", 405, "PUT"},
		{"DELETE", "/plain/messages/head?timeout=soon", "", 400, `"property":"timeout"`},
		{"DELETE", "/plain/messages/head?timeout=-1", "", 400, `"property":"timeout"`},
		{"POST", "/plain/messages/head?timeout=NaN", "", 400, `"property":"timeout"`},
		{"DELETE", "/plain/messages/head?timeout=0&sessionId=s", "", 400, "no sessions"},
		{"POST", "/plain/messages", `[]`, 400, "not a JSON object"},
		{"POST", "/plain/messages", `{"MessageID":"m"}`, 400, `"property":"MessageID"`},
		{"POST", "/plain/messages", `{"MessageId":7}`, 400, `"property":"MessageId"`},
		{"POST", "/plain/messages", `{"TimeToLive":"1"}`, 400, `"property":"TimeToLive"`},
		{"POST", "/plain/messages", `{"TimeToLive":0}`, 400, `"property":"TimeToLive"`},
		{"POST", "/plain/messages", `{"ScheduledEnqueueTimeUtc":"tomorrow"}`, 400, `"property":"ScheduledEnqueueTimeUtc"`},
		{"POST", "/plain/messages", `{"ScheduledEnqueueTimeUtc":7}`, 400, `"property":"ScheduledEnqueueTimeUtc"`},
		{"POST", "/plain/messages", `{"MessageId":"` + strings.Repeat("x", 129) + `"}`, 400, "128"},
	} {
		got := ask(t, h, c.method, c.path, c.properties, `{}`)
		got.wants(t, c.status, c.want, `"error":`, `"code":`)
		if c.status == 405 && got.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow header", c.method, c.path)
		}
	}
	ask(t, h, "GET", "/plain", "", "").wants(t, 200, `"active":0`)
	ask(t, h, "POST", "/plain/messages", `{"Label":"ignored","TimeToLive":1e300}`, `{}`).wants(t, 201)
}

func TestTooLargeOnTheWire(t *testing.T) {
	h, _, _ := newHandler()
	ask(t, h, "POST", "/plain/messages", "", strings.Repeat("x", 256<<10+1)).wants(t, 413, "262144", `"code":"too-large"`)
	ask(t, h, "POST", "/plain/messages", "", strings.Repeat("x", 256<<10)).wants(t, 201)
}

func TestMissingIDGetsOne(t *testing.T) {
	h, b, _ := newHandler()
	seen := map[string]bool{}
	for range 2 {
		ask(t, h, "POST", "/dup/messages", "", `{}`).wants(t, 201)
		d, ok, err := b.TryReceive(t.Context(), "dup", "")
		if err != nil || !ok || d.ID == "" || seen[d.ID] {
			t.Fatalf("received %q, ok %t, error %v; want an id of its own", d.ID, ok, err)
		}
		seen[d.ID] = true
	}
}

func TestTTLAndFractionsOnTheWire(t *testing.T) {
	h, b, clock := newHandler()
	ask(t, h, "POST", "/plain/messages", `{"TimeToLive":1.5,"ScheduledEnqueueTimeUtc":"2026-11-30T10:00:00.25+01:00"}`, `{}`).wants(t, 201)
	clock.advance(250 * time.Millisecond)
	d, ok, err := b.TryReceive(t.Context(), "plain", "")
	if err != nil || !ok || d.TTL != 1500*time.Millisecond {
		t.Errorf("ttl %v, ok %t, error %v", d.TTL, ok, err)
	}
	if d.ContentType != queue.ContentType {
		t.Errorf("content type %q", d.ContentType)
	}
}
