package servicebus

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"prowgate/shared/queue"
)

func TestTraceIsAProperty(t *testing.T) {
	if p := outgoing(queue.Message{Trace: "00-a-b-01"}).ApplicationProperties; len(p) != 1 || p["traceparent"] != "00-a-b-01" {
		t.Errorf("properties %v", p)
	}
	if p := outgoing(queue.Message{}).ApplicationProperties; p != nil {
		t.Errorf("properties %v of a message without a trace", p)
	}
	for _, c := range []struct {
		properties map[string]any
		want       string
	}{
		{nil, ""},
		{map[string]any{"traceparent": "00-a-b-01", "Diagnostic-Id": "00-c-d-01"}, "00-a-b-01"},
		{map[string]any{"Diagnostic-Id": "00-c-d-01"}, "00-c-d-01"},
		{map[string]any{"traceparent": 7, "DeadLetterReason": "x"}, ""},
	} {
		if got := incoming(&azservicebus.ReceivedMessage{ApplicationProperties: c.properties}).Trace; got != c.want {
			t.Errorf("%v: trace %q, want %q", c.properties, got, c.want)
		}
	}
}
