package azurefn_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"prowgate/shared/azurefn"
)

// The trace is one of the message's own properties, under the names that libraries and hosts of different ages use.
func TestTraceOfAMessage(t *testing.T) {
	const own, diagnostic = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	for metadata, want := range map[string]string{
		`{"ApplicationProperties":{"source":"ev2","traceparent":"` + own + `"}}`:                                                  own,
		`{"UserProperties":{"traceparent":"` + own + `"}}`:                                                                        own,
		`{"ApplicationProperties":{"Diagnostic-Id":"` + diagnostic + `"}}`:                                                        diagnostic,
		`{"ApplicationProperties":{"Diagnostic-Id":"` + diagnostic + `","traceparent":"` + own + `"}}`:                            own,
		`{"ApplicationProperties":{"traceparent":""},"UserProperties":{"Diagnostic-Id":"` + diagnostic + `"}}`:                    diagnostic,
		`{"ApplicationProperties":"{\"traceparent\":\"` + own + `\"}"}`:                                                           own,
		`{"ApplicationProperties":{"traceparent":"\"` + own + `\""}}`:                                                             own,
		`{"ApplicationProperties":{"traceparent":{"a":1}},"UserProperties":[1],"CorrelationId":"\"` + own + `\""}`:                "",
		`{"ApplicationProperties":null,"UserProperties":"hello","sys":{"traceparent":"` + own + `"},"traceparent":"` + own + `"}`: "",
		`{}`: "",
	} {
		got := "none"
		h := newHost(t, func(_ context.Context, in azurefn.Invocation) error { got = in.Trace; return nil })
		body := `{"Data":{"message":"{}"},"Metadata":` + metadata + `}`
		if status, a := h.call(http.MethodPost, "/submit", strings.NewReader(body)); status != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, got %q, want %q", metadata, status, a.Error, got, want)
		}
	}
}

// What is found in a line's context stands beside the invocation, outside of any group, in the line and in the
// answer's Logs.
func TestMoreInALine(t *testing.T) {
	type key struct{}
	var log *slog.Logger
	h := newHost(t, func(ctx context.Context, _ azurefn.Invocation) error {
		log.With("a", 1).WithGroup("g").InfoContext(context.WithValue(ctx, key{}, "t-1"), "hello", "b", 2)
		return nil
	})
	log = slog.New(azurefn.NewLog(h.out, slog.LevelInfo, func(ctx context.Context) []slog.Attr {
		text, _ := ctx.Value(key{}).(string)
		return []slog.Attr{slog.String("trace", text)}
	}))
	_, a := h.call(http.MethodPost, "/submit", strings.NewReader(`{"Data":{"timer":{}}}`))
	const want = `"function":"submit","invocation":"` + invocationID + `","trace":"t-1","a":1,"g":{"b":2}}`
	if len(a.Logs) != 1 || !strings.HasSuffix(a.Logs[0], want) || h.out.String() != a.Logs[0]+"\n" {
		t.Errorf("Logs %q, stdout %s", a.Logs, h.out)
	}
}
