package step_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/infra/ev2/gate/console"
	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
)

const gateID = "gate-1"

var names = step.Names{Submit: "submit", Cancel: "cancel", Completion: "completion"}

// faulty is a broker whose calls can fail before they are carried out, or after.
type faulty struct {
	*broker.Broker
	mu            sync.Mutex
	before, after map[string]error // by operation: "send submit", "receive", "complete"
	sends         atomic.Int64
	hang          bool // sends to the submit queue block until their ctx ends
}

func (f *faulty) set(op string, before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before[op], f.after[op] = before, after
}

func (f *faulty) faults(op string) (before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.before[op], f.after[op]
}

func (f *faulty) Send(ctx context.Context, name string, m queue.Message) error {
	f.sends.Add(1)
	if f.hang && name == names.Submit {
		<-ctx.Done()
		return &fault.Error{Kind: fault.MayHaveHappened, Op: "send", Err: ctx.Err()}
	}
	before, after := f.faults("send " + name)
	if before != nil {
		return before
	}
	if err := f.Broker.Send(ctx, name, m); err != nil {
		return err
	}
	return after
}

func (f *faulty) Receive(ctx context.Context, name, session string, wait time.Duration) (queue.Delivery, bool, error) {
	if before, _ := f.faults("receive"); before != nil {
		return queue.Delivery{}, false, before
	}
	return f.Broker.Receive(ctx, name, session, wait)
}

func (f *faulty) Complete(ctx context.Context, name string, d queue.Delivery) error {
	before, after := f.faults("complete")
	if before != nil {
		return before
	}
	if err := f.Broker.Complete(ctx, name, d); err != nil {
		return err
	}
	return after
}

func unreachable() error {
	return &fault.Error{Kind: fault.NothingHappened, Op: "send", Text: "Failed To Establish A New Connection"}
}

func unclear() error {
	return &fault.Error{Kind: fault.MayHaveHappened, Op: "send", Text: "answer lost"}
}

func refusal() error {
	return &fault.Error{Kind: fault.Refused, Op: "send", Text: "no such queue"}
}

// output is a buffer for several goroutines.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
	on func() // called before each write
	io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.on != nil {
		o.on()
	}
	if o.Writer != nil {
		return o.Writer.Write(p)
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// bench is a step with everything around it, in a bubble of virtual time.
type bench struct {
	t        *testing.T
	q        *faulty
	out, err *output
	signals  chan os.Signal
	step     *step.Step
	request  step.Request
	code     chan int
	ended    time.Time
}

// stage runs a story in a bubble. The step starts when the story says so.
func stage(t *testing.T, story func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{
			request: step.Request{
				GateID: gateID, Body: []byte(`{"gateId":"gate-1"}`), Gating: gate.Gating{GateID: gateID, AbortOnCancel: true}, CancelID: "cancel-1",
			},
			t: t, out: &output{}, err: &output{}, code: make(chan int, 1), signals: make(chan os.Signal, 2),
			q: &faulty{
				before: map[string]error{}, after: map[string]error{},
				Broker: broker.New(broker.Config{Clock: time.Now, Queues: []broker.QueueConfig{
					{Name: names.Submit, DuplicateWindow: 10 * time.Minute},
					{Name: names.Cancel, DuplicateWindow: 10 * time.Minute},
					{Name: names.Completion, Sessions: true, DefaultTTL: 24 * time.Hour},
				}}),
			},
		}
		b.step = &step.Step{
			Queue: b.q, Names: names, Console: console.New(b.out, b.err, time.Now), Log: slog.New(slog.DiscardHandler),
			Signals: b.signals, Clock: time.Now,
			Connect: 2 * time.Minute, Grace: 20 * time.Second, Wait: 5 * time.Hour,
		}
		story(b)
	})
}

// start runs the step and returns when it waits for something.
func (b *bench) start() {
	go func() {
		code := b.step.Run(b.t.Context(), b.request)
		b.ended = time.Now()
		b.code <- code
	}()
	synctest.Wait()
}

// notify sends a notice and returns when it was dealt with.
func (b *bench) notify(n gate.Notice) {
	b.t.Helper()
	n.GateID = gateID
	body, err := json.Marshal(n)
	if err != nil {
		b.t.Fatal(err)
	}
	b.post(body)
}

func (b *bench) post(body []byte) {
	b.t.Helper()
	m := queue.Message{ID: "notice", SessionID: gateID, Body: body}
	if err := b.q.Broker.Send(b.t.Context(), names.Completion, m); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
}

// pass lets virtual time go by.
func (b *bench) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// want waits for the step's end, which must come by itself, and checks the exit code.
func (b *bench) want(code int) {
	b.t.Helper()
	if got := <-b.code; got != code {
		b.t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", got, code, b.out, b.err)
	}
}

func (b *bench) wantText(o *output, text string) {
	b.t.Helper()
	if !strings.Contains(o.String(), text) {
		b.t.Errorf("output lacks %q:\n%s", text, o)
	}
}

func (b *bench) counts(name string) (active, locked int) {
	c, err := b.q.Counts(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return c.Active, c.Locked
}

func (b *bench) wantActive(name string, want int) {
	b.t.Helper()
	if got, locked := b.counts(name); got != want || locked != 0 {
		b.t.Errorf("queue %s holds %d messages and %d locked ones, want %d and none", name, got, locked, want)
	}
}

func completion(outcome gate.Outcome, passed bool, text string) gate.Notice {
	return gate.Notice{
		Kind: gate.KindCompletion, JobName: "job", Region: "uksouth", State: "failure",
		Outcome: outcome, Passed: passed, Error: text, Retry: gate.NotEligible,
	}
}
