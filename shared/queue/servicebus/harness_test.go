package servicebus

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"prowgate/infra/wire"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/depth"
)

const (
	plain    = "plain"
	dup      = "dup"
	sessions = "session"

	patience = 2 * time.Second
	quiet    = 60 * time.Millisecond

	lockDuration = 30 * time.Second
	window       = 10 * time.Minute
)

// far is the test broker, seen from its control channel. Its clock moves only when told to.
type far struct {
	t       testing.TB
	address string
	mu      sync.Mutex
	now     time.Time
}

// state is what the control channel answers.
type state struct {
	Connections, Links, Waiting, Sessions, Renewals, Faults int
	Queues                                                  map[string]depth.Counts
}

type setup struct {
	Now    int64                `json:"now"`
	Queues []broker.QueueConfig `json:"queues"`
}

func fresh() setup {
	return setup{time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).UnixMilli(), []broker.QueueConfig{
		{Name: plain, LockDuration: lockDuration, MaxDeliveries: 3},
		{Name: dup, LockDuration: lockDuration, DuplicateWindow: window},
		{Name: sessions, LockDuration: lockDuration, Sessions: true},
	}}
}

func startFar(t testing.TB) *far {
	t.Helper()
	s := fresh()
	config, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return &far{t: t, address: wire.Start(t, "servicebus.mjs", string(config)), now: time.UnixMilli(s.Now).UTC()}
}

// tell sends one command to the control channel.
func (f *far) tell(command string, body any) (s state) {
	f.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	res, err := http.Post("http://"+f.address+"/"+command, queue.ContentType, bytes.NewReader(data))
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		f.t.Fatalf("control answered %s: %v", text, err)
	}
	return s
}

func (f *far) reset() {
	f.t.Helper()
	s := fresh()
	f.mu.Lock()
	f.now = time.UnixMilli(s.Now).UTC()
	f.mu.Unlock()
	f.tell("reset", s)
}

func (f *far) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *far) advance(d time.Duration) {
	f.t.Helper()
	f.mu.Lock()
	f.now = f.now.Add(d)
	f.mu.Unlock()
	f.tell("advance", map[string]int64{"ms": d.Milliseconds()})
}

// planned is a fault of the test broker.
type planned struct {
	At        string `json:"at"`               // send, settle, attach, token or request
	Moment    string `json:"moment,omitempty"` // before (when empty) or after the work
	How       string `json:"how,omitempty"`    // cut or silent
	Condition string `json:"condition,omitempty"`
	Code      int    `json:"code,omitempty"`
	Times     int    `json:"times,omitempty"` // 1 when 0
}

func (f *far) plan(p planned) {
	f.t.Helper()
	if p.Times == 0 {
		p.Times = 1
	}
	f.tell("fault", p)
}

func (f *far) state() state {
	f.t.Helper()
	return f.tell("state", nil)
}

// until waits for the test broker to be in such a state: it hears of an end later than who made it.
func (f *far) until(what string, ok func(state) bool) {
	f.t.Helper()
	for range 400 {
		if ok(f.state()) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	f.t.Fatalf("%s: the state stays %+v", what, f.state())
}

const secretKey = "c2VjcmV0LWtleQ=="

func (f *far) url() string {
	return "Endpoint=sb://" + f.address + ";SharedAccessKeyName=test;SharedAccessKey=" + secretKey + ";UseDevelopmentEmulator=true;"
}

func (f *far) bus(t testing.TB) *Bus {
	t.Helper()
	b, err := New(f.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
		noGoroutines(t)
	})
	return b
}

// noGoroutines asserts that nothing of the adapter or the SDK goes on.
func noGoroutines(t testing.TB) {
	t.Helper()
	var left string
	for range 400 {
		stacks := make([]byte, 1<<20)
		left = ""
		for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "go-amqp") || strings.Contains(stack, "azservicebus") || strings.Contains(stack, "(*line)") {
				left += stack + "\n\n"
			}
		}
		if left == "" {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Errorf("goroutines are left:\n%s", left)
}

func send(t testing.TB, b *Bus, name string, m queue.Message) {
	t.Helper()
	if err := b.Send(t.Context(), name, m); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func receive(t testing.TB, b *Bus, name, session, id string) queue.Delivery {
	t.Helper()
	d, ok, err := b.Receive(t.Context(), name, session, patience)
	if err != nil || !ok || d.ID != id {
		t.Fatalf("received %q, ok %t, error %v; want %q", d.ID, ok, err, id)
	}
	return d
}

func complete(t testing.TB, b *Bus, name string, d queue.Delivery) {
	t.Helper()
	if err := b.Complete(t.Context(), name, d); err != nil {
		t.Fatalf("complete: %v", err)
	}
}

func none(t testing.TB, b *Bus, name, session string) {
	t.Helper()
	if d, ok, err := b.Receive(t.Context(), name, session, quiet); err != nil || ok {
		t.Fatalf("received %q, ok %t, error %v; want nothing", d.ID, ok, err)
	}
}
