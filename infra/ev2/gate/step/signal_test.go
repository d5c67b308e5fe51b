package step_test

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/shared/gate"
)

const (
	interrupted = 130
	terminated  = 143

	doubled = 100 * time.Millisecond // in which the same signal counts once
)

// kill sends a signal and returns when the step has nothing more to do at once.
func (b *bench) kill(sig os.Signal) {
	b.signals <- sig
	synctest.Wait()
}

// wantCancel checks that the cancel message is in the queue now.
func (b *bench) wantCancel() {
	b.t.Helper()
	all, err := b.q.Peek(b.t.Context(), names.Cancel, 0, 10)
	if err != nil || len(all) != 1 {
		b.t.Fatalf("%d cancel messages, error %v", len(all), err)
	}
	var r gate.CancelRequest
	if err := json.Unmarshal(all[0].Body, &r); err != nil || r.GateID != gateID || r.Reason == "" || all[0].ID != b.request.CancelID {
		b.t.Errorf("cancel message %s %s, error %v", all[0].ID, all[0].Body, err)
	}
}

func cancelled(abort gate.AbortOutcome, reason string) gate.Notice {
	n := completion(gate.Cancelled, false, "the rollout was cancelled; abort "+string(abort)+": "+reason)
	n.Abort = &gate.AbortReport{Outcome: abort, Reason: reason}
	return n
}

func TestSignalWhileWaiting(t *testing.T) {
	for _, c := range []struct {
		sig     os.Signal
		code    int
		outcome gate.AbortOutcome
		text    string
	}{
		{syscall.SIGTERM, terminated, gate.AbortDone, "the job was aborted"},
		{syscall.SIGINT, interrupted, gate.AbortNotNeeded, "no abort was needed: because"},
		{syscall.SIGTERM, terminated, gate.AbortSkipped, "the job was left running, it could not be aborted safely: because"},
		{syscall.SIGTERM, terminated, gate.AbortFailed, "the job may still be running, the abort failed: because"},
		{syscall.SIGTERM, terminated, gate.AbortDisabled, "the job was left running, abortOnCancel is false"},
	} {
		t.Run(string(c.outcome), func(t *testing.T) {
			stage(t, func(b *bench) {
				b.start()
				b.pass(time.Hour)
				b.kill(c.sig)
				b.wantCancel()
				b.pass(5 * time.Second)
				b.notify(cancelled(c.outcome, "because"))
				b.want(c.code)
				b.wantText(b.out, "the rollout was cancelled\nabort: "+c.text+"\n")
				if all := b.out.String() + b.err.String(); strings.Count(all, c.text) != 1 {
					t.Errorf("not said once:\n%s", all)
				}
				b.wantActive(names.Completion, 0)
			})
		})
	}
}

func TestSignalBeforeTheStepHasBegun(t *testing.T) {
	stage(t, func(b *bench) {
		b.signals <- syscall.SIGTERM
		b.start()
		b.wantCancel()
		b.wantActive(names.Submit, 0)
		b.want(terminated)
	})
}

func TestSignalWhileSubmitting(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.hang = true
		b.start()
		b.kill(syscall.SIGTERM)
		b.wantCancel()
		b.want(terminated)
		b.wantText(b.err, "the submission was not confirmed")
	})
}

func TestSignalWhileConnecting(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send submit", unreachable(), nil)
		b.q.set("send cancel", unreachable(), nil)
		b.start()
		b.pass(30 * time.Second)
		b.kill(syscall.SIGINT)
		b.q.set("send submit", nil, nil) // must not be tried any more
		b.q.set("send cancel", nil, nil)
		b.pass(5 * time.Second)
		b.wantCancel()
		b.want(interrupted)
		b.wantActive(names.Submit, 0)
	})
}

func TestSignalWithTheServiceGone(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		for _, op := range []string{"send submit", "send cancel", "receive"} {
			b.q.set(op, unreachable(), nil)
		}
		b.pass(time.Minute)
		began := time.Now()
		b.kill(syscall.SIGTERM)
		b.want(terminated)
		if d := b.ended.Sub(began); d != b.step.Grace {
			t.Errorf("ended after %s, want the grace of %s", d, b.step.Grace)
		}
		b.wantText(b.err, "may be left running")
		b.wantText(b.err, "gate cancel --gate-id gate-1")
	})
}

