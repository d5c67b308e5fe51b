package funchost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
)

// wire answers the host's requests in memory, so that whole hours fit into a synctest bubble.
type wire func(ctx context.Context, function string, body []byte) (status int, answer string, err error)

func (f wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, text, err := f(r.Context(), r.URL.Path[1:], body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(text))), Request: r,
	}, nil
}

const good = `{"Outputs":{},"Logs":[],"ReturnValue":null}`

// bench is one life over a wire and a broker in memory, all on the bubble's clock.
type bench struct {
	*life
	broker *broker.Broker
	stop   func() // ends receiving and work, and waits
}

func newBench(t *testing.T, p Package, w wire, tweaks ...func(*bench)) *bench {
	t.Helper()
	b := broker.New(broker.Config{Clock: time.Now, Queues: []broker.QueueConfig{{Name: "q"}}})
	h := New(Config{Package: p, Queue: b, Clock: time.Now, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	h.client = &http.Client{Transport: w}
	receive, stopReceiving := context.WithCancel(t.Context())
	work, stopWork := context.WithCancel(t.Context())
	bn := &bench{broker: b}
	bn.life = &life{host: h, to: &target{base: &url.URL{Scheme: "http", Host: "handler"}, secret: "s"}, stopReceiving: stopReceiving, again: make(chan string, 1)}
	for _, tweak := range tweaks {
		tweak(bn)
	}
	done := bn.triggers(receive, work)
	bn.stop = func() { stopReceiving(); stopWork(); <-done }
	return bn
}

func queuePackage(calls int) Package {
	return Package{
		Functions: []Function{{Name: "work", Binding: "m", Queue: "q"}}, MaxConcurrentCalls: calls,
		MaxLockRenewal: 5 * time.Minute, FunctionTimeout: 10 * time.Minute,
	}
}

// pass lets so much of the bubble's time pass.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	<-time.After(d)
	synctest.Wait()
}

// counts waits until everything stands still and returns the queue's counts.
func (b *bench) counts(t *testing.T) string {
	t.Helper()
	synctest.Wait()
	c, err := b.broker.Counts(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("active %d locked %d dead %d", c.Active, c.Locked, c.DeadLettered)
}

func TestCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, queuePackage(1), func(_ context.Context, f string, body []byte) (int, string, error) {
			if f != "work" || !json.Valid(body) {
				t.Errorf("%s got %s", f, body)
			}
			return 200, good, nil
		})
		defer b.stop()
		send(t, b.broker, `{}`)
		if got := b.counts(t); got != "active 0 locked 0 dead 0" {
			t.Error(got)
		}
		if !b.proven.Load() {
			t.Error("the life has done a piece of work")
		}
	})
}

// TestFailedComesBack fails every delivery in one of three ways until the message is dead-lettered.
func TestFailedComesBack(t *testing.T) {
	for name, answer := range map[string]func() (int, string, error){
		"status":     func() (int, string, error) { return 500, good, nil },
		"no JSON":    func() (int, string, error) { return 200, "fine", nil },
		"connection": func() (int, string, error) { return 0, "", errors.New("connection reset") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				b := newBench(t, queuePackage(1), func(context.Context, string, []byte) (int, string, error) {
					calls++
					return answer()
				})
				defer b.stop()
				send(t, b.broker, `{}`)
				pass(t, time.Minute)
				if got := b.counts(t); got != "active 0 locked 0 dead 1" || calls != 10 {
					t.Errorf("%s after %d calls", got, calls)
				}
			})
		})
	}
}

// TestDeadProcessGetsNothing breaks a connection because the process is gone: the message is given back
// once and waits for the next process.
func TestDeadProcessGetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, exited := 0, make(chan struct{})
		b := newBench(t, queuePackage(4), func(context.Context, string, []byte) (int, string, error) {
			calls++
			time.AfterFunc(time.Second, func() { close(exited) }) // it is noticed a little later
			return 0, "", errors.New("connection reset")
		}, func(b *bench) { b.exited = exited })
		defer b.stop()
		send(t, b.broker, `{}`)
		pass(t, time.Hour)
		if got := b.counts(t); got != "active 1 locked 0 dead 0" || calls != 1 {
			t.Errorf("%s after %d calls", got, calls)
		}
	})
}

func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		b := newBench(t, queuePackage(3), func(context.Context, string, []byte) (int, string, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return 200, good, nil
		})
		defer b.stop()
		for i := range 20 {
			if err := b.broker.Send(t.Context(), "q", queue.Message{ID: fmt.Sprint(i), Body: []byte(`{}`)}); err != nil {
				t.Fatal(err)
			}
		}
		pass(t, time.Minute)
		if got := b.counts(t); got != "active 0 locked 0 dead 0" || most != 3 {
			t.Errorf("%s, at most %d at once", got, most)
		}
	})
}

