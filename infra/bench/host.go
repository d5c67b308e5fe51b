package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"prowgate/infra/bench/proc"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/httpqueue"
)

// host is the local host, its handler, and the Prow that they look at.
type host struct {
	*surroundings
	*looks
	cmd     *exec.Cmd
	url     string
	handler int // process id
	data    string
	clock   func() time.Time
}

// both is what the host and its handler use.
type both struct{ host, handler proc.Use }

// startHost starts bin/local on a new file.
func (b *bench) startHost(ctx context.Context) (*host, error) {
	h := &host{looks: &looks{clock: b.clock, last: map[string]time.Time{}}, clock: b.clock}
	var err error
	if h.surroundings, err = surround(ctx, b.clock); err != nil {
		return nil, err
	}
	front, stop, err := serve(ctx, h.watch(h.world))
	if err != nil {
		h.surroundings.stop()
		return nil, err
	}
	inner := h.surroundings.stop
	h.surroundings.stop = func() { stop(); inner() }
	if h.data, err = os.MkdirTemp("", "prowgate-bench-"); err != nil {
		h.surroundings.stop()
		return nil, fmt.Errorf("data: %w", err)
	}
	if err := h.start(ctx, b, front); err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

func (h *host) start(ctx context.Context, b *bench, prow string) error {
	local, err := filepath.Abs(filepath.Join(b.bin, "local")) // a bare name would be looked for elsewhere
	if err != nil {
		return fmt.Errorf("-bin: %w", err)
	}
	h.cmd = exec.CommandContext(ctx, local, "--listen", "127.0.0.1:0", "--quiet",
		"--data", filepath.Join(h.data, "data.db"), "--package", b.deployed)
	h.cmd.Env = []string{
		"GANGWAY_URL=" + prow, "PROW_URL=" + prow, "ARTIFACTS_URL=" + prow, "GANGWAY_TOKEN=bench", "TMPDIR=" + h.data,
	}
	h.cmd.Stderr = b.log
	h.cmd.Cancel = func() error { return h.cmd.Process.Signal(syscall.SIGTERM) }
	h.cmd.WaitDelay = 10 * time.Second
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	if err := h.cmd.Start(); err != nil {
		h.cmd = nil
		return fmt.Errorf("start the local host (make build): %w", err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n') // a line that is cut off is not the one
	url, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ready {
		return fmt.Errorf("the local host did not get ready: it printed %q", line)
	}
	h.url = url
	h.handler, err = proc.Child(h.cmd.Process.Pid)
	return err
}

// stop ends everything and removes the data.
func (h *host) stop() {
	if h.cmd != nil {
		_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		_ = h.cmd.Wait()
	}
	h.surroundings.stop()
	_ = os.RemoveAll(h.data)
}

func (h *host) use() (both, error) {
	a, err1 := proc.Read(h.cmd.Process.Pid)
	b, err2 := proc.Read(h.handler)
	return both{a, b}, errors.Join(err1, err2)
}

// adopt sends so many gating messages, each for a job that the given function makes; they come due evenly spread
// over the given time.
func (h *host) adopt(ctx context.Context, gates int, interval, spread time.Duration, job func(name string) string) error {
	client, err := h.queues()
	if err != nil {
		return err
	}
	defer client.Close(ctx) //nolint:errcheck // it only lets go of connections
	numbers := make(chan int)
	errs := make([]error, callers)
	began := h.clock()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for n := range numbers {
				g := gating(gateID(n), "e2e")
				g.PollInterval = gate.Duration(interval)
				g.ExecutionID = job(g.JobName)
				body, err := json.Marshal(g)
				due := began.Add(spread * time.Duration(n) / time.Duration(gates))
				m := queue.Message{ID: g.GateID, Body: body, ScheduledAt: due}
				errs[i] = errors.Join(errs[i], err, client.Send(ctx, "gate-submit", m))
			}
		})
	}
	for n := range gates {
		numbers <- n
	}
	close(numbers)
	all.Wait()
	return errors.Join(errs...)
}

// verdicts waits for the verdict of each gate, as so many pipeline steps would.
func (h *host) verdicts(ctx context.Context, gates int) error {
	client, err := h.queues()
	if err != nil {
		return err
	}
	defer client.Close(ctx) //nolint:errcheck // it only lets go of connections
	errs := make([]error, gates)
	var all sync.WaitGroup
	for n := range gates {
		all.Go(func() { errs[n] = verdict(ctx, client, gateID(n)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func verdict(ctx context.Context, client *httpqueue.Client, id string) error {
	for {
		d, ok, err := client.ReceiveAndDelete(ctx, "gate-completion", id, 30*time.Second)
		if err != nil {
			return err
		}
		var n gate.Notice
		if !ok {
			return fmt.Errorf("gate %s: no message for 30 s", id)
		}
		if err := json.Unmarshal(d.Body, &n); err != nil || n.Kind == gate.KindCompletion {
			return err
		}
	}
}

func (h *host) queues() (*httpqueue.Client, error) {
	base, err := url.Parse(h.url)
	if err != nil {
		return nil, fmt.Errorf("address of the host: %w", err)
	}
	return httpqueue.New(base, nil), nil
}

func gateID(n int) string { return "g-" + strconv.Itoa(n) }
