package secret

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// rig is a source with a vault and a clock that the test moves.
type rig struct {
	*Source
	now   time.Time
	value string
	err   error
	reads int
	log   bytes.Buffer
}

func newRig(value string) *rig {
	r := &rig{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), value: value}
	read := func(context.Context) (string, error) { r.reads++; return r.value, r.err }
	r.Source = New(read, func() time.Time { return r.now }, slog.New(slog.NewTextHandler(&r.log, nil)))
	return r
}

func (r *rig) wantToken(t *testing.T, want string, reads int) {
	t.Helper()
	if got, err := r.Token(t.Context()); err != nil || got != want || r.reads != reads {
		t.Errorf("got %q, error %v, after %d reads; want %q after %d", got, err, r.reads, want, reads)
	}
}

func (r *rig) wantRefused(t *testing.T, token string, renewed bool, reads int) {
	t.Helper()
	if got := r.Refused(t.Context(), token); got != renewed || r.reads != reads {
		t.Errorf("renewed %v after %d reads; want %v after %d", got, r.reads, renewed, reads)
	}
}

func TestReadOnce(t *testing.T) {
	r := newRig("old\n")
	r.wantToken(t, "old", 1)
	r.now = r.now.Add(240 * time.Hour)
	r.wantToken(t, "old", 1)
}

func TestFailedReadIsNotKept(t *testing.T) {
	r := newRig("old")
	r.err = errors.New("the vault is away")
	if got, err := r.Token(t.Context()); got != "" || !errors.Is(err, r.err) {
		t.Errorf("got %q, error %v", got, err)
	}
	if !strings.Contains(r.log.String(), UnreadableText) {
		t.Errorf("nobody hears of it: %s", &r.log)
	}
	r.err, r.value = nil, " \n"
	if got, err := r.Token(t.Context()); got != "" || err == nil {
		t.Errorf("an empty secret: got %q, error %v", got, err)
	}
	r.value = "old"
	r.wantToken(t, "old", 3)
}

func TestRenewedTokenIsFound(t *testing.T) {
	r := newRig("old")
	r.wantToken(t, "old", 1)
	r.value = "new"
	r.now = r.now.Add(rereadAfter)
	r.wantRefused(t, "old", true, 2)
	r.wantRefused(t, "old", true, 2) // another call that carried the old one
	r.wantToken(t, "new", 2)
	if log := r.log.String(); !strings.Contains(log, "renewed") || strings.Contains(log, RefusedText) {
		t.Errorf("logged %s", log)
	}
}

// TestOneReadAMinute: a server that refuses a good token does not make the vault the next victim.
func TestOneReadAMinute(t *testing.T) {
	r := newRig("old")
	r.wantToken(t, "old", 1)
	r.now = r.now.Add(rereadAfter - 1)
	r.wantRefused(t, "old", false, 1)
	r.now = r.now.Add(1)
	r.wantRefused(t, "old", false, 2)
	r.wantRefused(t, "old", false, 2)
	r.now = r.now.Add(rereadAfter)
	r.err = errors.New("the vault is away")
	r.wantRefused(t, "old", false, 3)
	r.wantRefused(t, "old", false, 3) // a failed read counts
	r.wantToken(t, "old", 3)          // and keeps what there is
	if got := strings.Count(r.log.String(), RefusedText); got != 5 {
		t.Errorf("%d refusals were logged, want 5:\n%s", got, r.log.String())
	}
	if strings.Contains(r.log.String(), "old") {
		t.Errorf("the token is logged:\n%s", r.log.String())
	}
}

func TestFixed(t *testing.T) {
	r := newRig("")
	s := Fixed("abc\n", r.clock, r.Source.log)
	if got, err := s.Token(t.Context()); got != "abc" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if s.Refused(t.Context(), "abc") || !strings.Contains(r.log.String(), RefusedText) {
		t.Errorf("a fixed token was renewed; logged %s", r.log.String())
	}
	if got, err := Fixed("", r.clock, r.Source.log).Token(t.Context()); got != "" || err != nil {
		t.Errorf("no token: got %q, %v", got, err)
	}
}

// TestWaitingForARead: many calls at once make one read, and a call that is given up waits no longer.
func TestWaitingForARead(t *testing.T) {
	started, answer := make(chan struct{}), make(chan string)
	reads := 0
	s := New(func(context.Context) (string, error) {
		reads++
		close(started)
		return <-answer, nil
	}, time.Now, slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got, err := s.Token(t.Context()); got != "abc" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := s.Token(ctx); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("given up: got %q, %v", got, err)
	}
	if s.Refused(ctx, "abc") {
		t.Error("given up: renewed")
	}
	answer <- "abc"
	wg.Wait()
	if reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}
