package httpqueue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/depth"
	"prowgate/shared/queue/httpqueue"
)

// broken is a transport that fails the request at one of the two moments.
type broken struct {
	after bool
	err   error
}

func (b broken) RoundTrip(r *http.Request) (*http.Response, error) {
	if !b.after {
		return nil, b.err
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		err = res.Body.Close()
	}
	return nil, errors.Join(b.err, err)
}

func counts(t testing.TB, b *broker.Broker, name string, want depth.Counts) {
	t.Helper()
	if got, err := b.Counts(t.Context(), name); err != nil || got != want {
		t.Errorf("counts of %s: %+v, error %v; want %+v", name, got, err, want)
	}
}

func TestTransportFaultsAtBothMoments(t *testing.T) {
	h, b, _ := newHandler()
	_, base := serve(t, h)
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	err := httpqueue.New(base, broken{err: refused}).Send(t.Context(), "plain", queue.Message{})
	if !fault.Is(err, fault.NothingHappened) || !errors.Is(err, refused) {
		t.Errorf("send to a closed port: %v, want nothing happened with its cause", err)
	}
	counts(t, b, "plain", depth.Counts{})
	err = httpqueue.New(base, broken{after: true, err: io.ErrUnexpectedEOF}).Send(t.Context(), "plain", queue.Message{})
	if !fault.Is(err, fault.MayHaveHappened) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("send with a lost answer: %v, want may have happened with its cause", err)
	}
	counts(t, b, "plain", depth.Counts{Active: 1})
}

func TestClosedPort(t *testing.T) {
	h, _, _ := newHandler()
	server := httptest.NewServer(h)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	c := httpqueue.New(base, nil)
	if _, _, err := c.Receive(t.Context(), "plain", "", time.Second); !fault.Is(err, fault.NothingHappened) {
		t.Errorf("receive from a closed port: %v", err)
	}
}

func TestAnswersBecomeFaults(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   fault.Kind
	}{
		{400, `{"error":"no","code":"bad-request"}`, fault.Refused},
		{403, `<html>login</html>`, fault.Refused},
		{302, ``, fault.Refused},
		{404, `{"error":"no","code":"unknown-queue"}`, fault.Refused},
		{410, `{"error":"gone","code":"lock-lost"}`, fault.Conflict},
		{408, ``, fault.MayHaveHappened},
		{429, ``, fault.NothingHappened},
		{500, `{"error":"?","code":"may-have-happened"}`, fault.MayHaveHappened},
		{503, `{"error":"busy","code":"nothing-happened"}`, fault.NothingHappened},
		{503, `<html>a proxy's</html>`, fault.MayHaveHappened},
		{200, `{}`, fault.MayHaveHappened},
	} {
		client, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		if err := client.Send(t.Context(), "plain", queue.Message{}); !fault.Is(err, c.want) {
			t.Errorf("HTTP %d %s: %v, want kind %v", c.status, c.body, err, c.want)
		}
	}
}

func TestCutAnswerAndHugeAnswer(t *testing.T) {
	for name, serveIt := range map[string]http.HandlerFunc{
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		},
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		},
		"no properties": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
	} {
		client, _ := serve(t, serveIt)
		if _, ok, err := client.ReceiveAndDelete(t.Context(), "plain", "", 0); ok || !fault.Is(err, fault.MayHaveHappened) {
			t.Errorf("%s: ok %t, error %v; want may have happened", name, ok, err)
		}
	}
}

// failing is a broker whose methods fail with one error.
type failing struct {
	*broker.Broker
	err error
}

func (f failing) Send(context.Context, string, queue.Message) error          { return f.err }
func (f failing) Complete(context.Context, string, queue.Delivery) error     { return f.err }
func (f failing) Counts(context.Context, string) (c depth.Counts, err error) { return c, nil }

func TestFaultsKeepTheirKindOverTheWire(t *testing.T) {
	for _, kind := range []fault.Kind{fault.NothingHappened, fault.MayHaveHappened, fault.Refused, fault.Conflict} {
		client, _ := serve(t, httpqueue.Handler(failing{err: &fault.Error{Kind: kind, Text: "injected"}}))
		for op, err := range map[string]error{
			"send":     client.Send(t.Context(), "plain", queue.Message{}),
			"complete": client.Complete(t.Context(), "plain", queue.Delivery{Lock: "l"}),
		} {
			if !fault.Is(err, kind) || !strings.Contains(err.Error(), "injected") {
				t.Errorf("%s: %v, want kind %v", op, err, kind)
			}
		}
	}
}

