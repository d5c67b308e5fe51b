package step_test

import (
	"syscall"
	"testing"
	"time"

	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

// stall makes an output one whose reader stands still, until the returned function is called.
func (b *bench) stall(outputs ...*output) (release func()) {
	block := make(chan struct{})
	for _, o := range outputs {
		o.mu.Lock()
		o.on = func() { <-block }
		o.mu.Unlock()
	}
	return func() { close(block) }
}

func TestSignalWhileNobodyReadsStderr(t *testing.T) {
	stage(t, func(b *bench) {
		release := b.stall(b.err)
		b.start()
		b.pass(6 * time.Minute) // a sign of life is on its way
		at := time.Now()
		b.kill(syscall.SIGTERM)
		b.wantCancel()
		b.want(terminated)
		if d := b.ended.Sub(at); d > b.step.Grace+time.Second {
			t.Errorf("ended %s after the signal", d)
		}
		release()
		b.pass(0)
		b.wantText(b.err, "sent, waiting for the verdict")
		b.wantText(b.err, "still waiting after 5m")
		b.wantText(b.err, "cancelling gate gate-1")
	})
}

func TestVerdictWhileNobodyReadsStderr(t *testing.T) {
	stage(t, func(b *bench) {
		defer b.stall(b.err)()
		b.start()
		for range 5 {
			b.notify(gate.Notice{Kind: gate.KindProgress, Text: time.Now().String()})
			b.pass(time.Second)
		}
		at := time.Now()
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(step.Passed)
		if !b.ended.Equal(at) {
			t.Errorf("ended %s after the verdict", b.ended.Sub(at))
		}
	})
}

// When both have come by the time the step looks, the rollout was cancelled.
func TestSignalGoesBeforeAVerdict(t *testing.T) {
	for range 20 {
		stage(t, func(b *bench) {
			b.mayRetry()
			b.start()
			release := b.stall(b.err)
			b.pass(step.Life) // the step is busy saying that it lives
			b.notify(eligible())
			b.signals <- syscall.SIGTERM
			release()
			b.want(terminated) // the cancel may be left unsent, the gate has ended
			if all := b.out.String() + b.err.String(); gate.HasMarker(all) {
				t.Errorf("a marker:\n%s", all)
			}
		})
	}
}

// A verdict that nobody reads holds the step, as any program; a signal or the end of the grace lets it go, and the
// verdict is given back.
func TestVerdictThatNobodyReads(t *testing.T) {
	for name, before := range map[string]bool{"signal first": true, "signal last": false} {
		t.Run(name, func(t *testing.T) {
			stage(t, func(b *bench) {
				defer b.stall(b.out, b.err)()
				b.start()
				at := time.Now()
				if before {
					b.kill(syscall.SIGTERM)
				}
				b.notify(completion(gate.Succeeded, true, ""))
				b.pass(time.Second)
				if !before {
					b.pass(time.Hour)
					at = time.Now()
					b.kill(syscall.SIGTERM)
				}
				b.want(terminated)
				if d := b.ended.Sub(at); d > b.step.Grace+time.Second || !before && d > time.Second {
					t.Errorf("ended %s after the signal", d)
				}
				b.wantActive(names.Completion, 1)
			})
		})
	}
}
