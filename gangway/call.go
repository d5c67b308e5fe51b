package gangway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/sent"
)

// maxRedirects is how often Deck and the artifacts server may point elsewhere on their own host.
const maxRedirects = 5

// call is one request and what must be known to judge its failure.
type call struct {
	op       string
	method   string
	url      string
	body     []byte
	limit    int64
	timeout  time.Duration
	oversize fault.Kind // what an answer beyond the limit means
	html     bool       // an HTML page may be what was asked for
	noes     []string   // texts in a 500 of the server's own which say that it refused
}

// caller sends calls to one server.
type caller struct {
	http  *http.Client
	token func(ctx context.Context) (string, error)
	clock func() time.Time

	refused func(ctx context.Context, token string) (renewed bool) // see Config.TokenRefused; may be nil
}

// newCaller returns a caller that sends no token and follows redirects only on the same host.
func newCaller(c Config) *caller {
	return &caller{
		http:  &http.Client{Transport: c.transport(), CheckRedirect: sameHost},
		clock: c.Clock,
	}
}

// sameHost makes the client hand back a redirect to any other host, instead of following it.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if len(via) > maxRedirects || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// noRedirect makes the client hand back every redirect.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// leastSecret is how long a token must be to be taken out of an answer that is used: a shorter one may be a word of it.
const leastSecret = 16

// do sends the call and returns the body of a 2xx answer. All errors are faults.
func (c *caller) do(ctx context.Context, q call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	resp, secret, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := readAll(resp.Body, q.limit)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, &fault.Error{Kind: q.oversize, Op: q.op, Text: "the answer is too large", Err: err}
	case err != nil:
		return nil, cutOff(q.op, err, secret)
	case !q.html && isHTML(resp.Header, body):
		return nil, &fault.Error{Op: q.op, Text: htmlText}
	}
	if len(secret) >= leastSecret { // errors of those who read it show parts of it
		body = bytes.ReplaceAll(body, []byte(secret), []byte(tokenText))
	}
	return body, nil
}

// open sends the call and returns a 2xx answer, whose body the caller closes; it is decompressed already
// and ends with ctx. All errors are faults.
func (c *caller) open(ctx context.Context, q call) (*http.Response, error) {
	resp, _, err := c.send(ctx, q)
	return resp, err
}

// send is open, and tells the token that was sent.
func (c *caller) send(ctx context.Context, q call) (*http.Response, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", notSent(q.op, err, "")
	}
	req, secret, err := c.request(ctx, q)
	if err != nil {
		return nil, "", err
	}
	ctx, progress := sent.Begin(ctx)
	resp, err := sent.Watch(c.http).Do(req.WithContext(ctx))
	if err != nil {
		return nil, "", unanswered(progress, q.op, err, secret)
	}
	resp.Body = inflated(resp.Body)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, secret, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, "", c.judgeToken(ctx, c.refusal(q, resp, secret), resp.StatusCode, secret)
}

// judgeToken makes a refused token that has been renewed meanwhile a passing failure.
func (c *caller) judgeToken(ctx context.Context, f *fault.Error, status int, secret string) *fault.Error {
	denied := status == http.StatusUnauthorized || status == http.StatusForbidden
	if denied && secret != "" && c.refused != nil && c.refused(ctx, secret) {
		f.Kind, f.Text = fault.NothingHappened, "the token was refused and has been renewed: "+f.Text
	}
	return f
}

// request makes the HTTP request, and returns the token that it carries.
func (c *caller) request(ctx context.Context, q call) (*http.Request, string, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, q.url, bytes.NewReader(q.body))
	if err != nil {
		return nil, "", &fault.Error{Kind: fault.Refused, Op: q.op, Text: "the request cannot be made", Err: err}
	}
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	req.Header.Set("Cache-Control", "no-cache")
	if len(q.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	secret, err := c.secret(ctx, q.op)
	if err == nil && secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	return req, secret, err
}

// secret asks for the token. A token that no header can hold is refused here, because the transport would
// refuse it in words that do not say so.
func (c *caller) secret(ctx context.Context, op string) (string, error) {
	if c.token == nil {
		return "", nil
	}
	token, err := c.token(ctx)
	if err != nil {
		return "", notSent(op, errors.Join(errNoToken, err), "")
	}
	token = strings.TrimSpace(token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &fault.Error{Kind: fault.Refused, Op: op, Text: "the token holds characters that a header cannot"}
	}
	return token, nil
}

// readAll reads to the end, or fails with errTooLarge beyond limit bytes.
func readAll(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, err
}
