package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"prowgate/infra/bench/proc"
)

// readyWithin is how long a process may take to its first answer.
const readyWithin = 30 * time.Second

// process is one that was started here. Its environment is only what it was given.
type process struct {
	cmd    *exec.Cmd
	url    string
	cold   time.Duration // from its start to its first answer
	logged counter       // bytes that it has written to its stdout
	ended  chan struct{}
}

// counter is a writer that only counts.
type counter struct{ atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

// launch starts a custom handler as the Functions host does, and returns when it has answered.
func (b *bench) launch(ctx context.Context, executable string, env ...string) (*process, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{url: "http://127.0.0.1:" + strconv.Itoa(port), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, executable)
	p.cmd.Dir = filepath.Dir(executable)
	p.cmd.Env = append(env, "FUNCTIONS_CUSTOMHANDLER_PORT="+strconv.Itoa(port))
	p.cmd.Stdout, p.cmd.Stderr = &p.logged, b.log
	began := b.clock()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", executable, err)
	}
	go func() { _ = p.cmd.Wait(); close(p.ended) }() // how it ended is of no interest: it is killed
	if err := p.answers(ctx, port); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w", executable, err)
	}
	p.cold = b.clock().Sub(began)
	return p, nil
}

// answers waits for the first answer on /, trying every millisecond.
func (p *process) answers(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = c.Close()
			_, err := get(ctx, p.url+"/")
			return err
		}
		select {
		case <-p.ended:
			return errors.New("it ended before it answered")
		default:
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// stop kills the process, as the Functions host does, and returns when it is gone.
func (p *process) stop() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

func (p *process) use() (proc.Use, error) { return proc.Read(p.cmd.Process.Pid) }

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // nothing was served
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return strconv.Atoi(port)
}

// get returns the body of a page that has to be there.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
	}
	return body, err
}

// handlerPath is the handler of the deployed folder; its process runs in that folder, so the path is absolute.
func (b *bench) handlerPath() (string, error) {
	path, err := filepath.Abs(filepath.Join(b.deployed, "handler"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("the handler is not built (make build): %w", err)
	}
	return path, nil
}

// handlerEnv is the environment of a handler whose records are in its memory, with Prow's three addresses
// and the queues at the given ones.
func handlerEnv(prow, queues string) []string {
	return []string{
		"GANGWAY_URL=" + prow, "PROW_URL=" + prow, "ARTIFACTS_URL=" + prow, "GANGWAY_TOKEN=bench",
		"QUEUE_URL=" + queues, "STORE_URL=memory:",
	}
}
