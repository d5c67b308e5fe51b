package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

// how a gate comes by its job.
type how int

const (
	submits   how = iota // it makes one
	adopts               // it is told of one that somebody else has made
	makesNone            // it must not have any
)

// story is one gate: what it asks for and how it has to end.
type story struct {
	id, job, fields string
	how             how
	outcome         gate.Outcome
	retry           gate.Retry
	passed          bool
	abort           gate.AbortOutcome
	state           prow.State // of its job in the end
}

const (
	gating   = `,"gatePromotion":true`
	retrying = `,"gatePromotion":true,"allowEv2Retry":true`
	pinned   = `,"gatePromotion":true,"baseSha":"0123456789abcdef0123456789abcdef01234567"`
)

// The two gates that are cancelled: one while its job runs, when all others have ended; one before it begins.
const (
	running = "g-running"
	early   = "g-early"
)

// kills is how often the handler is killed: three times while it reads a job's state, and once while it aborts one.
const kills = 4

// stories are twenty gates of every kind. Submissions are two seconds apart, so most of them watch a job that is
// there already.
func stories() []story {
	all := []story{
		{running, "e2e-hang", pinned, submits, gate.Cancelled, gate.NotEligible, false, gate.AbortDone, prow.Aborted},
		{"g-pass", "e2e-pass", gating, submits, gate.Succeeded, gate.NotEligible, true, "", prow.Success},
		{"g-fail", "e2e-fail", retrying, submits, gate.Failed, gate.NotEligible, false, "", prow.Failure},
		{"g-flaky", "e2e-flaky", retrying, submits, gate.Failed, gate.KnownIssueEligible, false, "", prow.Failure},
		{"g-infra", "e2e-infra", retrying, submits, gate.Failed, gate.InfraPreconditionEligible, false, "", prow.Failure},
		{early, "e2e-pass", gating, makesNone, gate.Cancelled, gate.NotEligible, false, gate.AbortNotNeeded, ""},
		{"g-dry", "e2e-pass", gating + `,"dryRun":true`, makesNone, gate.DryRun, gate.NotEligible, true, "", ""},
		{"g-bad", "e2e-pass", `,"allowEv2Retry":true`, makesNone, gate.Rejected, gate.NotEligible, false, "", ""},
		{"a-error", "e2e-error", gating, adopts, gate.Errored, gate.NotEligible, false, "", prow.Errored},
		{"a-slow", "e2e-hang", gating + `,"timeout":"3s"`, adopts, gate.TimedOut, gate.NotEligible, false, "", prow.Pending},
	}
	for i := range 2 {
		all = append(all, []story{
			{fmt.Sprintf("a-pass-%d", i), "e2e-pass", gating, adopts, gate.Succeeded, gate.NotEligible, true, "", prow.Success},
			{fmt.Sprintf("a-advisory-%d", i), "e2e-fail", "", adopts, gate.Failed, gate.NotEligible, true, "", prow.Failure},
			{fmt.Sprintf("a-flaky-%d", i), "e2e-flaky", retrying, adopts, gate.Failed, gate.KnownIssueEligible, false, "", prow.Failure},
			{fmt.Sprintf("a-infra-%d", i), "e2e-infra", retrying, adopts, gate.Failed, gate.InfraPreconditionEligible, false, "", prow.Failure},
			{fmt.Sprintf("a-aborted-%d", i), "e2e-aborted", gating, adopts, gate.Aborted, gate.NotEligible, false, "", prow.Aborted},
		}...)
	}
	return all
}

// submitted is how many of the gates make a job.
func submitted() (n int) {
	for _, s := range stories() {
		if s.how == submits {
			n++
		}
	}
	return n
}

// Every message comes twice, under two ids, and the handler is killed three times. Each gate has one
// completion all the same, and one job if it asked for one, and no message is put aside.
func TestGatesThroughServiceBus(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what builds and runs the real package")
	}
	st := newStage(t)
	defer st.close(t)
	st.far.run(t)
	stop := st.run(t)
	defer stop()
	d := st.play(t)
	for _, s := range stories() {
		s.check(t, d.got[s.id])
	}
	st.checkJobs(t)
	st.poison(t)
	st.lateTicks(t)
	st.report(t)
	stop()
	d.drain(t)
	st.checkQueues(t)
}

