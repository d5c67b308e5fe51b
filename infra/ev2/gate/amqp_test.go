package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"prowgate/infra/wire"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/depth"
	"prowgate/shared/queue/servicebus"
)

const sessionLock = time.Minute

// namespace is the test broker that speaks Service Bus's AMQP; the test plays the functions behind it.
type namespace struct {
	t       *testing.T
	address string
	bus     *servicebus.Bus
}

// state is what the test broker's control channel answers.
type state struct {
	Waiting, Sessions int
	Queues            map[string]depth.Counts
}

func newNamespace(t *testing.T) *namespace {
	config, err := json.Marshal(map[string]any{
		"now": time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).UnixMilli(),
		"queues": []broker.QueueConfig{
			{Name: "gate-submit", DuplicateWindow: 10 * time.Minute},
			{Name: "gate-cancel", DuplicateWindow: 10 * time.Minute},
			{Name: "gate-completion", Sessions: true, LockDuration: sessionLock, DefaultTTL: 24 * time.Hour},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := &namespace{t: t, address: wire.Start(t, "servicebus.mjs", string(config))}
	if n.bus, err = servicebus.New(connection(n.address)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.bus.Close(t.Context()) })
	return n
}

// connection returns the QUEUE_URL of a namespace that listens on the address.
func connection(address string) string {
	return "Endpoint=sb://" + address + ";SharedAccessKeyName=test;SharedAccessKey=a2V5;UseDevelopmentEmulator=true"
}

func (n *namespace) queueURL() string         { return connection(n.address) }
func (n *namespace) host() string             { return n.address }
func (n *namespace) at(address string) string { return connection(address) }

// next takes the next message of a queue.
func (n *namespace) next(name string) []byte {
	n.t.Helper()
	d, ok, err := n.bus.Receive(n.t.Context(), name, "", limit)
	if err == nil && ok {
		err = n.bus.Complete(n.t.Context(), name, d)
	}
	if err != nil || !ok {
		n.t.Fatalf("nothing in %s: %v", name, err)
	}
	return d.Body
}

func (n *namespace) answer(notice gate.Notice) {
	n.t.Helper()
	body, err := json.Marshal(notice)
	if err != nil {
		n.t.Fatal(err)
	}
	m := queue.Message{ID: "c", SessionID: notice.GateID, Body: body}
	if err := n.bus.Send(n.t.Context(), "gate-completion", m); err != nil {
		n.t.Fatal(err)
	}
}

// tell sends a command to the control channel.
func (n *namespace) tell(command, body string) (s state) {
	n.t.Helper()
	res, err := http.Post("http://"+n.address+"/"+command, queue.ContentType, strings.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil {
		n.t.Fatal(err)
	}
	return s
}

// untilWaiting returns when a step waits in its session.
func (n *namespace) untilWaiting() {
	n.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if s := n.tell("state", ""); s.Sessions == 1 && s.Waiting > 0 {
			return
		}
	}
	n.t.Fatalf("no step waits: %+v", n.tell("state", ""))
}

func (n *namespace) wantEmpty(name string) {
	n.t.Helper()
	if c := n.tell("state", "").Queues[name]; c.Active+c.Locked != 0 {
		n.t.Errorf("%s holds %+v", name, c)
	}
}

func passed() gate.Notice {
	return gate.Notice{Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Succeeded, Passed: true}
}

func TestSIGTERMOverAMQP(t *testing.T) {
	// The cancel has a second; the rest is for a machine that is busy with other tests.
	const soon = 5 * time.Second
	n := newNamespace(t)
	p := start(t, connection(n.address), runArgs()...)
	n.next("gate-submit")
	n.untilWaiting()
	signalled := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c, err := gate.ParseCancel(n.next("gate-cancel"))
	if err != nil || c.GateID != "g" {
		t.Errorf("cancel message %+v, %v", c, err)
	}
	if d := time.Since(signalled); d > soon {
		t.Errorf("the cancel took %s", d)
	}
	n.answer(gate.Notice{
		Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Cancelled, Error: "cancelled; abort skipped: a sibling",
		Abort: &gate.AbortReport{Outcome: gate.AbortSkipped, Reason: "a sibling"},
	})
	p.want(143)
	if all := p.out.String() + p.err.String(); strings.Count(all, "a sibling") != 1 {
		t.Errorf("not said once:\n%s", all)
	}
}

func TestSessionLostWhileWaitingOverAMQP(t *testing.T) {
	n := newNamespace(t)
	p := start(t, connection(n.address), runArgs()...)
	n.next("gate-submit")
	n.untilWaiting()
	n.tell("advance", `{"ms": 61000}`)
	n.untilWaiting() // in a session of its own again
	n.answer(passed())
	p.want(0)
	n.wantEmpty("gate-completion")
}

func TestBrokerThatIsAwayWhileTheStepWaits(t *testing.T) {
	n := newNamespace(t)
	d := openDoor(t, n.address)
	p := start(t, connection(d.listener.Addr().String()), runArgs()...)
	n.next("gate-submit")
	n.untilWaiting()
	d.shut()
	<-d.refused
	n.answer(passed())
	d.open()
	p.want(0)
	n.wantEmpty("gate-completion")
}

// The identity's server is the only one that is asked: without a token no connection is made.
func TestNoTokenForServiceBus(t *testing.T) {
	const phrase = "failed to get token"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"`+phrase+`"}`, http.StatusBadRequest)
	}))
	defer server.Close()
	t.Setenv("AZURE_CLIENT_ID", "11111111-2222-3333-4444-555555555555")
	t.Setenv("AZURE_TENANT_ID", "")
	t.Setenv("IDENTITY_ENDPOINT", server.URL)
	t.Setenv("IDENTITY_HEADER", "x")
	p := start(t, "sb://gates.servicebus.windows.net", runArgs("--connect-timeout", "1s")...)
	p.want(3)
	if n := strings.Count(strings.ToLower(p.out.String()+p.err.String()), phrase); n != 1 {
		t.Errorf("%q was printed %d times\nstdout: %s\nstderr: %s", phrase, n, &p.out, &p.err)
	}
}
