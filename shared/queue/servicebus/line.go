package servicebus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// line is one connection with the links on it. It is never repaired: what finds it gone makes another. The
// SDK could repair it, but only by repeating what failed.
type line struct {
	bus    *Bus
	client *azservicebus.Client

	gone   chan struct{} // closed when the connection has ended
	ending sync.Once
	closed sync.Once

	mu      sync.Mutex
	conn    net.Conn // nil until the first link is opened
	refusal error    // why it could not be made
	outlets map[string]*outlet
	inlets  map[place]*inlet
	held    map[heldKey]holding
}

func newLine(b *Bus) (*line, error) {
	l := &line{
		bus: b, gone: make(chan struct{}),
		outlets: map[string]*outlet{}, inlets: map[place]*inlet{}, held: map[heldKey]holding{},
	}
	options := &azservicebus.ClientOptions{
		NewWebSocketConn: func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			return l.connect(ctx)
		},
		RetryOptions: azservicebus.RetryOptions{MaxRetries: -1, RetryDelay: -1},
	}
	var err error
	if b.target.connection != "" {
		l.client, err = azservicebus.NewClientFromConnectionString(b.target.connection, options)
	} else {
		l.client, err = azservicebus.NewClient(b.target.host, b.identity, options)
	}
	return l, err
}

// errGone says that the connection has ended.
var errGone = errors.New("no connection")

// connect makes the connection, once.
func (l *line) connect(ctx context.Context) (net.Conn, error) {
	if l.isGone() {
		return nil, errGone
	}
	conn, err := l.bus.dial(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.refusal = err
		l.end()
		return nil, err
	}
	l.conn = conn
	go l.watch(context.WithoutCancel(ctx))
	return &watched{conn, l.end}, nil
}

// watch gives the line up as soon as its connection ends: its links renew their tokens in the background,
// and would try without a pause.
func (l *line) watch(ctx context.Context) {
	<-l.gone
	l.bus.drop(ctx, l)
}

// watched is a connection that tells its end.
type watched struct {
	net.Conn
	end func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil {
		w.end()
	}
	return n, err
}

func (w *watched) Close() error {
	w.end()
	return w.Conn.Close()
}

func (l *line) end() { l.ending.Do(func() { close(l.gone) }) }

func (l *line) isGone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// cut ends the connection without a word.
func (l *line) cut() {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

// close closes the links and then the connection, once.
func (l *line) close(ctx context.Context) (err error) {
	l.closed.Do(func() {
		err = l.limited(context.WithoutCancel(ctx), l.bus.limits.close, l.client.Close)
		l.cut()
	})
	return err
}

// within runs a call to the SDK for at most limit, and ends it when the connection does.
func (l *line) within(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-l.gone:
			cancel()
		case <-done:
		}
	}()
	err := l.limited(ctx, limit, call)
	if err != nil && l.isGone() && !errors.Is(err, errGone) {
		return fmt.Errorf("%w: %w", errGone, l.cause(err))
	}
	return err
}

// cause prefers the reason for which there is no connection: the SDK would hide it.
func (l *line) cause(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal != nil {
		return l.refusal
	}
	return err
}

// limited runs a call to the SDK for at most limit. The SDK does not always look at its context: a call that
// goes on for the grace longer is ended by cutting the connection.
func (l *line) limited(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cut := time.AfterFunc(limit+l.bus.limits.grace, l.cut)
	defer cut.Stop()
	return call(ctx)
}