func TestGraceOverBeforeTheAbort(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.notify(gate.Notice{Kind: gate.KindProgress, Text: "job pending"})
		began := time.Now()
		b.kill(syscall.SIGTERM)
		b.notify(gate.Notice{Kind: gate.KindProgress, Text: "abort put off: a sibling job started in the same second"})
		b.want(terminated)
		if d := b.ended.Sub(began); d != b.step.Grace {
			t.Errorf("ended after %s", d)
		}
		b.wantText(b.err, "the job is still to be aborted: abort put off: a sibling job started in the same second")
		if b.out.String() != "" {
			t.Errorf("stdout without a verdict: %s", b.out)
		}
	})
}

func TestGraceOverWithoutAnAnswer(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.notify(gate.Notice{Kind: gate.KindProgress, Text: "job pending"})
		b.kill(syscall.SIGTERM)
		b.want(terminated)
		b.wantText(b.err, "has not answered it yet")
	})
}

func TestCancelWhoseAnswerIsLostIsRepeatedAsADuplicate(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send cancel", nil, unclear())
		b.start()
		b.kill(syscall.SIGTERM)
		b.pass(10 * time.Second)
		b.wantCancel()
		if b.q.sends.Load() < 3 {
			t.Errorf("the cancel was not repeated")
		}
		b.want(terminated)
	})
}

func TestVerdictThatWasOnItsWay(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.kill(syscall.SIGTERM)
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(terminated)
		b.wantText(b.err, "the gate had ended before the cancel took effect")
		b.wantText(b.out, "gate gate-1 passed")
	})
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.kill(syscall.SIGTERM)
		b.wantCancel()
		b.pass(doubled)
		at := time.Now()
		b.kill(syscall.SIGTERM)
		b.want(terminated)
		if !b.ended.Equal(at) {
			t.Errorf("ended %s after the second signal", b.ended.Sub(at))
		}
	})
}

func TestSignalThatComesTwiceIsOne(t *testing.T) {
	for _, c := range []struct {
		first, second os.Signal
		code          int
	}{
		{syscall.SIGTERM, syscall.SIGTERM, terminated},
		{syscall.SIGINT, syscall.SIGTERM, interrupted}, // a script makes a TERM of the INT that its group got
	} {
		stage(t, func(b *bench) {
			b.start()
			began := time.Now()
			b.signals <- c.first
			b.pass(doubled - 1)
			b.kill(c.second)
			b.wantCancel()
			b.want(c.code)
			if d := b.ended.Sub(began); d != b.step.Grace {
				t.Errorf("%s, %s: ended after %s", c.first, c.second, d)
			}
		})
	}
}

// Who asks again for an abort that was given up is not taken for a duplicate.
func TestEachRunCancelsAnew(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("receive", unreachable(), nil)
		for _, id := range []string{"cancel-1", "cancel-2"} {
			b.request.CancelID = id
			b.start()
			b.kill(syscall.SIGTERM)
			b.want(terminated)
		}
		b.wantActive(names.Cancel, 2)
	})
}

func TestSecondSignalWaitsForTheCancelToGoOut(t *testing.T) {
	for _, c := range []struct {
		comesUp bool
		third   bool
		min     time.Duration
		max     time.Duration
		text    string
	}{
		{comesUp: true, min: time.Millisecond, max: time.Second, text: "the job is still to be aborted"},
		{min: time.Second, max: time.Second, text: "may be left running"},
		{third: true, text: "ending at once"},
	} {
		stage(t, func(b *bench) {
			b.start()
			b.q.set("send cancel", unreachable(), nil)
			b.kill(syscall.SIGTERM)
			b.pass(doubled)
			if c.comesUp {
				b.q.set("send cancel", nil, nil)
			}
			at := time.Now()
			b.kill(syscall.SIGTERM)
			if c.third {
				b.kill(syscall.SIGTERM)
			}
			b.want(terminated)
			if d := b.ended.Sub(at); d < c.min || d > c.max {
				t.Errorf("ended after %s", d)
			}
			b.wantText(b.err, c.text)
		})
	}
}

func TestSignalDuringTheSettlementEndsAtOnce(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("complete", unreachable(), nil)
		b.start()
		b.notify(completion(gate.Failed, false, "no"))
		at := time.Now()
		b.kill(syscall.SIGTERM)
		b.want(1) // the verdict has been printed
		if !b.ended.Equal(at) || !strings.Contains(b.out.String(), "no") {
			t.Errorf("ended %s after the signal, stdout %q", b.ended.Sub(at), b.out)
		}
	})
}
