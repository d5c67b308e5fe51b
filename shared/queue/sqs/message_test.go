package sqs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/queue"
)

func TestBodiesThatSQSWouldNotTake(t *testing.T) {
	for _, body := range []string{"", "\x00", "a\x1fb", "\xff", "{\"a\":\"\ufffe\"}", "=", "{}", "ü\u2028"} {
		m := queue.Message{ID: "m", ContentType: queue.ContentType, Body: []byte(body)}
		sent, attributes := encode(m, time.Time{})
		if sent == "" || !printable(sent) {
			t.Errorf("%q is sent as %q", body, sent)
		}
		got, err := Decode("x", sent, attributes)
		if diff := cmp.Diff(m, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", body, err, diff)
		}
	}
}

func TestTraceIsAnAttribute(t *testing.T) {
	m := queue.Message{ID: "m", ContentType: queue.ContentType, Trace: "00-a-b-01", Body: []byte("{}")}
	body, attributes := encode(m, time.Time{})
	if attributes["traceparent"] != m.Trace {
		t.Errorf("attributes %v", attributes)
	}
	got, err := Decode("x", body, attributes)
	if diff := cmp.Diff(m, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestMessageFromElsewhere(t *testing.T) {
	got, err := Decode("sqs-id", `{"gateId":"g"}`, nil)
	want := queue.Message{ID: "sqs-id", ContentType: queue.ContentType, Body: []byte(`{"gateId":"g"}`)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestUnreadableAttributes(t *testing.T) {
	for _, attributes := range []map[string]string{
		{attributeScheduled: "soon"}, {attributeEncoding: "gzip"}, {attributeEncoding: encodingBase64},
	} {
		if _, err := Decode("m", "{?}", attributes); err == nil {
			t.Errorf("%v: no error", attributes)
		}
	}
}
