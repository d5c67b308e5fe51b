package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/depth"
)

// slow lets others go first between a look and the answer to it, and after a send.
type slow struct {
	*broker.Broker
	looked, sent func()
}

func (s *slow) Peek(ctx context.Context, name string, after int64, limit int) ([]queue.Delivery, error) {
	found, err := s.Broker.Peek(ctx, name, after, limit)
	s.looked()
	return found, err
}

func (s *slow) Send(ctx context.Context, name string, m queue.Message) error {
	err := s.Broker.Send(ctx, name, m)
	s.sent()
	return err
}

// desks is a scene on a slow broker.
func desks(t *testing.T) (*scene, *slow) {
	t.Helper()
	s := newScene(t)
	b := &slow{Broker: s.broker, looked: func() {}, sent: func() {}}
	s.mux = http.NewServeMux()
	register(s.mux, Config{Records: s.store, Broker: b, Queues: []string{"gate-submit", "gate-completion"}, Clock: s.clock.now, Log: s.log}, every)
	return s, b
}

// TestTwoAtOnceSendItOnce, on the queue without duplicate detection too, and all but one are told that it is gone.
func TestTwoAtOnceSendItOnce(t *testing.T) {
	for _, name := range []string{"gate-submit", "gate-completion"} {
		synctest.Test(t, func(t *testing.T) {
			s, b := desks(t)
			b.looked = func() { time.Sleep(time.Second) } // until everybody else waits for something
			sequence := s.die(t, name)
			codes := make(chan int, 3)
			for range cap(codes) {
				go func() {
					code, _ := s.post(t, "/dead-letters/resend", fmt.Sprintf("queue=%s&sequence=%d", name, sequence))
					codes <- code
				}()
			}
			got := []int{<-codes, <-codes, <-codes}
			c, err := s.broker.Counts(t.Context(), name)
			if slices.Sort(got); !slices.Equal(got, []int{200, 404, 404}) || c != (depth.Counts{Active: 1}) || err != nil {
				t.Errorf("%s: %v, %+v, %v", name, got, c, err)
			}
		})
	}
}

// TestWhoGivesUpLeavesTheLetter while another act goes on.
func TestWhoGivesUpLeavesTheLetter(t *testing.T) {
	s := newScene(t)
	s.bury(t, "poison", nil)
	d := desk{Config{Broker: s.broker, Queues: []string{"gate-submit"}, Log: s.log}, make(chan struct{}, 1)}
	d.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.perform(ctx, d.drop, "gate-submit", 1); !errors.Is(err, context.Canceled) || s.counts(t).DeadLettered != 1 {
		t.Errorf("%v, %+v", err, s.counts(t))
	}
}

// TestTakenMeanwhileIsSent: it is in its queue, so that whoever asked need not ask again.
func TestTakenMeanwhileIsSent(t *testing.T) {
	s, b := desks(t)
	s.bury(t, "poison", []byte("body"))
	b.sent = func() {
		if _, ok, err := s.broker.TryReceive(t.Context(), "gate-submit"+queue.DeadLetter, ""); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	if code, text := s.post(t, "/dead-letters/resend", first); code != http.StatusOK || !strings.Contains(text, "Somebody else has taken") {
		t.Errorf("%d %s", code, text)
	}
	if c := s.counts(t); c.Active != 1 {
		t.Errorf("%+v", c)
	}
}

// die makes a dead letter on either queue and returns its number.
func (s *scene) die(t *testing.T, name string) int64 {
	t.Helper()
	session := map[string]string{"gate-completion": "s"}[name]
	if err := s.broker.Send(t.Context(), name, queue.Message{ID: "m", SessionID: session, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	d, ok, err := s.broker.TryReceive(t.Context(), name, session)
	if err == nil && ok {
		err = s.broker.DeadLetter(t.Context(), name, d, "r", "t")
	}
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return d.Sequence
}
