package httpqueue_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
	"prowgate/shared/queue/httpqueue"
)

// serveAborting serves one request whose handler may cut the connection.
func serveAborting(h http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) || p == nil {
			return
		}
		panic(p)
	}()
	h.ServeHTTP(w, r)
}

// deaf is a writer whose client is gone: writing or flushing fails.
type deaf struct {
	*httptest.ResponseRecorder
	failWrite bool
}

func (d deaf) Write(p []byte) (int, error) {
	if d.failWrite {
		return 0, io.ErrClosedPipe
	}
	return d.ResponseRecorder.Write(p)
}

func (d deaf) FlushError() error { return io.ErrClosedPipe }

func TestClientGoneWhileTheMessageIsWritten(t *testing.T) {
	for _, failWrite := range []bool{true, false} {
		for _, method := range []string{"POST", "DELETE"} {
			h, b, _ := newHandler()
			if err := b.Send(t.Context(), "plain", queue.Message{}); err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), method, "/plain/messages/head?timeout=0", nil)
			serveAborting(h, deaf{httptest.NewRecorder(), failWrite}, r)
			counts(t, b, "plain", depth.Counts{Active: 1})
		}
	}
}

// leaving is a writer whose client goes away, unnoticed by the write, while it is flushed.
type leaving struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (l leaving) FlushError() error {
	l.leave()
	return nil
}

func TestClientGoneAfterTheMessageWasWritten(t *testing.T) {
	for _, method := range []string{"POST", "DELETE"} {
		h, b, _ := newHandler()
		if err := b.Send(t.Context(), "plain", queue.Message{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, method, "/plain/messages/head?timeout=0", nil)
		serveAborting(h, leaving{httptest.NewRecorder(), cancel}, r)
		counts(t, b, "plain", depth.Counts{Active: 1})
	}
}

// A receiver that gives up in mid-wait takes nothing with it.
func TestCancelledLongPollLosesNothing(t *testing.T) {
	for name, receive := range map[string]func(*httpqueue.Client, context.Context) error{
		"peek-lock": func(c *httpqueue.Client, ctx context.Context) error {
			_, _, err := c.Receive(ctx, "plain", "", time.Minute)
			return err
		},
		"receive and delete": func(c *httpqueue.Client, ctx context.Context) error {
			_, _, err := c.ReceiveAndDelete(ctx, "plain", "", time.Minute)
			return err
		},
	} {
		inner, b, _ := newHandler()
		entered, left := make(chan struct{}), make(chan struct{})
		client, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			defer close(left)
			inner.ServeHTTP(w, r)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- receive(client, ctx) }()
		<-entered
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want it cancelled", name, err)
		}
		<-left // the server notices by itself that its client is gone
		if err := b.Send(t.Context(), "plain", queue.Message{}); err != nil {
			t.Fatal(err)
		}
		counts(t, b, "plain", depth.Counts{Active: 1})
	}
}

// The same for a request that has a body, which hides the end of the connection until it is read.
func TestCancelledLongPollWithABodyEnds(t *testing.T) {
	inner, _, _ := newHandler()
	entered, left := make(chan struct{}), make(chan struct{})
	_, base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		defer close(left)
		inner.ServeHTTP(w, r)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, base.String()+"/plain/messages/head?timeout=20", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := http.DefaultTransport.RoundTrip(r)
		failed <- err
	}()
	<-entered
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want it cancelled", err)
	}
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("the server still waits for a client that is gone")
		<-left
	}
}
