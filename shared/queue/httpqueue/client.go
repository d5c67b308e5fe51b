package httpqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

var (
	_ queue.Sender   = (*Client)(nil)
	_ queue.Receiver = (*Client)(nil)
)

const (
	// patience is how long an answer may take beyond the time a receiver asked to wait. It is longer
	// than the server waits for its file.
	patience = 15 * time.Second
	// maxAnswer caps what is read of an answer: a message, or an error's text.
	maxAnswer = maxBody + 64<<10
)

// Client is a sender and receiver over HTTP. It retries nothing and may be used by many goroutines at
// once. Errors are faults: NothingHappened when the server could not be reached or said so, Refused
// for an answer of 400 to 499, Conflict for a lock that is gone, MayHaveHappened for all the rest.
type Client struct {
	base *url.URL
	http *http.Client
}

// New returns a client of the queues below base. A nil transport means one of the client's own.
func New(base *url.URL, rt http.RoundTripper) *Client {
	if rt == nil {
		rt = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     30 * time.Second,
			TLSHandshakeTimeout: 5 * time.Second,
		}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, http: &http.Client{Transport: rt, CheckRedirect: stay}}
}

// Close lets go of idle connections.
func (c *Client) Close(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// Send sends; see queue.Sender. The limit of the body is checked here, so that no server has to.
func (c *Client) Send(ctx context.Context, name string, m queue.Message) error {
	const op = "send"
	if len(m.Body) > maxBody {
		return &fault.Error{Kind: fault.Refused, Op: op, Text: fmt.Sprintf("%s: the body has %d bytes, more than %d", name, len(m.Body), maxBody), Err: fault.ErrContent}
	}
	value, err := headerValue(messageProperties(m))
	if err != nil {
		return &fault.Error{Kind: fault.Refused, Op: op, Err: errors.Join(fault.ErrContent, err)}
	}
	h := http.Header{}
	h.Set("Content-Type", cmp.Or(m.ContentType, queue.ContentType))
	h.Set(propertiesHeader, value)
	setTrace(h, m.Trace)
	_, err = c.do(ctx, call{op: op, method: http.MethodPost, queue: name, path: []string{"messages"}, header: h, body: m.Body, want: http.StatusCreated})
	return err
}

// Receive locks the next message; see queue.Receiver.
func (c *Client) Receive(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	return c.head(ctx, call{op: "receive", method: http.MethodPost, queue: name, want: http.StatusCreated}, session, wait)
}

// ReceiveAndDelete takes the next message for good. After an error of kind MayHaveHappened it may be
// lost; who cannot bear that uses Receive and Complete.
func (c *Client) ReceiveAndDelete(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	return c.head(ctx, call{op: "receive and delete", method: http.MethodDelete, queue: name, want: http.StatusOK}, session, wait)
}

func (c *Client) head(ctx context.Context, k call, session string, wait time.Duration) (queue.Delivery, bool, error) {
	wait = min(max(wait, 0), longestWait)
	k.path, k.wait = []string{"messages", "head"}, wait
	k.query = url.Values{"timeout": {strconv.FormatFloat(wait.Seconds(), 'f', -1, 64)}}
	if session != "" {
		k.query.Set("sessionId", session)
	}
	a, err := c.do(ctx, k)
	if err != nil || a.status == http.StatusNoContent {
		return queue.Delivery{}, false, err
	}
	d, err := readDelivery(a.header.Get(propertiesHeader))
	if err != nil {
		return queue.Delivery{}, false, &fault.Error{Kind: fault.MayHaveHappened, Op: k.op, Err: err}
	}
	d.ContentType, d.Trace, d.Body = a.header.Get("Content-Type"), readTrace(a.header.Get(traceHeader)), a.body
	return d, true, nil
}

// Complete removes the message for good.
func (c *Client) Complete(ctx context.Context, name string, d queue.Delivery) error {
	_, err := c.do(ctx, lockCall("complete", http.MethodDelete, name, d))
	return err
}

// Abandon gives the message back.
func (c *Client) Abandon(ctx context.Context, name string, d queue.Delivery) error {
	_, err := c.do(ctx, lockCall("abandon", http.MethodPut, name, d))
	return err
}

// Renew makes the lock last longer and returns its new end, in whole seconds.
func (c *Client) Renew(ctx context.Context, name string, d queue.Delivery) (time.Time, error) {
	k := lockCall("renew", http.MethodPost, name, d)
	a, err := c.do(ctx, k)
	if err != nil {
		return time.Time{}, err
	}
	renewed, err := readDelivery(a.header.Get(propertiesHeader))
	if err != nil {
		return time.Time{}, &fault.Error{Kind: fault.MayHaveHappened, Op: k.op, Err: err}
	}
	return renewed.LockedUntil, nil
}

func lockCall(op, method, name string, d queue.Delivery) call {
	return call{op: op, method: method, queue: name, path: []string{"messages", strconv.FormatInt(d.Sequence, 10), d.Lock}, want: http.StatusOK}
}

// Counts returns how many messages the queue has in each state.
func (c *Client) Counts(ctx context.Context, name string) (depth.Counts, error) {
	var counts depth.Counts
	a, err := c.do(ctx, call{op: "count", method: http.MethodGet, queue: name, want: http.StatusOK})
	if err != nil {
		return counts, err
	}
	if err := json.Unmarshal(a.body, &counts); err != nil {
		return counts, &fault.Error{Kind: fault.MayHaveHappened, Op: "count", Err: err}
	}
	return counts, nil
}
