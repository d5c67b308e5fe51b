package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// text collects what a process writes, from both of its streams at once.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write never fails.
func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

// String returns what has been written so far.
func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// process is a command that runs, and what it has printed on stdout and stderr, in order of arrival.
type process struct {
	cmd  *exec.Cmd
	seen *text
}

// mildly lets a command end by itself when the demo is given up, and ends it 10 s later if it did not.
func mildly(cmd *exec.Cmd) *exec.Cmd {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// startGate starts one of gate's commands against the host.
func startGate(ctx context.Context, bin, hostURL string, args ...string) (*process, error) {
	p := &process{cmd: mildly(exec.CommandContext(ctx, filepath.Join(bin, "gate"), args...)), seen: &text{}}
	p.cmd.Env = append(environment(), "QUEUE_URL="+hostURL)
	p.cmd.Stdout, p.cmd.Stderr = p.seen, p.seen
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start gate: %w", err)
	}
	return p, nil
}

// wait returns the exit code; an error says that the process did not exit.
func (p *process) wait() (int, error) {
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// environment is this process's own without prowgate's settings: the demo's gates go to the demo's host.
func environment() []string {
	var kept []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !setting(name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func setting(name string) bool {
	switch name {
	case "PROW_URL", "ARTIFACTS_URL", "QUEUE_URL", "STORE_URL", "EXCLUSIVE_LABELS", "LOG_LEVEL", "FUNCTIONS_CUSTOMHANDLER_PORT":
		return true
	}
	return strings.HasPrefix(name, "GANGWAY_") || strings.HasSuffix(name, "_QUEUE")
}

// host is the local host while it runs.
type host struct {
	*process
	url  string
	read chan struct{} // closed when everything that it printed has been read
}

// jobTime is how long the stand-in's jobs take.
const jobTime = "4s"

// startHost starts the local host on a free port and returns when it accepts messages.
func startHost(ctx context.Context, bin, deployed string) (*host, error) {
	args := []string{"--listen", "127.0.0.1:0", "--data", "memory", "--package", deployed, "--standin-job-time", jobTime}
	h := &host{process: &process{cmd: mildly(exec.CommandContext(ctx, filepath.Join(bin, "local"), args...)), seen: &text{}}, read: make(chan struct{})}
	h.cmd.Env = append(environment(), "GANGWAY_RATE_PER_MINUTE=60")
	h.cmd.Stderr = h.seen
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	if err := h.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the local host: %w", err)
	}
	lines := bufio.NewReader(io.TeeReader(stdout, h.seen))
	line, _ := lines.ReadString('\n') // a line that is cut off is not the one
	go func() {
		_, _ = io.Copy(io.Discard, lines) // ends with the process
		close(h.read)
	}()
	url, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ready {
		h.stop()
		return nil, fmt.Errorf("the local host did not get ready: it printed %q\n%s", line, h.seen)
	}
	h.url = strings.TrimSuffix(url, "/")
	return h, nil
}

// stop ends the host and returns when it has ended and everything it printed has been read. It may be
// called again.
func (h *host) stop() {
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-h.read
	_ = h.cmd.Wait()
}
