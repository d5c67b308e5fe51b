package sqs_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/sqs"
)

// transport answers every request with one status and body, or fails it.
type transport struct {
	status int
	body   string
	err    error
	calls  int
}

func (tr *transport) Do(r *http.Request) (*http.Response, error) {
	tr.calls++
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	if tr.err != nil {
		return nil, tr.err
	}
	return &http.Response{
		StatusCode: tr.status, Body: io.NopCloser(strings.NewReader(tr.body)), Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

func open(t *testing.T, tr *transport) *sqs.Queues {
	t.Helper()
	cfg := config()
	cfg.HTTPClient = tr
	q, err := sqs.Open(cfg, "https://sqs.eu-west-1.amazonaws.com/123456789012", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// The codes of this service, and each call at both moments; package awsfault has the rest of the rule.
func TestKindsOfFailure(t *testing.T) {
	code := func(name string) string { return `{"__type":"com.amazonaws.sqs#` + name + `","message":"no"}` }
	for _, c := range []struct {
		name string
		tr   transport
		want fault.Kind
	}{
		{"refused connection", transport{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, fault.NothingHappened},
		{"too many in flight", transport{status: 400, body: code("OverLimit")}, fault.NothingHappened},
		{"key throttled", transport{status: 400, body: code("KmsThrottled")}, fault.NothingHappened},
		{"no such queue", transport{status: 400, body: code("QueueDoesNotExist")}, fault.Refused},
		{"lock gone", transport{status: 400, body: code("ReceiptHandleIsInvalid")}, fault.Conflict},
		{"not held", transport{status: 400, body: code("MessageNotInflight")}, fault.Conflict},
		{"reset", transport{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}, fault.MayHaveHappened},
		{"unavailable", transport{status: 503}, fault.MayHaveHappened},
		{"cut off", transport{status: 200, body: `{"MessageId":`}, fault.MayHaveHappened},
	} {
		tr := c.tr
		q := open(t, &tr)
		_, _, received := q.Receive(t.Context(), "q", "", 0)
		_, renewed := q.Renew(t.Context(), "q", queue.Delivery{Lock: "l"})
		for op, err := range map[string]error{
			"send": q.Send(t.Context(), "q", queue.Message{ID: "m", Body: []byte(`{}`)}), "receive": received, "renew": renewed,
			"abandon": q.Abandon(t.Context(), "q", queue.Delivery{Lock: "l"}),
		} {
			if c.name == "cut off" && (op == "renew" || op == "abandon") {
				continue // there is nothing in these answers to read
			}
			if !fault.Is(err, c.want) {
				t.Errorf("%s: %s: %v (%v), want %v", c.name, op, err, fault.KindOf(err), c.want)
			}
			if c.tr.err != nil && !errors.Is(err, c.tr.err) {
				t.Errorf("%s: %s: the cause is lost in %v", c.name, op, err)
			}
		}
		if tr.calls != 4 {
			t.Errorf("%s: %d requests, want one a call", c.name, tr.calls)
		}
	}
}

func TestRefusedWithoutARequest(t *testing.T) {
	tr := transport{status: 200, body: `{}`}
	q := open(t, &tr)
	for name, m := range map[string]queue.Message{
		"large": {ID: "m", Body: make([]byte, 256<<10+1)}, "id": {ID: "a\x00", Body: []byte(`{}`)},
	} {
		if err := q.Send(t.Context(), "q", m); !fault.Is(err, fault.Refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Complete(ctx, "q", queue.Delivery{Lock: "l"}); !fault.Is(err, fault.NothingHappened) || !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if tr.calls != 0 {
		t.Errorf("%d requests", tr.calls)
	}
}

func TestOpenRefusesWithoutRepeating(t *testing.T) {
	for _, raw := range []string{"sqs:", "sqs:https://hush", "sqs://hush:x/1", "https://user:hush@sqs.eu-west-1.amazonaws.com/1", "hush"} {
		if _, err := sqs.Open(config(), raw, time.Now); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}
