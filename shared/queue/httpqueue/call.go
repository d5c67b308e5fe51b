package httpqueue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"prowgate/shared/fault"
)

// call is one request.
type call struct {
	op, method, queue string
	path              []string
	query             url.Values
	header            http.Header
	body              []byte
	wait              time.Duration // how long the server may take its time
	want              int
}

// reply is an answer read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// do makes the request and returns the answer if its status is the wanted one, or 204 where the call
// waits for a message.
func (c *Client) do(ctx context.Context, k call) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, &fault.Error{Kind: fault.NothingHappened, Op: k.op, Err: err}
	}
	if !validName(k.queue) {
		return reply{}, &fault.Error{Kind: fault.Refused, Op: k.op, Text: fmt.Sprintf("%q is no name of a queue", k.queue)}
	}
	ctx, cancel := context.WithTimeout(ctx, k.wait+patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, k.method, c.url(k), bytes.NewReader(k.body))
	if err != nil {
		return reply{}, &fault.Error{Kind: fault.Refused, Op: k.op, Err: err}
	}
	if k.header != nil {
		req.Header = k.header
	}
	res, err := c.http.Do(req)
	if err != nil {
		return reply{}, &fault.Error{Kind: unreached(err), Op: k.op, Text: "the queue's server did not answer: " + fault.Reason(err), Err: err}
	}
	defer func() { _ = res.Body.Close() }() // read to its end already, or given up
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return reply{}, &fault.Error{Kind: fault.MayHaveHappened, Op: k.op, Text: "the answer was cut off", Err: err}
	}
	if len(body) > maxAnswer {
		return reply{}, &fault.Error{Kind: fault.MayHaveHappened, Op: k.op, Text: "the answer is too large"}
	}
	a := reply{res.StatusCode, res.Header, body}
	if a.status == k.want || a.status == http.StatusNoContent && k.query != nil {
		return a, nil
	}
	return reply{}, refusal(k, a)
}

// validName reports whether the name stays below the base URL.
func validName(name string) bool {
	for _, s := range strings.Split(name, "/") {
		if s == "" || s == "." || s == ".." {
			return false
		}
	}
	return true
}

func (c *Client) url(k call) string {
	var parts []string
	for _, s := range append(strings.Split(k.queue, "/"), k.path...) {
		parts = append(parts, url.PathEscape(s))
	}
	u := c.base.JoinPath(parts...)
	u.RawQuery = k.query.Encode()
	return u.String()
}

// unreached returns the kind of a request that got no answer: only one that no connection could be
// made for has surely not arrived.
func unreached(err error) fault.Kind {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" || errors.Is(err, syscall.ECONNREFUSED) {
		return fault.NothingHappened
	}
	return fault.MayHaveHappened
}

// refusal turns an answer of another status into a fault. A 503 counts as not done only when the
// server itself says so: one from a proxy in between proves nothing.
func refusal(k call, a reply) error {
	var p problem
	_ = json.Unmarshal(a.body, &p) // what is no JSON has no code
	f := &fault.Error{Kind: fault.MayHaveHappened, Op: k.op, Text: fmt.Sprintf("%s: HTTP %d %s", k.queue, a.status, p.Error)}
	switch {
	case p.Code == codeLockLost:
		f.Kind = fault.Conflict
	case p.Code == codeNotDone || a.status == http.StatusTooManyRequests:
		f.Kind = fault.NothingHappened
	case a.status == http.StatusRequestTimeout:
	case a.status >= 300 && a.status < 500:
		f.Kind = fault.Refused
	}
	return f
}
