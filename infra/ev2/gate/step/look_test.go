package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

// faces is a status face that knows one gate, or fails.
type faces struct {
	view  gate.View
	found bool
	err   error
	hangs bool
	asked int
}

func (f *faces) Gate(ctx context.Context, id string) (gate.View, bool, error) {
	f.asked++
	if f.hangs {
		<-ctx.Done()
		return gate.View{}, false, ctx.Err()
	}
	if id != gateID {
		return gate.View{}, false, errors.New("asked for " + id)
	}
	return f.view, f.found, f.err
}

// done is a gate whose verdict was stored that long ago.
func done(outcome gate.Outcome, ago time.Duration) gate.View {
	return gate.View{
		GateID: gateID, Phase: gate.PhaseDone, Outcome: outcome, JobName: "job", State: "failure", JobURL: "https://prow/view/1",
		Timeline: []gate.Moment{{At: time.Now().Add(-ago), Event: "completion", Text: "it is " + gate.Marker(gate.KnownIssueEligible)}},
	}
}

func TestVerdictThatWasTakenBefore(t *testing.T) {
	for _, c := range []struct {
		outcome gate.Outcome
		gating  bool
		code    int
		text    string
	}{
		{gate.Succeeded, true, step.Passed, "gate gate-1 passed: succeeded"},
		{gate.DryRun, true, step.Passed, "gate gate-1 passed: dry-run"},
		{gate.Failed, true, step.NotPassed, "gate gate-1 did not pass: failed"},
		{gate.Failed, false, step.Passed, "gate gate-1 passed: failed"},
		{gate.Errored, true, step.NotPassed, "errored"},
		{gate.Aborted, false, step.Passed, "aborted"},
		{gate.TimedOut, false, step.NotPassed, "timed-out"},
		{gate.Cancelled, false, step.NotPassed, "cancelled"},
		{gate.SubmissionFailed, false, step.NotPassed, "submit-failed"},
		{gate.Rejected, false, step.Rejected, "rejected"},
	} {
		t.Run(string(c.outcome), func(t *testing.T) {
			stage(t, func(b *bench) {
				b.step.Status = &faces{view: done(c.outcome, time.Hour), found: true}
				b.request.Gating.GatePromotion = c.gating
				began := time.Now()
				b.start()
				b.want(c.code)
				if d := b.ended.Sub(began); d != 2*time.Minute {
					t.Errorf("ended after %s", d)
				}
				b.wantText(b.out, c.text)
				b.wantText(b.out, "the verdict of gate gate-1 was taken before")
				if gate.HasMarker(b.out.String() + b.err.String()) {
					t.Errorf("a marker:\n%s%s", b.out, b.err)
				}
			})
		})
	}
}

// An end that is fresh is believed when ten minutes have shown that no verdict comes.
func TestVerdictThatWasTakenAMomentAgo(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.Status = &faces{view: done(gate.Succeeded, time.Minute), found: true}
		began := time.Now()
		b.start()
		b.want(step.Passed)
		if d := b.ended.Sub(began); d < 9*time.Minute || d > 11*time.Minute {
			t.Errorf("ended after %s", d)
		}
	})
}

func TestVerdictThatWasTakenBeforeAsJSON(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.JSON, b.request.Gating.GatePromotion = true, true
		b.step.Status = &faces{view: done(gate.Failed, time.Hour), found: true}
		b.start()
		b.want(step.NotPassed)
		var n gate.Notice
		if err := json.Unmarshal([]byte(b.out.String()), &n); err != nil || n.Outcome != gate.Failed || n.Passed || n.Marker != "" || n.Retry != gate.NotEligible || n.SentAt.IsZero() {
			t.Errorf("%v: %s", err, b.out)
		}
	})
}

// A verdict that the queue still has, or will have, goes before the view, which has no marker.
func TestVerdictThatMayStillCome(t *testing.T) {
	for name, c := range map[string]struct {
		face  faces
		after time.Duration // when the completion comes
	}{
		"in the queue":       {faces{view: done(gate.Failed, time.Hour), found: true}, 0},
		"locked before":      {faces{view: done(gate.Failed, time.Hour), found: true}, time.Minute},
		"not sent yet":       {faces{view: done(gate.Failed, time.Second), found: true}, 8 * time.Minute},
		"gate still runs":    {faces{view: gate.View{GateID: gateID, Phase: gate.PhaseRunning}, found: true}, 3 * time.Hour},
		"gate not known":     {faces{}, 3 * time.Hour},
		"face fails":         {faces{err: errors.New("away")}, 3 * time.Hour},
		"face hangs":         {faces{hangs: true}, 3 * time.Hour},
		"of another gate":    {faces{view: gate.View{GateID: "g2", Phase: gate.PhaseDone, Outcome: gate.Succeeded}, found: true}, 3 * time.Hour},
		"nobody to be asked": {faces{}, 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			stage(t, func(b *bench) {
				f := c.face
				for i := range f.view.Timeline {
					f.view.Timeline[i].At = time.Now().Add(-time.Hour)
					if name == "not sent yet" {
						f.view.Timeline[i].At = time.Now().Add(-time.Second)
					}
				}
				if name != "nobody to be asked" {
					b.step.Status = &f
				}
				b.mayRetry()
				b.start()
				b.pass(c.after)
				n := completion(gate.Failed, false, gate.Marker(gate.KnownIssueEligible)+": one test failed")
				n.Retry = gate.KnownIssueEligible
				b.notify(n)
				b.want(step.NotPassed)
				if strings.Count(b.out.String(), gate.Marker(gate.KnownIssueEligible)) != 1 {
					t.Errorf("not the completion itself:\n%s%s", b.out, b.err)
				}
			})
		})
	}
}

