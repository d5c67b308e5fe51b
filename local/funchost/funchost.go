// Package funchost stands in for the Azure Functions host: it reads the deployed folder (host.json and
// one function.json for each function), starts the custom handler in it, and speaks the custom-handler
// protocol to it as the real host does (azure-functions-host, src/WebJobs.Script/Workers/Http).
//
// A queue message becomes one POST; a good answer completes the message, a bad one gives it back. A
// handler that dies is started again, one that hangs is killed and started again, and one that keeps
// failing stops the host. The handler is ended with a kill, never with a signal that it could answer.
//
// Entry points: Load, New and Host.Run; Host is also the http.Handler of the functions with an HTTP trigger.
package funchost

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"prowgate/shared/queue"
)

// The real host's numbers, and our own where it has none.
const (
	readyWithin    = 30 * time.Second // from the start to the first answer (HttpWorkerOptions)
	failuresToStop = 3                // failures one after another that stop the host (ErrorEventsThreshold)
	provenAfter    = time.Minute      // a handler that has lived this long has not failed at its start
	drainFor       = 5 * time.Second  // how long running invocations may go on when the host ends
	noticeWithin   = 3 * time.Second  // after a broken connection, for the end of the process to be noticed
	firstPause     = time.Second      // before the second start; doubled for each failure after it
)

// Config is what a host is made of. All fields are required, except that Output and Ready may be nil.
type Config struct {
	Package Package
	Queue   queue.Receiver
	Env     []string // the handler's whole environment, but for the port if it names none
	Clock   func() time.Time
	Log     *slog.Logger
	Output  io.Writer // gets every line that the handler writes, one Write per line, two at once
	Ready   func()    // called once, when the handler has answered for the first time
}

// Host runs one handler.
type Host struct {
	Config
	client      *http.Client
	pause       time.Duration
	readyWithin time.Duration
	serving     atomic.Pointer[target] // the handler while it takes requests
}

// target is where requests to a handler go, and what they bring so that it takes them.
type target struct {
	base   *url.URL
	secret string
}

// New returns a host that has not started anything yet.
func New(c Config) *Host {
	if c.Output == nil {
		c.Output = io.Discard
	}
	if c.Ready == nil {
		c.Ready = func() {}
	}
	idle := c.Package.MaxConcurrentCalls * len(c.Package.Functions) // so that none has to be dialled again
	transport := &http.Transport{MaxIdleConnsPerHost: idle, DisableCompression: true}
	return &Host{Config: c, client: &http.Client{Transport: transport}, pause: firstPause, readyWithin: readyWithin}
}

// Run serves until ctx is done (then it returns nil, with the handler ended) or until the handler may
// not be started again (then it says why). It may be called once.
func (h *Host) Run(ctx context.Context) error {
	defer h.client.CloseIdleConnections()
	failures := 0
	for {
		end := h.live(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if end.proven {
			failures = 0
		}
		if err := h.judge(end, &failures); err != nil {
			return err
		}
		if !wait(ctx, h.pauseAfter(failures)) {
			return nil
		}
	}
}

// pauseAfter is how long to leave a handler alone that has failed so many times in a row.
func (h *Host) pauseAfter(failures int) time.Duration {
	if failures == 0 {
		return h.pause / 10
	}
	return h.pause << (failures - 1)
}

// wait returns true when d has passed, false when ctx was done first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
