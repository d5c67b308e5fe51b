package sent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"syscall"
	"testing"
)

// do makes one watched request and returns what is known of it.
func do(t *testing.T, over Doer, address string) bool {
	t.Helper()
	ctx, p := Begin(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Watch(over).Do(req)
	if err == nil {
		_ = res.Body.Close()
		t.Fatal("no error")
	}
	return p.Left(err)
}

func TestStandardTransport(t *testing.T) {
	rude := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
	}))
	defer rude.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	untrusted := httptest.NewTLSServer(nil)
	defer untrusted.Close()
	for address, want := range map[string]bool{rude.URL: true, gone.URL: false, untrusted.URL: false} {
		if got := do(t, http.DefaultClient, address); got != want {
			t.Errorf("%s: left %v, want %v", address, got, want)
		}
	}
}

// leaving makes a request over that dial, whose caller leaves when the hook that it is given is called.
func leaving(t *testing.T, dial func(ctx context.Context, leave func()) (net.Conn, error), onConn bool) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx, p := Begin(ctx)
	if onConn {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { cancel() }})
	}
	client := &http.Client{Transport: &http.Transport{
		WriteBufferSize: 16, // less than the headers
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, cancel) },
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://h", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Watch(client).Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	return p.Left(err)
}

// A caller that leaves before there is a connection has sent nothing; one that leaves while the request is being
// written learns nothing of it.
func TestCallerLeaves(t *testing.T) {
	never := func(ctx context.Context, leave func()) (net.Conn, error) {
		leave()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if leaving(t, never, false) {
		t.Error("a request without a connection is said to have left")
	}
	unread := func(context.Context, func()) (net.Conn, error) {
		near, far := net.Pipe() // writing to it blocks: nobody reads
		t.Cleanup(func() { _ = far.Close() })
		return near, nil
	}
	if !leaving(t, unread, true) {
		t.Error("a request that is being written is said not to have left")
	}
}

type failing struct{ err error }

func (f failing) Do(*http.Request) (*http.Response, error) { return nil, f.err }

// Another transport says nothing of its progress, and is believed only where the error can come from the dial alone.
func TestOtherTransports(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{syscall.ECONNREFUSED, false},
		{&net.DNSError{}, false},
		{&net.OpError{Op: "dial", Err: errors.New("x")}, false},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		{io.ErrUnexpectedEOF, true},
		{context.DeadlineExceeded, true},
	} {
		if got := do(t, failing{c.err}, "http://h"); got != c.want {
			t.Errorf("%v: left %v, want %v", c.err, got, c.want)
		}
	}
}

// returning is a transport that has written on a connection it had, found it closed, and was refused a new one.
type returning struct{ wrote bool }

func (r returning) Do(req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	trace.GetConn("h:80")
	trace.GotConn(httptrace.GotConnInfo{Reused: true})
	if r.wrote {
		trace.WroteHeaders()
	}
	trace.GetConn("h:80")
	return nil, syscall.ECONNREFUSED
}

// What was written once may have arrived, although the error is that of a later dial.
func TestWrittenBeforeADialFailed(t *testing.T) {
	for _, wrote := range []bool{true, false} {
		if got := do(t, returning{wrote}, "http://h"); got != wrote {
			t.Errorf("wrote %v: left %v", wrote, got)
		}
	}
}

// What failed before the transport was asked did not leave, whatever the error looks like.
func TestNothingAsked(t *testing.T) {
	_, p := Begin(t.Context())
	if p.Left(io.ErrUnexpectedEOF) {
		t.Error("it left")
	}
	req := httptest.NewRequest(http.MethodGet, "http://h", http.NoBody)
	if _, err := Watch(failing{io.EOF}).Do(req); !errors.Is(err, io.EOF) {
		t.Errorf("a request of no call: %v", err)
	}
}
