// Package httpqueue carries queues over HTTP as Service Bus's REST interface does: POST
// /<queue>/messages sends, DELETE /<queue>/messages/head receives for good, POST on the same path
// receives under a lock, and DELETE, PUT and POST on /<queue>/messages/<id>/<lock> complete, give back
// and renew. GET /<queue> counts. <queue>/$deadletterqueue is a queue name too. Everything about a
// message except its body and content type travels as JSON in the header BrokerProperties. Answers are
// JSON; an error is {"error":<text>,"code":<code>} and, where one is to blame, "property".
//
// Entry points: Handler serves a broker, New makes a client of one.
package httpqueue

import (
	"net/http"
	"strings"
)

// propertiesHeader is the header that holds a message's properties.
const propertiesHeader = "BrokerProperties"

// traceHeader carries the sender's trace. In Service Bus's REST interface a header of no other meaning is a
// property of the message, a text of which may stand in quotation marks.
const (
	traceHeader = "traceparent"
	maxTrace    = 128 // bytes; a longer one is none
)

// setTrace puts a trace into a header; one that has no place there is left out, for nothing depends on it.
func setTrace(h http.Header, trace string) {
	if trace != "" && readTrace(trace) == trace {
		h.Set(traceHeader, trace)
	}
}

// readTrace takes a trace out of a header's value.
func readTrace(value string) string {
	value = strings.Trim(strings.TrimSpace(value), `"`)
	if len(value) > maxTrace || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return value
}

// maxBody is the largest body of a message in bytes.
const maxBody = 256 << 10

// The codes of error answers, which the client tells kinds of fault by.
const (
	codeBadRequest   = "bad-request"
	codeUnknownQueue = "unknown-queue"
	codeTooLarge     = "too-large"
	codeLockLost     = "lock-lost"
	codeNotDone      = "nothing-happened"
	codeUnclear      = "may-have-happened"
)

// problem is the body of an error answer.
type problem struct {
	Error    string `json:"error"`
	Code     string `json:"code"`
	Property string `json:"property,omitempty"`
}
