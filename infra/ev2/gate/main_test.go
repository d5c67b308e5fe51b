package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/httpqueue"
)

// limit bounds every wait of these tests; none comes near it.
const limit = time.Minute

var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gate-test-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "gate")
	out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return name, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

// far is the service's side of the queues; the test plays the functions behind it.
type far interface {
	queueURL() string
	host() string             // its address
	at(address string) string // the QUEUE_URL of the same service at another address
	next(name string) []byte
	answer(n gate.Notice)
	wantEmpty(name string)
}

// overBoth runs a test over the local host's HTTP and over Service Bus's AMQP.
func overBoth(t *testing.T, test func(t *testing.T, f far)) {
	t.Helper()
	t.Run("HTTP", func(t *testing.T) { test(t, newService(t)) })
	t.Run("AMQP", func(t *testing.T) { test(t, newNamespace(t)) })
}

// service is the queues' side of prowgate over HTTP; the test plays the functions behind it.
type service struct {
	t      *testing.T
	b      *broker.Broker
	server *httptest.Server
	down   atomic.Bool   // cuts every connection, as a host that restarts does
	cuts   chan struct{} // one for each that was cut, while there is room
}

func newService(t *testing.T) *service { return newServiceLocking(t, time.Minute) }

// newServiceLocking is a service whose completions are hidden that long from others when one takes them.
func newServiceLocking(t *testing.T, lock time.Duration) *service {
	s := &service{t: t, cuts: make(chan struct{}, 1), b: broker.New(broker.Config{Clock: time.Now, Queues: []broker.QueueConfig{
		{Name: "gate-submit", DuplicateWindow: 10 * time.Minute},
		{Name: "gate-cancel", DuplicateWindow: 10 * time.Minute},
		{Name: "gate-completion", Sessions: true, LockDuration: lock},
	}})}
	h := httpqueue.Handler(s.b)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.down.Load() {
			select {
			case s.cuts <- struct{}{}:
			default:
			}
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

func (s *service) queueURL() string         { return s.server.URL }
func (s *service) host() string             { return s.server.Listener.Addr().String() }
func (s *service) at(address string) string { return "http://" + address }

func (s *service) wantEmpty(name string) {
	s.t.Helper()
	if c, err := s.b.Counts(s.t.Context(), name); err != nil || c.Active+c.Locked != 0 {
		s.t.Errorf("%s holds %+v, %v", name, c, err)
	}
}

// next takes the next message of a queue.
func (s *service) next(name string) []byte {
	s.t.Helper()
	d, ok, err := s.b.ReceiveAndDelete(s.t.Context(), name, "", limit)
	if err != nil || !ok {
		s.t.Fatalf("nothing in %s: %v", name, err)
	}
	return d.Body
}

func (s *service) answer(n gate.Notice) {
	s.t.Helper()
	body, err := json.Marshal(n)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.b.Send(s.t.Context(), "gate-completion", queue.Message{ID: "c", SessionID: n.GateID, Body: body}); err != nil {
		s.t.Fatal(err)
	}
}

// process is the built command.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	out text
	err text
}

// text is what a process has written so far.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

func (x *text) Len() int { return len(x.String()) }

func start(t *testing.T, queueURL string, args ...string) *process {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	t.Cleanup(stop)
	p := &process{t: t, cmd: exec.CommandContext(ctx, name, args...)}
	p.cmd.Env = append(os.Environ(), "QUEUE_URL="+queueURL, "LOG_LEVEL=debug")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.WaitDelay = 10 * time.Second // where a program that it started holds them
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// waitFor returns when the process has said that on stderr.
func (p *process) waitFor(said string) {
	p.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		if strings.Contains(p.err.String(), said) {
			return
		}
	}
	p.t.Fatalf("it did not say %q\nstdout: %s\nstderr: %s", said, &p.out, &p.err)
}

func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// want waits for the process's end and checks its exit code, and every byte that it wrote: no marker but the
// one that a verdict on stdout begins with, and none of the texts for which EV2 retries.
func (p *process) want(code int) {
	p.t.Helper()
	err := p.cmd.Wait()
	out, said := p.out.String(), p.err.String()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d (%v), want %d\nstdout: %s\nstderr: %s", got, err, code, out, said)
	}
	if gate.HasMarker(said) {
		p.t.Errorf("a marker on stderr: %s", said)
	}
	rest := out
	for _, retry := range []gate.Retry{gate.KnownIssueEligible, gate.InfraPreconditionEligible} {
		rest = strings.Replace(rest, "\n"+gate.Marker(retry)+": ", "\n", 1)
	}
	if gate.HasMarker(rest) {
		p.t.Errorf("a marker that does not begin the error: %s", out)
	}
	// The one that is said on purpose is a line of its own.
	all := strings.ToLower(out + strings.Replace(said, "Z failed to get token: the step may be repeated\n", "", 1))
	for _, phrase := range []string{"failed to establish a new connection", "failed to get token", "failed to connect to msi"} {
		if strings.Contains(all, phrase) {
			p.t.Errorf("EV2 would retry for %q:\n%s%s", phrase, out, said)
		}
	}
}

