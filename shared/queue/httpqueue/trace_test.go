package httpqueue_test

import (
	"net/http"
	"strings"
	"testing"

	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/httpqueue"
)

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A pipeline that speaks plain HTTP sends the trace as a header of its request, with or without the quotation marks
// of Service Bus's properties, and finds it in the answer.
func TestTraceIsAHeader(t *testing.T) {
	client, base := serve(t, httpqueue.Handler(broker.New(testConfig(newHands()))))
	for _, value := range []string{trace, `"` + trace + `"`} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base.String()+"/plain/messages", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("traceparent", value)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusCreated {
			t.Fatalf("%v, %v", res, err)
		}
		_ = res.Body.Close()
		if d, ok, err := client.ReceiveAndDelete(t.Context(), "plain", "", 0); err != nil || !ok || d.Trace != trace {
			t.Errorf("%s: ok %t, %v, trace %q", value, ok, err, d.Trace)
		}
	}
}

// A trace that no header can carry is left behind, and the message arrives.
func TestUnfitTraceIsLeftOut(t *testing.T) {
	client, _ := serve(t, httpqueue.Handler(broker.New(testConfig(newHands()))))
	for _, unfit := range []string{"a\r\nBrokerProperties: {}", "a b", "ü", "\x00", strings.Repeat("a", 129), `"quoted"`} {
		if err := client.Send(t.Context(), "plain", queue.Message{ID: "m", Trace: unfit}); err != nil {
			t.Errorf("%q: %v", unfit, err)
		}
		if d, ok, err := client.ReceiveAndDelete(t.Context(), "plain", "", 0); err != nil || !ok || d.Trace != "" || d.ID != "m" {
			t.Errorf("%q: ok %t, %v, %+v", unfit, ok, err, d)
		}
	}
}