// A message whose removal fails is not lost, and the client does not take it for its own.
func TestReceiveAndDeleteWhoseRemovalFails(t *testing.T) {
	b := broker.New(testConfig(newHands()))
	if err := b.Send(t.Context(), "plain", queue.Message{Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	f := failing{Broker: b, err: &fault.Error{Kind: fault.NothingHappened, Text: "injected"}}
	client, _ := serve(t, httpqueue.Handler(f))
	if _, ok, err := client.ReceiveAndDelete(t.Context(), "plain", "", 0); ok || !fault.Is(err, fault.MayHaveHappened) {
		t.Errorf("ok %t, error %v; want a cut answer", ok, err)
	}
	counts(t, b, "plain", depth.Counts{Active: 1})
}

func TestLongPollWakesForAMessage(t *testing.T) {
	inner, b, _ := newHandler()
	entered := make(chan struct{}, 1)
	client, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		inner.ServeHTTP(w, r)
	}))
	got := make(chan string)
	go func() {
		d, ok, err := client.ReceiveAndDelete(t.Context(), "plain", "", time.Minute)
		got <- fmt.Sprint(d.ID, " ", ok, " ", err)
	}()
	<-entered
	if err := b.Send(t.Context(), "plain", queue.Message{ID: "m-1"}); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "m-1 true <nil>" {
		t.Errorf("received %s", s)
	}
	counts(t, b, "plain", depth.Counts{})
}

func TestOneConnectionIsReused(t *testing.T) {
	h, _, _ := newHandler()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(h)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := httpqueue.New(base, nil)
	for range 20 {
		if err := client.Send(t.Context(), "plain", queue.Message{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := client.ReceiveAndDelete(t.Context(), "plain", "", 0); err != nil {
			t.Fatal(err)
		}
		_ = client.Complete(t.Context(), "plain", queue.Delivery{Lock: "gone"}) // an error's body is read too
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for 60 calls in a row, want 1", n)
	}
}

// Whoever receives for good sees counts and the next of the session at once: the answer ends after the
// removal.
func TestReceiveAndDeleteIsOverWhenItsAnswerEnds(t *testing.T) {
	h, b, _ := newHandler()
	client, _ := serve(t, h)
	const n = 100
	for i := range n {
		if err := b.Send(t.Context(), "session", queue.Message{ID: fmt.Sprint(i), SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		d, ok, err := client.ReceiveAndDelete(t.Context(), "session", "s", 0)
		if err != nil || !ok || d.ID != fmt.Sprint(i) {
			t.Fatalf("received %q, ok %t, error %v; want %d at once", d.ID, ok, err, i)
		}
		counts(t, b, "session", depth.Counts{Active: n - 1 - i})
	}
}

func TestNamesStayBelowTheBase(t *testing.T) {
	client, _ := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request was made")
	}))
	for _, name := range []string{"", "..", "plain/../admin", "/plain"} {
		if err := client.Send(t.Context(), name, queue.Message{}); !fault.Is(err, fault.Refused) {
			t.Errorf("send to %q: %v, want a refusal", name, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	h, b, _ := newHandler()
	client, _ := serve(t, h)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			session := fmt.Sprint("gate-", i)
			for j := range 10 {
				if err := client.Send(t.Context(), "session", queue.Message{ID: fmt.Sprint(j), SessionID: session}); err != nil {
					t.Error(err)
				}
				if d, ok, err := client.ReceiveAndDelete(t.Context(), "session", session, time.Minute); err != nil || !ok || d.SessionID != session {
					t.Errorf("received %+v, ok %t, error %v", d, ok, err)
				}
			}
		})
	}
	all.Wait()
	counts(t, b, "session", depth.Counts{})
}

func BenchmarkRoundTripHTTP(b *testing.B) {
	h, _, _ := newHandler()
	client, _ := serve(b, h)
	m := queue.Message{ID: "m", Body: make([]byte, 1024)}
	for b.Loop() {
		if err := client.Send(b.Context(), "plain", m); err != nil {
			b.Fatal(err)
		}
		d, ok, err := client.Receive(b.Context(), "plain", "", 0)
		if err != nil || !ok {
			b.Fatal(ok, err)
		}
		if err := client.Complete(b.Context(), "plain", d); err != nil {
			b.Fatal(err)
		}
	}
}
