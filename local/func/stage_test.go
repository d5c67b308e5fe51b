package main

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/infra/wire"
	"prowgate/local/funchost"
	"prowgate/shared/queue"
	"prowgate/shared/queue/servicebus"
)

const (
	speed   = 10               // Prow's clock runs that much faster than ours
	behind  = 10 * time.Minute // and begins so far behind it that it does not catch up
	jobTime = 20 * time.Second // of a job that ends by itself, by Prow's clock
)

// stage is the service as it is deployed, every part on this machine: the package in a played Functions host
// on AMQP, records in Azurite, and the stand-in for Prow.
type stage struct {
	far      far
	world    *gangwaytest.World
	pipeline *servicebus.Bus
	queue    *watched
	settings map[string]string
	dir      string
	lives    *lives
	cold     time.Duration // from the start to the first answer
}

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{far: startFar(t), lives: &lives{Handler: slog.NewTextHandler(&output{to: t.Output()}, nil)}, settings: map[string]string{
		"GANGWAY_RATE_PER_MINUTE": "6000", "GANGWAY_BURST": "100", "GANGWAY_TOKEN": "token",
		"SUBMIT_QUEUE": "gate-submit", "POLL_QUEUE": "gate-poll", "CANCEL_QUEUE": "gate-cancel", "COMPLETION_QUEUE": "gate-completion",
	}}
	st.settings["QUEUE_URL"], st.settings["STORE_URL"] = st.far.url(), storeAt(wire.Start(t, "tables.mjs"))
	if err := makeTable(t.Context(), st.settings["STORE_URL"]); err != nil {
		t.Fatal(err)
	}
	st.dir = buildPackage(t)
	st.prow(t)
	st.pipeline = st.far.bus(t)
	st.queue = &watched{Receiver: st.far.bus(t), cancelled: make(chan struct{})}
	return st
}

// storeAt is the STORE_URL of a table in Azurite.
func storeAt(address string) string {
	// The well-known key of the emulators' one account (learn.microsoft.com, Use the Azurite emulator).
	const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	return "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=" + key +
		";TableEndpoint=http://" + address + "/devstoreaccount1;TableName=gates"
}

// buildPackage lays out the deployable folder as `make package` does.
func buildPackage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(root + "/functions/*/function.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("functions: %v, %v", files, err)
	}
	for _, file := range append(files, root+"/host.json") {
		below := filepath.Base(file)
		if below != "host.json" {
			below = filepath.Join(filepath.Base(filepath.Dir(file)), below)
		}
		copyTo(t, file, filepath.Join(dir, below))
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=",
		"-o", filepath.Join(dir, "handler"), "prowgate/functions/azure")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the handler: %v\n%s", err, text)
	}
	return dir
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// prow starts the stand-in, which kills the handler while it is asked for something.
func (st *stage) prow(t *testing.T) {
	t.Helper()
	begun := time.Now()
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	st.world = gangwaytest.New(gangwaytest.Options{
		Clock:   func() time.Time { return begun.Add(speed*time.Since(begun) - behind) },
		BaseURL: base, ScriptFor: gangwaytest.Demo(jobTime),
		Interfere: func(c gangwaytest.Call) gangwaytest.Fault {
			if c.Endpoint == gangwaytest.DeckJob {
				st.lives.read()
			}
			if c.Endpoint == gangwaytest.BulkChange && c.N == 1 {
				st.lives.kill()
			}
			return gangwaytest.Fault{}
		},
	})
	server.Config.Handler = st.world
	server.Start()
	t.Cleanup(server.Close)
	for _, name := range []string{"GANGWAY_URL", "PROW_URL", "ARTIFACTS_URL"} {
		st.settings[name] = base
	}
}

// run lets the host work until the returned function is called for the first time. Its timer comes every second, not every
// minute, so that sweeps run into everything else.
func (st *stage) run(t *testing.T) (stop func()) {
	t.Helper()
	p, err := funchost.Load(st.dir, func(name string) (string, bool) { v, ok := st.settings[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range p.Functions {
		if f.Schedule != nil {
			p.Functions[i].Schedule = &st.lives.sweeps
		}
	}
	var env []string
	for name, value := range st.settings {
		env = append(env, name+"="+value)
	}
	began, ready := time.Now(), make(chan struct{})
	h := funchost.New(funchost.Config{
		Package: p, Queue: st.queue, Env: env, Clock: time.Now, Log: slog.New(st.lives), Output: &output{to: t.Output()},
		Ready: func() { st.cold = time.Since(began); close(ready) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("the host ended: %v", err)
	}
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the host ended: %v", err)
		}
	})
}

// close lets go of the connections.
func (st *stage) close(t *testing.T) {
	t.Helper()
	for _, b := range []*servicebus.Bus{st.pipeline, st.queue.Receiver.(*servicebus.Bus)} {
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// watched tells when the first cancel message has been dealt with.
type watched struct {
	queue.Receiver
	once      sync.Once
	cancelled chan struct{}
}

func (w *watched) Complete(ctx context.Context, name string, d queue.Delivery) error {
	err := w.Receiver.Complete(ctx, name, d)
	if name == "gate-cancel" && err == nil {
		w.once.Do(func() { close(w.cancelled) })
	}
	return err
}

// lives is the host's log, from which it learns which process the handler is. It kills that process when it is told
// to, never while a job may be being made: a POST of unclear result would be looked for for minutes.
type lives struct {
	slog.Handler
	sweeps every
	starts atomic.Int64
	pid    atomic.Int64 // 0 from a kill to the next start
	reads  atomic.Int64 // since the start
	wanted atomic.Int64 // how often the process has to be killed yet while it reads a job's state
}

// Handle takes the process from the line that names it.
func (l *lives) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "pid" {
			l.reads.Store(0)
			l.starts.Add(1)
			l.pid.Store(a.Value.Int64())
		}
		return true
	})
	return l.Handler.Handle(ctx, r)
}

// read is called when the handler reads a job's state. A process lives for a few reads, for one that has done nothing
// counts as one that cannot start.
func (l *lives) read() {
	if l.reads.Add(1) >= 4 && l.wanted.Load() > 0 && l.kill() {
		l.wanted.Add(-1)
	}
}

// kill ends the handler as kill -9 does; false when it is being started.
func (l *lives) kill() bool {
	pid := l.pid.Swap(0)
	p, err := os.FindProcess(int(pid))
	return pid != 0 && err == nil && p.Kill() == nil
}

// every is a schedule of each second, which counts how often it was asked.
type every struct{ asked atomic.Int64 }

func (e *every) Next(t time.Time) time.Time {
	e.asked.Add(1)
	return t.Add(time.Second)
}

// output takes whole lines from many writers.
type output struct {
	mu sync.Mutex
	to io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}
