package funchost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Exit codes of a handler that mean something to the host (WorkerConstants.cs): one is never started
// again, the other asks to be.
const (
	exitForGood = 0
	exitRestart = 200
)

// life is one process of the handler, from its start to its end, with the work given to it.
type life struct {
	host          *Host
	to            *target
	exited        <-chan struct{}
	stopReceiving context.CancelFunc // set before the triggers start
	again         chan string        // asks for the end of the process; holds the reason
	proven        atomic.Bool        // it has done a piece of work
}

// ending is how a life ended.
type ending struct {
	err    error  // it could not be started or did not answer
	again  string // it was killed for this reason, to be started again
	code   int    // otherwise its exit code
	text   string
	proven bool // it had done some work or lived for long, so its failure is not one of starting
}

// live starts a handler, gives it work, and returns when it is gone.
func (h *Host) live(ctx context.Context) ending {
	p, err := h.start()
	if err != nil {
		return ending{err: err}
	}
	defer h.client.CloseIdleConnections()
	defer p.kill()
	if err := p.ready(ctx, h.client, h.readyWithin); err != nil {
		p.kill()
		return h.exited(p, &life{}, err)
	}
	began := h.Clock()
	h.Log.Info("handler ready", "url", p.url, "pid", p.cmd.Process.Pid)
	h.serving.Store(p.target())
	defer h.serving.Store(nil)
	h.Ready()
	h.Ready = func() {}
	l := &life{host: h, to: p.target(), exited: p.exited, again: make(chan string, 1)}
	end := l.serve(ctx, p)
	end.proven = end.proven || h.Clock().Sub(began) >= provenAfter
	return end
}

// exited describes a process that has ended by itself.
func (h *Host) exited(p *process, l *life, err error) ending {
	end := ending{err: err, code: p.code, text: p.text, proven: l.proven.Load()}
	if p.code == exitForGood || p.code == exitRestart {
		end.err = nil
	}
	return end
}

// serve runs the triggers until the process has ended, has to end, or the host ends.
func (l *life) serve(ctx context.Context, p *process) ending {
	receive, stopReceiving := context.WithCancel(ctx)
	l.stopReceiving = stopReceiving
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	defer stopReceiving()
	done := l.triggers(receive, work)
	select {
	case <-p.exited:
		stopReceiving()
		stopWork()
		<-done
		return l.host.exited(p, l, nil)
	case reason := <-l.again:
		stopReceiving()
		p.kill()
		stopWork()
		<-done
		return ending{again: reason, proven: true}
	case <-ctx.Done():
		l.drain(done)
		p.kill()
		stopWork()
		<-done
		return ending{}
	}
}

// drain lets running invocations end, within bounds.
func (l *life) drain(done <-chan struct{}) {
	t := time.NewTimer(drainFor)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		l.host.Log.Warn("invocations still running; their messages will come back")
	}
}

// triggers starts a loop for each timer and as many for each queue as calls may run at once. The
// channel is closed when all have ended.
func (l *life) triggers(receive, work context.Context) <-chan struct{} {
	var all sync.WaitGroup
	for _, f := range l.host.Package.Functions {
		if f.HTTP != nil {
			continue // it is called by requests
		}
		if f.Schedule != nil {
			all.Go(func() { l.runTimer(receive, work, f) })
			continue
		}
		for range l.host.Package.MaxConcurrentCalls {
			all.Go(func() { l.runQueue(receive, work, f) })
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	return done
}

// settleDown is called with a call to the handler that broke off, before its message is given back. If
// the process is gone or just going, no further message may be taken: it would be given back as fast
// as it comes, and be dead-lettered before the next process has started.
func (l *life) settleDown() {
	t := time.NewTimer(noticeWithin)
	defer t.Stop()
	select {
	case <-l.exited:
		l.stopReceiving()
	case <-t.C:
	}
}

// restart asks for the end of the process, which gets no more work. The first reason counts.
func (l *life) restart(reason string) {
	l.stopReceiving()
	select {
	case l.again <- reason:
	default:
	}
}

// judge decides whether there is a next life: nil is yes.
func (h *Host) judge(end ending, failures *int) error {
	switch {
	case end.again != "":
		h.Log.Error("handler killed, starting it again", "reason", end.again)
		return nil
	case end.err == nil && end.code == exitForGood:
		return errors.New("the handler ended with exit code 0, after which the Functions host never starts it again")
	case end.err == nil && end.code == exitRestart:
		h.Log.Info("handler asked to be started again")
		return nil
	}
	*failures++
	why := end.text
	if end.err != nil {
		why = end.err.Error()
	}
	h.Log.Error("handler failed", "why", why, "failures", *failures)
	if *failures >= failuresToStop {
		return fmt.Errorf("the handler failed %d times one after another, the last time: %s", *failures, why)
	}
	return nil
}
