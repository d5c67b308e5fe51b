package httpqueue_test

import (
	"strings"
	"testing"

	"prowgate/shared/fault"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/httpqueue"
)

// What errors say goes through the caller's rule, wherever it repeats the request or the broker; the code does not,
// for clients read it, nor does a message.
func TestErrorsGoThroughTheCallersRule(t *testing.T) {
	rule := func(text string) string { return strings.ReplaceAll(text, "secret", "***") }
	b := broker.New(testConfig(newHands()))
	h := httpqueue.Handler(b, rule)
	failing := httpqueue.Handler(failing{err: &fault.Error{Kind: fault.NothingHappened, Text: "secret"}}, rule)
	for _, c := range []struct {
		got    reply
		status int
	}{
		{ask(t, h, "GET", "/secret", "", ""), 404},
		{ask(t, h, "secret", "/plain", "", ""), 405},
		{ask(t, h, "POST", "/plain/messages", `{"secret":1}`, ""), 400},
		{ask(t, failing, "POST", "/plain/messages", "", ""), 503},
		{ask(t, failing, "DELETE", "/plain/messages/1/lock", "", ""), 503},
	} {
		if c.got.wants(t, c.status, `"error"`, `"code"`, "***"); strings.Contains(c.got.body, "secret") {
			t.Errorf("%d %s", c.got.status, c.got.body)
		}
	}
	ask(t, h, "POST", "/plain/messages", "", `{"a":"secret"}`).wants(t, 201)
	ask(t, h, "DELETE", "/plain/messages/head?timeout=0", "", "").wants(t, 200, `{"a":"secret"}`)
	ask(t, httpqueue.Handler(b), "GET", "/secret", "", "").wants(t, 404, "secret")
}
