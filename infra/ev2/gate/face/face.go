// Package face reads what the service tells of its gates over HTTP, `/api/gates`. The local host has this
// face, and on AWS a Lambda function behind a URL; Service Bus has none.
//
// Entry points: New for a client; NewQueue for the queues of a service that cannot hand out the messages of
// one gate alone, so that a step reads its gate here.
package face

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

const (
	patience  = 30 * time.Second // for one answer
	maxAnswer = 16 << 20         // bytes read of one
	op        = "read the status"
)

// mostParts bounds how many parts of the list of gates are read; each holds some hundreds.
const mostParts = 40

// Client reads from one face. It retries nothing and may be used by many goroutines at once. Reading changes
// nothing: errors are faults of kind NothingHappened, or Refused where asking again will not help.
type Client struct {
	base *url.URL
	rt   http.RoundTripper
	key  string
}

// New returns a client of the face below base, an absolute http(s) URL. Redirects are not followed.
func New(base *url.URL, rt http.RoundTripper) *Client { return &Client{base: base, rt: rt} }

// WithKey returns a client that sends a key of the Functions host, which its page asks for.
func (c *Client) WithKey(key string) *Client {
	keyed := *c
	keyed.key = key
	return &keyed
}

// Gates returns the gates that the service shows, the newest first, part after part.
func (c *Client) Gates(ctx context.Context) ([]gate.View, error) {
	var all []gate.View
	query := url.Values{}
	for range mostParts {
		a, err := c.get(ctx, query)
		if err != nil {
			return nil, err
		}
		if a.status != http.StatusOK {
			return nil, a.refused()
		}
		var part struct {
			Gates []gate.View `json:"gates"`
			Next  string      `json:"next"`
		}
		if err := a.decode(&part); err != nil {
			return nil, err
		}
		all = append(all, part.Gates...)
		if part.Next == "" || part.Next == query.Get("after") {
			break
		}
		query.Set("after", part.Next)
	}
	return all, nil
}

// Gate returns a gate with its timeline; found is false when the service knows no gate of that id.
func (c *Client) Gate(ctx context.Context, id string) (v gate.View, found bool, err error) {
	a, err := c.get(ctx, nil, id)
	switch {
	case err != nil:
		return v, false, err
	case a.unknown():
		return v, false, nil
	case a.status != http.StatusOK:
		return v, false, a.refused()
	}
	err = a.decode(&v)
	return v, true, err
}

// Completion returns the body of a gate's completion message. While there is none, body is nil and v is the
// gate as it stands; found is false while the service does not know the gate.
func (c *Client) Completion(ctx context.Context, id string) (body []byte, v gate.View, found bool, err error) {
	a, err := c.get(ctx, nil, id, "completion")
	switch {
	case err != nil:
		return nil, v, false, err
	case a.unknown():
		return nil, v, false, nil
	case a.status == http.StatusOK:
		return a.body, v, true, a.decode(new(json.RawMessage))
	case a.status == http.StatusAccepted:
		err = a.decode(&v)
		return nil, v, true, err
	}
	return nil, v, false, a.refused()
}

// answer is an answer of the face, read to its end.
type answer struct {
	status int
	isJSON bool
	body   []byte
}

// get reads what is below /api/gates.
func (c *Client) get(ctx context.Context, query url.Values, below ...string) (answer, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(query, below), nil)
	if err != nil {
		return answer{}, &fault.Error{Kind: fault.Refused, Op: op, Text: "the status URL is not usable", Err: err}
	}
	req.Header.Set("Accept", queue.ContentType)
	if c.key != "" {
		req.Header.Set("X-Functions-Key", c.key)
	}
	res, err := c.rt.RoundTrip(req)
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return answer{}, f // the transport's own
	}
	if err != nil {
		return answer{}, &fault.Error{Kind: fault.NothingHappened, Op: op, Text: "the service was not reached: " + err.Error(), Err: err}
	}
	defer func() { _ = res.Body.Close() }() // read to its end already, or given up
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return answer{}, &fault.Error{Kind: fault.NothingHappened, Op: op, Text: "the answer was cut off", Err: err}
	}
	if len(body) > maxAnswer {
		return answer{}, &fault.Error{Kind: fault.Refused, Op: op, Text: "the answer is too large"}
	}
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusRequestTimeout {
		return answer{}, &fault.Error{Kind: fault.NothingHappened, Op: op, Text: "the service answered " + res.Status}
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // none: not ours
	return answer{res.StatusCode, kind == queue.ContentType, body}, nil
}

// url escapes ids, which a person may have typed.
func (c *Client) url(query url.Values, below []string) string {
	parts := []string{"api", "gates"}
	for _, p := range below {
		parts = append(parts, url.PathEscape(p))
	}
	u := c.base.JoinPath(parts...)
	u.RawQuery = query.Encode()
	return u.String()
}

// unknown reports whether the face knows no such gate. A 404 of another server is not JSON.
func (a answer) unknown() bool { return a.status == http.StatusNotFound && a.isJSON }

func (a answer) refused() error {
	text := fmt.Sprintf("the service answered %d %s", a.status, http.StatusText(a.status))
	if a.status == http.StatusNotFound {
		text = "there is no status at this URL"
	}
	return &fault.Error{Kind: fault.Refused, Op: op, Text: text}
}

func (a answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return &fault.Error{Kind: fault.Refused, Op: op, Text: "the answer is not readable, is this the service's status URL?", Err: err}
	}
	return nil
}
