// Package httpqueue carries queues over HTTP as Service Bus's REST interface does: POST
// /<queue>/messages sends, DELETE /<queue>/messages/head receives for good, POST on the same path
// receives under a lock, and DELETE, PUT and POST on /<queue>/messages/<id>/<lock> complete, give back
// and renew. GET /<queue> counts. <queue>/$deadletterqueue is a queue name too. Everything about a
// message except its body and content type travels as JSON in the header BrokerProperties. Answers are
// JSON; an error is {"error":<text>,"code":<code>} and, where one is to blame, "property".
//
// Entry points: Handler serves a broker, New makes a client of one.
package httpqueue

// propertiesHeader is the header that holds a message's properties.
const propertiesHeader = "BrokerProperties"

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
