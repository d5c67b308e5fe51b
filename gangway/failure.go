package gangway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/sent"
)

// statusNginxClosed is nginx's word for a client that went away, which a proxy may pass on about itself.
const statusNginxClosed = 499

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

// tokenText stands where a server echoed the token.
const tokenText = "(token)"

var errNoToken = errors.New("no token")

// httpStatus is the cause of a fault that came as an HTTP status.
type httpStatus int

func (s httpStatus) Error() string { return "HTTP " + strconv.Itoa(int(s)) }

// Is makes a 429 known as what it is.
func (s httpStatus) Is(target error) bool {
	return target == fault.ErrTooFast && s == http.StatusTooManyRequests
}

// unanswered judges a request that got no answer.
func unanswered(p *sent.Progress, op string, err error, secret string) *fault.Error {
	if !p.Left(err) {
		return notSent(op, err, secret)
	}
	return &fault.Error{Op: op, Text: "no usable answer: " + reason(err, secret), Err: hushed(err, secret)}
}

// notSent is the fault of a request that did not leave.
func notSent(op string, err error, secret string) *fault.Error {
	return &fault.Error{Kind: fault.NothingHappened, Op: op, Text: "not sent: " + reason(err, secret), Err: hushed(err, secret)}
}

// cutOff is the fault of an answer that ended too early.
func cutOff(op string, err error, secret string) *fault.Error {
	return &fault.Error{Op: op, Text: "the answer was cut off: " + reason(err, secret), Err: hushed(err, secret)}
}

// statusKind is the kind of an answer that is not 2xx. A redirect may be a proxy that wants a login, and may
// follow what was done (303). 425 and 429
// are answered before the request is looked at; behind 408, 499 and every 5xx it may have been done, for
// Gangway answers 500 also when only its own answer failed.
func statusKind(code int) fault.Kind {
	switch {
	case code == http.StatusTooEarly || code == http.StatusTooManyRequests:
		return fault.NothingHappened
	case code == http.StatusRequestTimeout || code == statusNginxClosed:
		return fault.MayHaveHappened
	case code >= 400 && code < 500:
		return fault.Refused
	}
	return fault.MayHaveHappened
}

// refusal turns an answer that is not 2xx into a fault.
func (c *caller) refusal(q call, resp *http.Response, secret string) *fault.Error {
	body, _ := readAll(resp.Body, maxAnswer) // what could be read is enough: the status decides
	message, own := serverMessage(resp, body, secret)
	f := &fault.Error{
		Kind:       statusKind(resp.StatusCode),
		Op:         q.op,
		Text:       fmt.Sprintf("HTTP %d: %s", resp.StatusCode, message),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), c.clock),
		Err:        httpStatus(resp.StatusCode),
	}
	if own && resp.StatusCode == http.StatusInternalServerError && containsAny(message, q.noes) {
		f.Kind = fault.Refused
	}
	return f
}

// serverMessage is what the server said, in one line; own is true when it came in the form in which Gangway
// itself and its transcoding proxy answer, {"code":2,"message":"..."}.
func serverMessage(resp *http.Response, body []byte, secret string) (text string, own bool) {
	var status struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(body, &status) == nil && status.Message != "":
		return line(status.Message, secret), true
	case resp.StatusCode/100 == 3:
		return redirectText(resp, secret), false
	case isHTML(resp.Header, body):
		return htmlText, false
	case len(strings.TrimSpace(string(body))) == 0:
		return "no text", false
	}
	return line(string(body), secret), false
}

// redirectText names the host of a redirect, not its URL, which may hold a session.
func redirectText(resp *http.Response, secret string) string {
	if to, err := resp.Location(); err == nil && to.Host != "" {
		return "a redirect to " + line(to.Host, secret) + " (a login page?), not followed"
	}
	return "a redirect (a login page?), not followed"
}

// retryAfter reads a Retry-After header, seconds or a date (RFC 9110, 10.2.3); 0 when there is none.
func retryAfter(value string, clock func() time.Time) time.Duration {
	wait := time.Duration(0)
	if n, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(min(n, int(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil && clock != nil {
		wait = at.Sub(clock())
	}
	return min(max(wait, 0), maxRetryAfter)
}

// without takes the token out of a text, for a server may echo what it was sent.
func without(text, secret string) string {
	if secret == "" {
		return text
	}
	return strings.ReplaceAll(text, secret, tokenText)
}

// line is a foreign text for people. The token goes before the text is cut to length, so that no half of it stays.
func line(text, secret string) string { return fault.Line(without(text, secret)) }

// reason is what went wrong, for people; as in line, the token goes first.
func reason(err error, secret string) string {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err // fault.Reason would take it out, and with it what hides the token
	}
	return fault.Reason(hushed(err, secret))
}

// hushed returns err or, when its text holds the token, an error with another text that is the same to errors.Is.
func hushed(err error, secret string) error {
	if secret == "" || !strings.Contains(err.Error(), secret) {
		return err
	}
	return hush{text: without(err.Error(), secret), is: func(target error) bool { return errors.Is(err, target) }}
}

// hush stands for an error whose text holds the token. It cannot be unwrapped: that would give the token away.
type hush struct {
	text string
	is   func(target error) bool
}

func (h hush) Error() string { return h.text }

// Is is that of the error which it stands for.
func (h hush) Is(target error) bool { return h.is(target) }

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
