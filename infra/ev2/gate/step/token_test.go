package step_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue/servicebus"
)

// EV2 retries a step that prints this, so it must not be printed once there may be a gate.
const noToken = "failed to get token"

func withoutToken() error {
	return &fault.Error{Kind: fault.NothingHappened, Op: "send", Text: "no token", Err: servicebus.ErrToken}
}

func (b *bench) wantNoToken(times int) {
	b.t.Helper()
	all := strings.ToLower(b.out.String() + b.err.String())
	if got := strings.Count(all, noToken); got != times {
		b.t.Errorf("said %d times that there is no token, want %d:\n%s", got, times, all)
	}
}

func TestNoTokenAtTheStartIsForEV2ToRetry(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send submit", withoutToken(), nil)
		b.start()
		b.pass(time.Minute)
		b.wantNoToken(0) // it may still come
		b.want(step.Unreachable)
		b.wantNoToken(1)
		b.wantText(b.err, "nothing was submitted")
	})
}

// The wait for the verdict begins when there is something to wait for.
func TestWaitThatIsShorterThanTheTimeToConnect(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.Wait = time.Second
		b.q.set("send submit", withoutToken(), nil)
		began := time.Now()
		b.start()
		b.want(step.Unreachable)
		if d := b.ended.Sub(began); d != b.step.Connect {
			t.Errorf("gave up after %s", d)
		}
		b.wantNoToken(1)
		b.wantText(b.err, "nothing was submitted")
		if strings.Contains(b.err.String(), "the gate goes on") {
			t.Errorf("of a gate that is not there: %s", b.err)
		}
	})
}

func TestTokenThatComesInTime(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send submit", withoutToken(), nil)
		b.start()
		b.pass(time.Minute)
		b.q.set("send submit", nil, nil)
		b.pass(time.Minute)
		b.notify(completion(gate.Failed, false, "no"))
		b.want(step.NotPassed)
		b.wantNoToken(0)
	})
}

func TestNoTokenAfterAMessageThatMayHaveArrived(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send submit", nil, unclear())
		b.start()
		b.q.set("send submit", withoutToken(), nil)
		b.want(step.Unreachable)
		b.wantText(b.err, "may have arrived")
		b.wantNoToken(0)
	})
}

func TestNoTokenWhileWaiting(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.q.set("receive", withoutToken(), nil)
		b.want(step.Unreachable)
		b.wantText(b.err, "no verdict")
		b.wantNoToken(0)
	})
}

func TestNoTokenForTheCancel(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send submit", withoutToken(), nil)
		b.q.set("send cancel", withoutToken(), nil)
		b.start()
		b.kill(syscall.SIGTERM)
		b.want(terminated)
		b.wantText(b.err, "this step submitted nothing")
		b.wantNoToken(0)
	})
}