// While the queue does not answer, nothing says that the verdict will not come.
func TestViewAloneEndsNothingWhileTheQueueIsAway(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.Status = &faces{view: done(gate.Failed, time.Hour), found: true}
		b.q.set("receive", unreachable(), nil)
		b.start()
		b.pass(time.Hour)
		b.q.set("receive", nil, nil)
		b.notify(completion(gate.Failed, false, "from the queue"))
		b.want(step.NotPassed)
		b.wantText(b.out, "from the queue")
	})
}

// A queue that has come back may hold the verdict behind what it gave first.
func TestViewAloneEndsNothingWhileTheQueueHasJustComeBack(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.Status = &faces{view: done(gate.Failed, time.Hour), found: true}
		b.start()
		b.pass(35 * time.Second)
		b.q.set("receive", unreachable(), nil)
		b.pass(65 * time.Second)
		b.q.set("receive", nil, nil)
		b.notify(gate.Notice{Kind: gate.KindProgress, Text: "job pending"})
		b.pass(25 * time.Second)
		b.wantText(b.err, "job pending")
		b.notify(completion(gate.Failed, false, "from the queue"))
		b.want(step.NotPassed)
		b.wantText(b.out, "from the queue")
	})
}

func TestTheFaceIsAskedSeldom(t *testing.T) {
	stage(t, func(b *bench) {
		f := &faces{view: gate.View{GateID: gateID, Phase: gate.PhaseRunning}, found: true}
		b.step.Status = f
		b.start()
		b.want(step.Unreachable)
		if f.asked < 55 || f.asked > 65 {
			t.Errorf("asked %d times in 5 hours", f.asked)
		}
	})
}

// What is said when the grace is over depends on how the gate stands, and on what the step asked for.
func TestSignalWithoutAVerdictSaysHowTheGateStands(t *testing.T) {
	const still = "still to be aborted"
	for name, c := range map[string]struct {
		face      step.Status
		leaves    bool // abortOnCancel is false
		has, lack string
	}{
		"ended":       {&faces{view: done(gate.Failed, time.Hour), found: true}, false, "the gate had ended before the cancel took effect: failed", still},
		"aborted":     {&faces{view: gate.View{Phase: gate.PhaseDone, Outcome: gate.Cancelled, Abort: &gate.AbortReport{Outcome: gate.AbortDone}}, found: true}, false, "the gate has ended: cancelled; the job was aborted", still},
		"timed out":   {&faces{view: gate.View{Phase: gate.PhaseDone, Outcome: gate.TimedOut}, found: true}, false, still, "had ended before the cancel"},
		"runs":        {&faces{view: gate.View{Phase: gate.PhaseRunning}, found: true}, false, "the job is still to be aborted, see", "unless"},
		"not known":   {&faces{}, false, "unless the gate had ended before", ""},
		"face fails":  {&faces{err: errors.New("away")}, false, "unless the gate had ended before", ""},
		"face hangs":  {&faces{hangs: true}, false, "unless the gate had ended before", ""},
		"no face":     {nil, false, "unless the gate had ended before", ""},
		"left to run": {&faces{view: gate.View{Phase: gate.PhaseRunning}, found: true}, true, "the job is left running, abortOnCancel is false", still},
	} {
		t.Run(name, func(t *testing.T) {
			stage(t, func(b *bench) {
				b.step.Status, b.request.Gating.AbortOnCancel = c.face, !c.leaves
				b.start()
				at := time.Now()
				b.kill(syscall.SIGTERM)
				b.wantCancel()
				b.want(terminated)
				if d := b.ended.Sub(at); d > b.step.Grace+2*time.Second {
					t.Errorf("ended %s after the signal", d)
				}
				b.wantText(b.err, c.has)
				if c.lack != "" && strings.Contains(b.err.String(), c.lack) {
					t.Errorf("says %q:\n%s", c.lack, b.err)
				}
			})
		})
	}
}

func TestVerdictThatComesWhileTheFaceIsAsked(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.Status = &faces{hangs: true}
		b.start()
		b.kill(syscall.SIGTERM)
		b.pass(b.step.Grace + time.Second)
		b.notify(cancelled(gate.AbortDone, "seen"))
		b.want(terminated)
		b.wantText(b.out, "the job was aborted")
	})
}

func TestSecondSignalWhileTheFaceIsAsked(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.Status = &faces{hangs: true}
		b.start()
		b.kill(syscall.SIGTERM)
		b.pass(b.step.Grace + time.Second)
		at := time.Now()
		b.kill(syscall.SIGTERM)
		b.want(terminated)
		if !b.ended.Equal(at) {
			t.Errorf("ended %s after the second signal", b.ended.Sub(at))
		}
	})
}