// TestLockRenewed runs an invocation for longer than the lock: one receiver gets it once, unless it
// outlasts the limit of renewal.
func TestLockRenewed(t *testing.T) {
	for _, c := range []struct {
		runs  time.Duration
		calls int
	}{{4 * time.Minute, 1}, {6*time.Minute + 30*time.Second, 2}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			calls := 0
			b := newBench(t, queuePackage(2), func(ctx context.Context, _ string, _ []byte) (int, string, error) {
				mu.Lock()
				calls++
				d := c.runs
				if calls > 1 {
					d = 0
				}
				mu.Unlock()
				if !wait(ctx, d) {
					return 0, "", ctx.Err()
				}
				return 200, good, nil
			})
			defer b.stop()
			send(t, b.broker, `{}`)
			pass(t, time.Hour)
			if got := b.counts(t); got != "active 0 locked 0 dead 0" || calls != c.calls {
				t.Errorf("%v: %s after %d calls", c.runs, got, calls)
			}
		})
	}
}

// TestTimeOut ends an invocation at the function's time-out, whether the handler does not answer or
// answers with nothing, and asks for the end of the process.
func TestTimeOut(t *testing.T) {
	for name, w := range map[string]wire{
		"no answer": func(ctx context.Context, _ string, _ []byte) (int, string, error) {
			<-ctx.Done()
			return 0, "", ctx.Err()
		},
		"empty answer": func(context.Context, string, []byte) (int, string, error) { return 200, "", nil },
		"null answer":  func(context.Context, string, []byte) (int, string, error) { return 200, "null", nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := queuePackage(2)
				p.FunctionTimeout = 2 * time.Minute
				b := newBench(t, p, w)
				defer b.stop()
				send(t, b.broker, `{}`)
				pass(t, 2*time.Minute-time.Second)
				if got := b.counts(t); got != "active 0 locked 1 dead 0" {
					t.Error(got)
				}
				pass(t, time.Hour)
				if got := b.counts(t); got != "active 1 locked 0 dead 0" {
					t.Error(got)
				}
				select {
				case reason := <-b.again:
					if !strings.Contains(reason, "work ran for longer than 2m0s") {
						t.Error(reason)
					}
				default:
					t.Error("the process was not to be ended")
				}
			})
		})
	}
}

// TestQueueFails has a queue that cannot be reached for a while, and one that loses settlements.
func TestQueueFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flaky *flakyQueue
		b := newBench(t, queuePackage(1), func(context.Context, string, []byte) (int, string, error) { return 200, good, nil },
			func(b *bench) {
				flaky = &flakyQueue{Broker: b.broker, failing: 3}
				b.host.Queue = flaky
			})
		defer b.stop()
		send(t, b.broker, `{}`)
		pass(t, 5*time.Minute)
		if got := b.counts(t); got != "active 0 locked 0 dead 0" || flaky.completions != 2 {
			t.Errorf("%s after %d completions", got, flaky.completions)
		}
	})
}

// flakyQueue fails the first receives and the first completion before anything is done.
type flakyQueue struct {
	*broker.Broker
	failing, completions int
}

func (q *flakyQueue) Receive(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	if q.failing--; q.failing >= 0 {
		return queue.Delivery{}, false, errors.New("not reached")
	}
	return q.Broker.Receive(ctx, name, session, wait)
}

func (q *flakyQueue) Complete(ctx context.Context, name string, d queue.Delivery) error {
	if q.completions++; q.completions == 1 {
		return errors.New("not reached")
	}
	return q.Broker.Complete(ctx, name, d)
}

// TestTimer runs a schedule: at its times, never twice at once, and again after a failure.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := parseSchedule("0 * * * * *")
		if err != nil {
			t.Fatal(err)
		}
		var at []string
		b := newBench(t, Package{Functions: []Function{{Name: "sweep", Binding: "timer", Schedule: s}}}, func(_ context.Context, f string, body []byte) (int, string, error) {
			at = append(at, time.Now().UTC().Format("04:05"))
			if f != "sweep" || !strings.Contains(string(body), `"IsPastDue":false`) {
				t.Errorf("%s got %s", f, body)
			}
			switch len(at) {
			case 1:
				return 500, good, nil
			case 2:
				<-time.After(90 * time.Second)
			}
			return 200, good, nil
		})
		defer b.stop()
		pass(t, 5*time.Minute+time.Second)
		if got := strings.Join(at, " "); got != "01:00 02:00 04:00 05:00" {
			t.Errorf("ran at %s", got)
		}
	})
}
