package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// stage is where the stories are played: a running host and a sibling job that none of them owns.
type stage struct {
	*host
	service
	bin     string
	clock   func() time.Time
	stories []story
	sibling string // the execution id of a job of the same type, org and repo
}

// result is what a step did.
type result struct {
	story
	gateID  string
	args    []string
	adopted string // the execution id of a job that was there before the step
	exit    int
	seen    string // what the step printed, stdout and stderr together
	took    time.Duration
	err     error // the step could not be run to its end
}

// newStage makes the sibling and waits for the second after its start, so that no abort can take one for
// the other: Gangway's bulk change tells jobs apart by their start second.
func newStage(ctx context.Context, h *host, bin string, clock func() time.Time) (*stage, error) {
	s := &stage{host: h, service: service{base: h.url}, bin: bin, clock: clock, stories: stories()}
	id, err := s.createJob(ctx, jobPrefix+"sibling-hang", sha)
	if err != nil {
		return nil, err
	}
	s.sibling = id
	return s, pause(ctx, time.Second)
}

// play plays the first story up to the moment when its job runs, then all others at once.
func (s *stage) play(ctx context.Context) []result {
	results := make([]result, len(s.stories))
	var wg sync.WaitGroup
	underWay := make(chan struct{})
	for i, st := range s.stories {
		wg.Go(func() {
			var begun func()
			if i == 0 {
				begun = sync.OnceFunc(func() { close(underWay) })
				defer begun()
			} else {
				<-underWay
			}
			results[i] = s.run(ctx, i, st, begun)
		})
	}
	wg.Wait()
	return results
}

// run plays one story; begun, when there is one, is called once its job runs.
func (s *stage) run(ctx context.Context, i int, st story, begun func()) result {
	started := s.clock()
	r := result{story: st, gateID: fmt.Sprintf("demo-%02d", i+1)}
	r.args = append([]string{
		"run", "--gate-id", r.gateID, "--job-name", jobPrefix + st.job, "--cloud", "public", "--environment", "int",
		"--region", fmt.Sprintf("region%d", i+1), "--poll-interval", "1s",
	}, st.args...)
	r.err = s.prepare(ctx, &r)
	if r.err == nil {
		r.err = s.step(ctx, &r, begun)
	}
	r.took = s.clock().Sub(started)
	return r
}

// prepare does what has to happen before the step starts.
func (s *stage) prepare(ctx context.Context, r *result) (err error) {
	switch r.before {
	case nothing:
		return nil
	case createJob:
		r.adopted, err = s.createJob(ctx, r.jobName(), "")
		r.args = append(r.args, "--execution-id", r.adopted)
		return err
	case cancelGate:
		return s.cancel(ctx, r.gateID)
	case breakRule:
		return s.breakRule(ctx, r)
	}
	return fmt.Errorf("unknown act %d", r.before)
}

// breakRule sends a gating message that asks for retries of a gate that does not gate.
func (s *stage) breakRule(ctx context.Context, r *result) error {
	code, body, err := s.call(ctx, http.MethodPost, "/gate-submit/messages", map[string]any{
		"gateId": r.gateID, "jobName": r.jobName(), "cloud": "public", "environment": "int", "region": "region", "allowEv2Retry": true,
	})
	if err == nil && code != http.StatusCreated {
		err = fmt.Errorf("send: status %d: %s", code, body)
	}
	if err != nil {
		return err
	}
	return s.await(ctx, r.gateID, func(v gate.View) bool { return v.Phase == gate.PhaseDone })
}

// cancel sends the cancel message of a gate that is not there yet, and waits until it has been taken.
func (s *stage) cancel(ctx context.Context, gateID string) error {
	p, err := startGate(ctx, s.bin, s.url, "cancel", "--gate-id", gateID, "--reason", "before it began")
	if err != nil {
		return err
	}
	code, err := p.wait()
	if err != nil || code != 0 {
		return fmt.Errorf("gate cancel: exit code %d, %w\n%s", code, err, p.seen)
	}
	return s.await(ctx, gateID, func(gate.View) bool { return true })
}

// step runs the step's process to its end.
func (s *stage) step(ctx context.Context, r *result, begun func()) error {
	p, err := startGate(ctx, s.bin, s.url, r.args...)
	if err != nil {
		return err
	}
	var signalErr error
	if r.signal {
		signalErr = s.await(ctx, r.gateID, func(v gate.View) bool { return v.State == string(prow.Pending) })
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // if it has ended, its exit code will say so
		begun()
	}
	r.exit, err = p.wait()
	r.seen = p.seen.String()
	if signalErr != nil {
		return signalErr
	}
	return err
}

func (s story) jobName() string { return jobPrefix + s.job }

// await polls the host until the gate is as wanted.
func (s *stage) await(ctx context.Context, gateID string, ok func(gate.View) bool) error {
	for {
		v, found, err := s.gate(ctx, gateID)
		if err != nil {
			return err
		}
		if found && ok(v) {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("gate %s: %w", gateID, err)
		}
	}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// ending is all that can be looked at when every step has ended.
type ending struct {
	results []result
	views   map[string]gate.View // by gate id
	jobs    []job                // all that the stand-in has
	sibling string
	service map[string]string // what the service itself has said, by where
}

// collect gathers what is left when the last step has ended.
func (s *stage) collect(ctx context.Context, results []result) (ending, error) {
	e := ending{results: results, views: map[string]gate.View{}, sibling: s.sibling, service: map[string]string{}}
	for _, r := range results {
		v, _, err := s.gate(ctx, r.gateID)
		if err != nil {
			return e, err
		}
		e.views[r.gateID] = v
	}
	var err error
	if e.jobs, err = s.jobs(ctx); err != nil {
		return e, err
	}
	for _, path := range []string{"/", "/api/gates"} {
		if e.service[path], err = s.page(ctx, path); err != nil {
			return e, err
		}
	}
	s.stop()
	e.service["the local host's and the handler's output"] = s.seen.String()
	return e, nil
}
