package gangwaytest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
)

// Transport returns a RoundTripper that calls the World in process, without sockets. An answer that does
// not arrive becomes the error a socket would give: connection refused, reset by peer, a time-out, or an
// unexpected end in the middle of the body. It does not wait for a time-out: the error comes at once.
func (w *World) Transport() http.RoundTripper { return transport{w} }

type transport struct{ world *World }

// RoundTrip answers r. A request whose context has ended does not reach the World.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rep := t.world.answer(r)
	switch rep.broken {
	case cutConnection:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case noAnswer:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	case refused:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case whole, cutBody:
	}
	return response(r, rep), nil
}

func response(r *http.Request, rep reply) *http.Response {
	var body io.Reader = bytes.NewReader(rep.body)
	if rep.broken == cutBody {
		body = io.MultiReader(bytes.NewReader(rep.body[:len(rep.body)/2]), torn{})
	}
	return &http.Response{
		Status:        strconv.Itoa(rep.status) + " " + http.StatusText(rep.status),
		StatusCode:    rep.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        rep.header,
		Body:          io.NopCloser(body),
		ContentLength: int64(len(rep.body)),
		Request:       r,
	}
}

// torn is the end of a body that came too early.
type torn struct{}

func (torn) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