func runArgs(more ...string) []string {
	return append([]string{
		"run", "--gate-id", "g", "--job-name", "job", "--cloud", "public", "--environment", "int", "--region", "uksouth",
	}, more...)
}

func TestGateThatFailsRetryably(t *testing.T) {
	s := newService(t)
	p := start(t, s.server.URL, runArgs("--gate-promotion", "--allow-ev2-retry")...)
	g, rejection, err := gate.ParseGating(s.next("gate-submit"))
	if err != nil || rejection != nil || g.GateID != "g" || !g.AllowEV2Retry {
		t.Fatalf("gating message %+v, %+v, %v", g, rejection, err)
	}
	marker := gate.Marker(gate.KnownIssueEligible)
	s.answer(gate.Notice{
		Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Failed,
		Retry: gate.KnownIssueEligible, Marker: marker, Error: marker + ": the job failed",
	})
	p.want(1)
	if want := "gate g did not pass: failed; job job\n" + marker + ": the job failed\n"; p.out.String() != want {
		t.Errorf("stdout %q, want %q", &p.out, want)
	}
	if c, err := s.b.Counts(t.Context(), "gate-completion"); err != nil || c.Active+c.Locked != 0 {
		t.Errorf("the completion was not settled: %+v, %v", c, err)
	}
}

func TestServiceThatRestartsWhileTheStepWaits(t *testing.T) {
	s := newService(t)
	p := start(t, s.server.URL, runArgs()...)
	s.next("gate-submit")
	s.down.Store(true)
	s.server.CloseClientConnections()
	<-s.cuts
	s.answer(gate.Notice{Kind: gate.KindProgress, GateID: "g", Text: "job pending"})
	s.down.Store(false)
	s.answer(gate.Notice{Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Succeeded, Passed: true})
	p.want(0)
	if !strings.Contains(p.err.String(), "job pending") {
		t.Errorf("stderr: %s", &p.err)
	}
}

func TestSIGTERMCancelsTheGate(t *testing.T) {
	s := newService(t)
	p := start(t, s.server.URL, runArgs()...)
	s.next("gate-submit")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c, err := gate.ParseCancel(s.next("gate-cancel"))
	if err != nil || c.GateID != "g" {
		t.Errorf("cancel message %+v, %v", c, err)
	}
	s.answer(gate.Notice{
		Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Cancelled, Error: "cancelled",
		Abort: &gate.AbortReport{Outcome: gate.AbortDone},
	})
	p.want(143)
	if !strings.Contains(p.out.String(), "abort: the job was aborted\n") {
		t.Errorf("stdout: %s", &p.out)
	}
}

func TestSIGINTWhileTheServiceHangs(t *testing.T) {
	arrived := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- r.URL.Path
		if !strings.Contains(r.URL.Path, "gate-cancel") {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	p := start(t, server.URL, runArgs("--cancel-grace", "300ms")...)
	if path := <-arrived; path != "/gate-submit/messages" {
		t.Errorf("first request to %s", path)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.want(130)
	var paths []string
	for len(arrived) > 0 {
		paths = append(paths, <-arrived)
	}
	if !strings.Contains(strings.Join(paths, " "), "/gate-cancel/messages") {
		t.Errorf("no cancel in %q\nstderr: %s", paths, &p.err)
	}
}

func TestServiceThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	p := start(t, server.URL, runArgs("--connect-timeout", "300ms")...)
	p.want(3)
	if !strings.Contains(p.err.String(), "nothing was submitted") || p.out.Len() != 0 {
		t.Errorf("stdout %q, stderr %q", &p.out, &p.err)
	}
}

// An empty variable counts as not set.
func TestEmptySettings(t *testing.T) {
	s := newService(t)
	for _, name := range []string{"STATUS_URL", "SUBMIT_QUEUE", "CANCEL_QUEUE", "COMPLETION_QUEUE", "LOG_LEVEL"} {
		t.Setenv(name, "")
	}
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, name, "cancel", "--gate-id", "g", "--queue-url", s.server.URL).CombinedOutput()
	if err != nil || string(out) != "the cancel of gate g was sent\n" {
		t.Fatalf("%v: %s", err, out)
	}
	s.next("gate-cancel")
	p := start(t, s.server.URL, runArgs()...)
	s.next("gate-submit")
	s.answer(passed())
	p.want(0)
}

func TestBadLogLevelInTheEnvironment(t *testing.T) {
	t.Setenv("LOG_LEVEL", "loud")
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), name, "--help").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "LOG_LEVEL") {
		t.Errorf("error %v, output %s", err, out)
	}
}