// play lets all gates run and returns their completions: first those that make no job, under two kills; then the
// others; and when their jobs are there it cancels one, under two kills more.
func (st *stage) play(t *testing.T) *desk {
	t.Helper()
	d := &desk{st: st, got: map[string]gate.Notice{}}
	st.send(t, "gate-cancel", early, cancelMessage(early))
	waitFor(t, st.queue.cancelled)
	st.lives.wanted.Store(2)
	d.begin(t, func(s story) bool { return s.how != submits })
	d.ended.Wait()
	if left := st.lives.wanted.Swap(0); left > 0 {
		t.Errorf("%d kills were not made", left)
	}
	d.begin(t, func(s story) bool { return s.how == submits })
	d.submitted.Wait()
	st.lives.wanted.Store(1)
	st.send(t, "gate-cancel", running, cancelMessage(running))
	d.ended.Wait()
	return d
}

// desk is where the pipeline's steps wait.
type desk struct {
	st               *stage
	submitted, ended sync.WaitGroup
	mu               sync.Mutex
	got              map[string]gate.Notice // completions by gate
}

// begin sends the messages of some gates and waits for each in its session.
func (d *desk) begin(t *testing.T, which func(story) bool) {
	t.Helper()
	for _, s := range stories() {
		if !which(s) {
			continue
		}
		d.st.send(t, "gate-submit", s.id, d.st.message(s))
		d.submitted.Add(1)
		d.ended.Go(func() {
			submitted := sync.OnceFunc(d.submitted.Done)
			defer submitted()
			n := d.st.completion(t, s.id, submitted)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.got[s.id] = n
		})
	}
}

func waitFor(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the first cancel message was not dealt with")
	}
}

func cancelMessage(id string) string {
	return fmt.Sprintf(`{"gateId":%q,"reason":"the rollout was cancelled"}`, id)
}

// message is the gating message of a story, whose job is made here if it is not the gate's own.
func (st *stage) message(s story) string {
	fields := s.fields
	if s.how == adopts {
		script, _ := gangwaytest.Demo(jobTime)(s.job)
		fields += fmt.Sprintf(`,"executionId":%q`, st.world.AddForeign(gangwaytest.Foreign{JobName: s.job, Type: prow.Periodic, Script: &script}))
	}
	return fmt.Sprintf(`{"gateId":%q,"jobName":%q,"cloud":"public","environment":"int","region":"westus3","pollInterval":"1s"%s}`, s.id, s.job, fields)
}

