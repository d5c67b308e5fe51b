package gangway

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"prowgate/shared/fault"
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

// progress is how far a request got.
type progress struct{ sought, wrote atomic.Bool }

// watch returns a context under which the standard transport reports its progress. The headers are reported
// as written before the body is sent, so a request that is not reported cannot have been complete.
func (p *progress) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { p.sought.Store(true) },
		WroteHeaders: func() { p.wrote.Store(true) },
	})
}

// fault judges a request that got no answer. A transport that reports no progress is believed only if the
// error itself can come from nothing but the dial.
func (p *progress) fault(op string, err error) *fault.Error {
	if !p.wrote.Load() && (p.sought.Load() || neverConnected(err)) {
		return notSent(op, err)
	}
	return &fault.Error{Op: op, Text: "no usable answer: " + reason(err), Err: err}
}

// notSent is the fault of a request that did not leave.
func notSent(op string, err error) *fault.Error {
	return &fault.Error{Kind: fault.NothingHappened, Op: op, Text: "not sent: " + reason(err), Err: err}
}

// neverConnected reports whether err says that there was no connection.
func neverConnected(err error) bool {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) || errors.As(err, &cert) ||
		errors.As(err, &op) && op.Op == "dial"
}

// reason is err in one line, without the URL that net/http puts in front of it.
func reason(err error) string {
	var u *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the time was up"
	case errors.Is(err, context.Canceled):
		return "the call was given up"
	case errors.As(err, &u):
		err = u.Err
	}
	return oneLine(err.Error())
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
	// What could be read is enough: the status decides. The token goes before the text is cut to length,
	// so that no half of it stays.
	body, _ := readAll(resp.Body, maxAnswer)
	message, own := serverMessage(resp, bytes.ReplaceAll(body, orNever(secret), []byte(tokenText)))
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
func serverMessage(resp *http.Response, body []byte) (text string, own bool) {
	var status struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(body, &status) == nil && status.Message != "":
		return oneLine(status.Message), true
	case resp.StatusCode/100 == 3:
		return redirectText(resp), false
	case isHTML(resp.Header, body):
		return htmlText, false
	case len(strings.TrimSpace(string(body))) == 0:
		return "no text", false
	}
	return oneLine(string(body)), false
}

// redirectText names the host of a redirect, not its URL, which may hold a session.
func redirectText(resp *http.Response) string {
	if to, err := resp.Location(); err == nil && to.Host != "" {
		return "a redirect to " + oneLine(to.Host) + " (a login page?), not followed"
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

// scrub takes the token out of a fault's text, for a server may echo what it was sent.
func scrub(f *fault.Error, secret string) *fault.Error {
	f.Text = strings.ReplaceAll(f.Text, string(orNever(secret)), tokenText)
	return f
}

// orNever is the secret as something to search for: a text that occurs nowhere when there is none.
func orNever(secret string) []byte {
	if secret == "" {
		return []byte{0xff, 0xfe, 0xff}
	}
	return []byte(secret)
}

// oneLine returns text without control characters, its white space folded, cut to 300 runes.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == 0x85
	}), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

func containsAny(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}
