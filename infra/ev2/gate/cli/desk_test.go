package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/infra/ev2/gate/cli"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// desk is everything around one run of the program.
type desk struct {
	t        *testing.T
	settings cli.Settings
	world    cli.World
	queues   *script
	signals  chan os.Signal
	log      io.Writer // where libraries write
	last     string    // what they say at the very end
	out, err bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	d := &desk{
		t: t, queues: &script{}, signals: make(chan os.Signal, 2),
		settings: cli.Settings{
			QueueURL: "http://queues.example", SubmitQueue: "gate-submit", CancelQueue: "gate-cancel",
			CompletionQueue: "gate-completion", LogLevel: slog.LevelInfo,
		},
	}
	d.world = cli.World{
		Stdin: strings.NewReader(""), Stdout: &d.out, Stderr: &d.err,
		Open: func(_ context.Context, raw string) (cli.Queue, error) {
			d.queues.opened = raw
			return d.queues, nil
		},
		HTTP:    unreachable{},
		Signed:  unreachable{},
		Signals: func() <-chan os.Signal { return d.signals },
		Log: func(w io.Writer) func() {
			d.log = w
			return func() {
				if d.last != "" {
					_, _ = io.WriteString(w, d.last)
				}
			}
		},
		Clock: time.Now,
		NewID: func() string { return "11111111-2222-3333-4444-555555555555" },
	}
	return d
}

// run runs the program and checks its exit code and that it printed no marker.
func (d *desk) run(code int, args ...string) {
	d.t.Helper()
	if got := cli.Run(d.t.Context(), args, d.settings, d.world); got != code {
		d.t.Errorf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", args, got, code, &d.out, &d.err)
	}
	if d.queues.opened != "" && !d.queues.closed {
		d.t.Errorf("%q left the queues open", args)
	}
	if gate.HasMarker(d.out.String() + d.err.String()) {
		d.t.Errorf("%q printed a marker\nstdout: %s\nstderr: %s", args, &d.out, &d.err)
	}
}

func (d *desk) wants(b *bytes.Buffer, texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(b.String(), text) {
			d.t.Errorf("output lacks %q:\n%s", text, b)
		}
	}
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(newDesk(t)) })
}

// sent is a message with the queue it went to.
type sent struct {
	queue string
	queue.Message
}

// script is a queue that records what is sent and answers with one completion.
type script struct {
	opened   string
	sent     []sent
	sendErr  error
	lastErr  error  // of every sending but the first; nil: sendErr
	answer   string // the body of the completion; empty: none comes
	session  string
	received string
	done     int
	closed   bool
}

func (s *script) Send(_ context.Context, name string, m queue.Message) error {
	s.sent = append(s.sent, sent{name, m})
	if len(s.sent) > 1 && s.lastErr != nil {
		return s.lastErr
	}
	return s.sendErr
}

func (s *script) Receive(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	s.received, s.session = name, session
	if s.answer == "" {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return queue.Delivery{}, false, nil
	}
	body := strings.Replace(s.answer, `{"kind"`, `{"gateId":"`+session+`","kind"`, 1)
	return queue.Delivery{Message: queue.Message{Body: []byte(body)}}, true, nil
}

func (s *script) Complete(context.Context, string, queue.Delivery) error {
	s.done++
	return nil
}

func (s *script) Abandon(context.Context, string, queue.Delivery) error { return nil }

type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("failed to establish a new connection")
}

func (s *script) Close(context.Context) error {
	s.closed = true
	return nil
}
