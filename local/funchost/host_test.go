package funchost

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
)

// testPackage is a folder whose handler is this test binary, with one function, "work", on queue "q".
func testPackage(t *testing.T, timeout string) Package {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "host.json"), fmt.Sprintf(`{"version":"2.0","functionTimeout":%q,
		"customHandler":{"description":{"defaultExecutablePath":%q,"arguments":["-test.run=^$"]}},
		"extensions":{"serviceBus":{"maxConcurrentCalls":2}}}`, timeout, self))
	writeFile(t, filepath.Join(dir, "work", "function.json"),
		`{"bindings":[{"type":"serviceBusTrigger","name":"message","direction":"in","queueName":"%Q%","connection":"SERVICEBUS"}]}`)
	p, err := Load(dir, func(string) (string, bool) { return "q", true })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func testBroker() *broker.Broker {
	return broker.New(broker.Config{Clock: time.Now, Queues: []broker.QueueConfig{{Name: "q"}}})
}

func testHost(t *testing.T, p Package, q queue.Receiver, env ...string) *Host {
	t.Helper()
	h := New(Config{
		Package: p, Queue: q, Clock: time.Now, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Output: t.Output(),
		Env: append(os.Environ(), append(env, countIn+"="+filepath.Join(p.Dir, "starts"))...),
	})
	h.pause = 10 * time.Millisecond
	return h
}

func starts(t *testing.T, p Package) int {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(p.Dir, "starts"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(body), "\n")
}

