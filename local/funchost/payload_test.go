package funchost

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/queue"
)

func TestQueuePayload(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 3, 0, 120000000, time.UTC)
	body := `{"gateId":"g1","text":"<&> ü \"quoted\""}`
	raw, err := queuePayload(Function{Name: "submit", Binding: "message"}, queue.Delivery{
		Message:  queue.Message{ID: "abc", SessionID: "s", ContentType: "application/json", Body: []byte(body)},
		Sequence: 12, DeliveryCount: 3, EnqueuedAt: at, Lock: "l1",
	}, at.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Data     map[string]string
		Metadata map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	var inner string
	if err := json.Unmarshal([]byte(got.Data["message"]), &inner); err != nil || inner != body {
		t.Errorf("body %q in %q, %v", inner, got.Data["message"], err)
	}
	var s sys
	if err := json.Unmarshal(got.Metadata["sys"], &s); err != nil || s.MethodName != "submit" || s.RandGuid == "" || !s.UtcNow.Equal(at.Add(time.Second)) {
		t.Errorf("sys %s, %v", got.Metadata["sys"], err)
	}
	delete(got.Metadata, "sys")
	want := map[string]string{
		"DeliveryCount":   `"3"`,
		"SequenceNumber":  `"12"`,
		"EnqueuedTimeUtc": `"\"2026-05-01T10:03:00.12Z\""`,
		"ExpiresAtUtc":    `"\"9999-12-31T23:59:59.9999999Z\""`,
		"MessageId":       `"\"abc\""`,
		"LockToken":       `"\"l1\""`,
		"ContentType":     `"\"application/json\""`,
		"SessionId":       `"\"s\""`,
	}
	texts := map[string]string{}
	for name, v := range got.Metadata {
		texts[name] = string(v)
	}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
}

func TestQueuePayloadExpiryAndBytes(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	raw, err := queuePayload(Function{Binding: "m"}, queue.Delivery{
		Message: queue.Message{TTL: time.Hour, Body: []byte("a\xffb")}, EnqueuedAt: at,
	}, at)
	if err != nil || !json.Valid(raw) {
		t.Fatalf("%s, %v", raw, err)
	}
	for _, want := range []string{`"m":"\"a` + "\uFFFD" + `b\""`, `"ExpiresAtUtc":"\"2026-05-01T11:00:00Z\""`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s does not hold %s", raw, want)
		}
	}
	if strings.Contains(string(raw), "SessionId") {
		t.Errorf("a message without a session has one: %s", raw)
	}
}

// The trace is among the message's own properties, which the real host sends as objects.
func TestQueuePayloadTrace(t *testing.T) {
	raw, err := queuePayload(Function{Binding: "m"}, queue.Delivery{Message: queue.Message{Trace: "00-a-b-01"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ApplicationProperties", "UserProperties"} {
		if want := `"` + name + `":{"traceparent":"00-a-b-01"}`; !strings.Contains(string(raw), want) {
			t.Errorf("%s does not hold %s", raw, want)
		}
	}
}

func TestTimerPayload(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	raw, err := timerPayload(Function{Name: "sweep", Binding: "timer"}, at.Add(-time.Minute), at.Add(time.Minute), at, true)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Data":{"timer":{"Schedule":{"AdjustForDST":true},"ScheduleStatus":{"Last":"2026-05-01T09:59:00Z","Next":"2026-05-01T10:01:00Z",` +
		`"LastUpdated":"2026-05-01T09:59:00Z"},"IsPastDue":true}},"Metadata":{"sys":{"MethodName":"sweep","UtcNow":"2026-05-01T10:00:00Z","RandGuid":"`
	if !strings.HasPrefix(string(raw), want) {
		t.Errorf("payload %s", raw)
	}
}

func TestJudgeAnswer(t *testing.T) {
	const typ = "application/json; charset=utf-8"
	for _, c := range []struct {
		status      int
		typ, body   string
		hangs, good bool
	}{
		{200, typ, `{"Outputs":{},"Logs":["a"],"ReturnValue":null}`, false, true},
		{204, typ, `{}`, false, true},
		{200, "text/json", `{"outputs":{"x":1}}`, false, true},
		{200, typ, ``, true, false},
		{200, "", ``, true, false},
		{200, typ, `null`, true, false},
		{200, typ, ` null `, true, false},
		{200, "text/plain", `{}`, false, false},
		{200, "", `{}`, false, false},
		{200, typ, `[]`, false, false},
		{200, typ, `{"Logs":"a"}`, false, false},
		{200, typ, `{} {}`, false, false},
		{200, typ, `{`, false, false},
		{302, typ, `{}`, false, false},
		{400, typ, `{}`, false, false},
		{500, typ, ``, false, false},
	} {
		logs, err := judgeAnswer(c.status, c.typ, []byte(c.body))
		if got := err == nil; got != c.good {
			t.Errorf("%+v: %v", c, err)
		}
		if got := errors.Is(err, errHangs); got != c.hangs {
			t.Errorf("%+v: hangs %v: %v", c, got, err)
		}
		if err != nil && logs != nil {
			t.Errorf("%+v: the logs of a failed invocation are dropped", c)
		}
	}
}