// send sends a message twice, so that the broker cannot know the second for a copy.
func (st *stage) send(t *testing.T, name, id, body string) {
	t.Helper()
	for _, copied := range []string{"-1", "-2"} {
		if err := st.pipeline.Send(t.Context(), name, queue.Message{ID: id + copied, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
}

// completion waits for the gate's completion in its session, and tells when a job has been submitted.
func (st *stage) completion(t *testing.T, id string, submitted func()) gate.Notice {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		n, _ := st.next(ctx, t, id, 20*time.Second)
		if n.SubmittedAt != nil {
			submitted()
		}
		if n.Kind == gate.KindCompletion {
			return n
		}
	}
	if t.Context().Err() == nil {
		t.Errorf("%s: no completion", id)
	}
	return gate.Notice{}
}

// next receives one message of the gate's session.
func (st *stage) next(ctx context.Context, t *testing.T, id string, wait time.Duration) (n gate.Notice, ok bool) {
	d, ok, err := st.pipeline.Receive(ctx, "gate-completion", id, wait)
	if err == nil && ok {
		err = st.pipeline.Complete(ctx, "gate-completion", d)
	}
	if err != nil && ctx.Err() == nil {
		t.Errorf("%s: %v", id, err)
	}
	if err != nil || !ok {
		return n, false
	}
	if err := json.Unmarshal(d.Body, &n); err != nil || n.GateID != id || d.SessionID != id {
		t.Errorf("session %s: %s, %v", d.SessionID, d.Body, err)
	}
	return n, true
}

func (s story) check(t *testing.T, n gate.Notice) {
	t.Helper()
	marker := gate.Marker(s.retry)
	if n.Outcome != s.outcome || n.Retry != s.retry || n.Passed != s.passed || n.Marker != marker {
		t.Errorf("%s: %+v", s.id, n)
	}
	if !strings.HasPrefix(n.Error, marker) || marker == "" && gate.HasMarker(n.Error) {
		t.Errorf("%s: error %q", s.id, n.Error)
	}
	if (n.Abort == nil) != (s.abort == "") || n.Abort != nil && n.Abort.Outcome != s.abort {
		t.Errorf("%s: abort %+v, want %q", s.id, n.Abort, s.abort)
	}
}

// checkJobs wants one job for each gate that submits, in the right state, and no others but the adopted ones; and
// that of all of them none was changed but the cancelled gate's own.
func (st *stage) checkJobs(t *testing.T) {
	t.Helper()
	byGate := map[string]prow.State{}
	for _, j := range st.world.Jobs() {
		id := j.Labels[gate.KeyGateID]
		if _, second := byGate[id]; second && id != "" {
			t.Errorf("%s has two jobs", id)
		}
		if j.Foreign != (id == "") {
			t.Errorf("job %s of gate %q: foreign is %t", j.ID, id, j.Foreign)
		}
		if changed := len(j.Changes) > 0; changed != (id == running) {
			t.Errorf("job %s of gate %q: changed is %t", j.ID, id, changed)
		}
		byGate[id] = j.State
	}
	delete(byGate, "") // the adopted ones
	for _, s := range stories() {
		if s.how == submits && byGate[s.id] != s.state {
			t.Errorf("%s: its job is %q, want %q", s.id, byGate[s.id], s.state)
		}
	}
	if len(byGate) != submitted() {
		t.Errorf("jobs by gate: %v", byGate)
	}
}

// poison wants nothing in any dead-letter queue so far, and then there, and unchanged, what nobody can read.
func (st *stage) poison(t *testing.T) {
	t.Helper()
	for name, c := range st.far.counts(t) {
		if c.DeadLettered > 0 {
			t.Errorf("%s has put aside %d messages", name, c.DeadLettered)
		}
	}
	const body = `{"jobName":"of no gate"}`
	if err := st.pipeline.Send(t.Context(), "gate-submit", queue.Message{ID: "poison", Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
	d, ok, err := st.pipeline.Receive(t.Context(), "gate-submit"+queue.DeadLetter, "", time.Minute)
	if err != nil || !ok || string(d.Body) != body || d.DeadReason != "MaxDeliveryCountExceeded" {
		t.Fatalf("put aside: %+v, %t, %v", d, ok, err)
	}
	if err := st.pipeline.Complete(t.Context(), "gate-submit"+queue.DeadLetter, d); err != nil {
		t.Error(err)
	}
}

// drain takes what the steps have left. That may be progress that was sent again, or a copy of the completion; it
// may not be another completion.
func (d *desk) drain(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	for _, s := range stories() {
		all.Go(func() {
			for {
				n, ok := d.st.next(t.Context(), t, s.id, 5*time.Second) // a busy machine is slow to answer
				if !ok {
					return
				}
				if first := d.got[s.id]; n.Kind == gate.KindCompletion && (n.Outcome != first.Outcome || !n.SentAt.Equal(first.SentAt)) {
					t.Errorf("%s: completion %+v after %+v", s.id, n, first)
				}
			}
		})
	}
	all.Wait()
}

// lateTicks lets the ticks come that are due later than their gates' ends, as a kill can leave them behind.
func (st *stage) lateTicks(t *testing.T) {
	t.Helper()
	if _, err := st.far.tell("advance", map[string]int64{"ms": (5 * time.Minute).Milliseconds()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for st.far.counts(t)["gate-poll"] != (depth.Counts{}) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return // checkQueues tells
		}
	}
}

// checkQueues wants nothing left once the host has ended: no second completion, and no tick that could make one.
func (st *stage) checkQueues(t *testing.T) {
	t.Helper()
	for name, c := range st.far.counts(t) {
		if c != (depth.Counts{}) {
			t.Errorf("%s holds %+v", name, c)
		}
	}
}

// report tells what a deployment wants to know of the handler.
func (st *stage) report(t *testing.T) {
	t.Helper()
	info, err := os.Stat(filepath.Join(st.dir, "handler"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", st.lives.pid.Load()))
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	rss, _, _ = strings.Cut(rss, "\n")
	t.Logf("handler %.1f MiB; first answer after %v; resident in the end%s (%v); %d starts, timer asked %d times",
		float64(info.Size())/(1<<20), st.cold, rss, err, st.lives.starts.Load(), st.lives.sweeps.asked.Load())
	if n := st.lives.starts.Load(); n != kills+1 {
		t.Errorf("the handler was started %d times, not once and after each of %d kills", n, kills)
	}
	if n := st.lives.sweeps.asked.Load(); n < 10 {
		t.Errorf("the timer was asked %d times: no sweeps ran beside the gates", n)
	}
}