func send(t *testing.T, q queue.Sender, body string) {
	t.Helper()
	if err := q.Send(t.Context(), "q", queue.Message{ID: "m1", Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// settled is a queue that tells how messages were settled.
type settled struct {
	*broker.Broker
	verbs chan string
}

func (s settled) Complete(ctx context.Context, q string, d queue.Delivery) error {
	defer func() { s.verbs <- fmt.Sprintf("complete %d", d.DeliveryCount) }()
	return s.Broker.Complete(ctx, q, d)
}

func (s settled) Abandon(ctx context.Context, q string, d queue.Delivery) error {
	defer func() { s.verbs <- fmt.Sprintf("abandon %d", d.DeliveryCount) }()
	return s.Broker.Abandon(ctx, q, d)
}

// TestRestarts runs real processes through every way of ending that leads to another start.
func TestRestarts(t *testing.T) {
	for _, c := range []struct {
		habit, timeout string
		verbs          []string
		starts         int
	}{
		{"good", "00:05:00", []string{"complete 1"}, 1},
		{"die-once", "00:05:00", []string{"abandon 1", "complete 2"}, 2},
		{"hang-once", "00:00:02", []string{"abandon 1", "complete 2"}, 2},
		{"exit-200-once", "00:05:00", []string{"complete 1"}, 2},
	} {
		t.Run(c.habit, func(t *testing.T) {
			p := testPackage(t, c.timeout)
			q := settled{testBroker(), make(chan string, 8)}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			h := testHost(t, p, q, actAs+"="+c.habit)
			ended := make(chan error, 1)
			go func() { ended <- h.Run(ctx) }()
			send(t, q, `{"a":1}`)
			for _, want := range c.verbs {
				select {
				case got := <-q.verbs:
					if got != want {
						t.Errorf("settled with %q, want %q", got, want)
					}
				case err := <-ended:
					t.Fatalf("the host ended: %v", err)
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
			if n := starts(t, p); n != c.starts {
				t.Errorf("%d starts, want %d", n, c.starts)
			}
		})
	}
}

// anyNumber of starts: a process that is killed early may not have counted itself.
const anyNumber = -1

// TestGivesUp runs handlers that end the host.
func TestGivesUp(t *testing.T) {
	for _, c := range []struct {
		habit, want string
		starts      int
	}{
		{"exit-0", "exit code 0", 1},
		{"exit-3", "failed 3 times", 3},
		{"silent", "did not answer within", anyNumber},
	} {
		t.Run(c.habit, func(t *testing.T) {
			p := testPackage(t, "00:05:00")
			h := testHost(t, p, testBroker(), actAs+"="+c.habit)
			if c.habit == "silent" {
				h.readyWithin = 200 * time.Millisecond
			}
			err := h.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Run: %v, want one with %q", err, c.want)
			}
			if c.starts != anyNumber && starts(t, p) != c.starts {
				t.Errorf("%d starts, want %d", starts(t, p), c.starts)
			}
		})
	}
}

func TestStartFails(t *testing.T) {
	p := testPackage(t, "00:05:00")
	p.Executable = filepath.Join(p.Dir, "host.json") // a file that cannot be run
	err := testHost(t, p, testBroker()).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "start ") {
		t.Errorf("Run: %v", err)
	}
}

// TestKillEndsHandler ends a host with kill -9 and waits for the end of the handler's connection.
func TestKillEndsHandler(t *testing.T) {
	if dieWithParent() == nil {
		t.Skip("skipped: this system offers no way to end a child with its parent")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := testPackage(t, "00:05:00")
	cmd := exec.CommandContext(t.Context(), p.Executable, p.Arguments...)
	cmd.Env = append(os.Environ(), actAs+"=host", dirFor+"="+p.Dir, callTo+"="+l.Addr().String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("host said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the handler still lives: %v", err)
	}
}

// actAsHost runs a host until it is killed.
func actAsHost() int {
	p, err := Load(os.Getenv(dirFor), func(string) (string, bool) { return "q", true })
	if err != nil {
		return 92
	}
	h := New(Config{
		Package: p, Queue: testBroker(), Clock: time.Now, Log: slog.New(slog.DiscardHandler),
		Env: append(os.Environ(), actAs+"=good"), Ready: func() { fmt.Println("ready") },
	})
	if h.Run(context.Background()) != nil {
		return 93
	}
	return 0
}

// TestShutdownDrains ends the host while an invocation runs, which may still end well: the handler
// answers only after the host was told to end.
func TestShutdownDrains(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := testPackage(t, "00:05:00")
	q := settled{testBroker(), make(chan string, 8)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	hungUp := make(chan struct{})
	context.AfterFunc(ctx, func() { defer close(hungUp); hangUp(t, l) })
	h := testHost(t, p, q, actAs+"=told", callTo+"="+l.Addr().String())
	h.Output = writerFunc(func(b []byte) (int, error) {
		if string(b) == "working\n" {
			stop()
		}
		return len(b), nil
	})
	send(t, q, `{}`)
	if err := h.Run(ctx); err != nil {
		t.Fatal(err)
	}
	<-hungUp
	if got := <-q.verbs; got != "complete 1" {
		t.Errorf("settled with %q", got)
	}
}

// hangUp ends the one call that the listener has got.
func hangUp(t *testing.T, l net.Listener) {
	conn, err := l.Accept()
	if err != nil {
		t.Error(err)
		return
	}
	_ = conn.Close() // the end is all that is wanted
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestChoosePort(t *testing.T) {
	port, env, err := choosePort([]string{"A=1", portSetting + "="})
	if err != nil || port < 1 || env[len(env)-1] != fmt.Sprintf("%s=%d", portSetting, port) {
		t.Errorf("free port: %d %v %v", port, env, err)
	}
	if port, _, err := choosePort([]string{portSetting + "=1234"}); port != 1234 || err != nil {
		t.Errorf("given port: %d, %v", port, err)
	}
	if _, _, err := choosePort([]string{portSetting + "=x"}); err == nil {
		t.Error("a port that is none was taken")
	}
}

func TestLines(t *testing.T) {
	var got []string
	l := &lines{to: writerFunc(func(b []byte) (int, error) { got = append(got, string(b)); return len(b), nil })}
	for _, part := range []string{"one\r\ntw", "o\n", strings.Repeat("x", longestLine+1), "\nrest"} {
		if _, err := io.WriteString(l, part); err != nil {
			t.Fatal(err)
		}
	}
	l.flush()
	want := []string{"one\n", "two\n", strings.Repeat("x", longestLine) + "\n", "x\n", "rest\n"}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("lines %s", a)
	}
}
