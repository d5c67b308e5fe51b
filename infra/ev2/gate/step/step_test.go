package step_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

func TestVerdictsBecomeExitCodes(t *testing.T) {
	for _, c := range []struct {
		outcome gate.Outcome
		passed  bool
		code    int
	}{
		{gate.Succeeded, true, step.Passed},
		{gate.Failed, true, step.Passed}, // without gatePromotion
		{gate.DryRun, true, step.Passed},
		{gate.Failed, false, step.NotPassed},
		{gate.Errored, false, step.NotPassed},
		{gate.Aborted, false, step.NotPassed},
		{gate.TimedOut, false, step.NotPassed},
		{gate.SubmissionFailed, false, step.NotPassed},
		{gate.Cancelled, false, step.NotPassed}, // by somebody else
		{gate.Rejected, false, step.Rejected},
	} {
		t.Run(string(c.outcome), func(t *testing.T) {
			stage(t, func(b *bench) {
				b.start()
				b.wantActive(names.Submit, 1)
				b.notify(completion(c.outcome, c.passed, "the reason"))
				b.want(c.code)
				b.wantText(b.out, string(c.outcome))
				b.wantText(b.out, "\nthe reason\n")
				b.wantActive(names.Completion, 0)
			})
		})
	}
}

func TestCompletionIsRemovedOnlyAfterItWasPrinted(t *testing.T) {
	stage(t, func(b *bench) {
		printed := 0
		b.out.on = func() {
			printed++
			if _, locked := b.counts(names.Completion); locked != 1 {
				t.Errorf("the completion was settled before it was printed")
			}
		}
		b.start()
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(step.Passed)
		if printed != 1 {
			t.Errorf("the verdict was printed in %d pieces", printed)
		}
		b.wantActive(names.Completion, 0)
	})
}

func TestCompletionThatCannotBePrintedStaysInTheQueue(t *testing.T) {
	stage(t, func(b *bench) {
		b.out.Writer = broken{}
		b.start()
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(step.Unreachable)
		b.wantActive(names.Completion, 1) // given back at once
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("closed pipe") }

func TestProgressIsOneLineAChange(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		pending := gate.Notice{Kind: gate.KindProgress, State: "pending", Text: "job pending", JobURL: "https://prow/view/1"}
		b.notify(pending)
		b.pass(time.Second)
		b.notify(pending)
		b.pass(time.Second)
		b.notify(gate.Notice{Kind: gate.KindProgress, State: "success"})
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(step.Passed)
		if n := strings.Count(b.err.String(), "job pending https://prow/view/1\n"); n != 1 {
			t.Errorf("printed %d times:\n%s", n, b.err)
		}
		b.wantText(b.err, "state success\n")
		if strings.Contains(b.out.String(), "pending") {
			t.Errorf("progress on stdout: %s", b.out)
		}
	})
}

func TestSignOfLifeEveryFiveMinutes(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.notify(gate.Notice{Kind: gate.KindProgress, Text: "job pending"})
		b.pass(16 * time.Minute)
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(step.Passed)
		b.wantText(b.err, "still waiting after 15m; last: job pending")
		if n := strings.Count(b.err.String(), "still waiting"); n != 3 {
			t.Errorf("%d signs of life in 16 minutes:\n%s", n, b.err)
		}
	})
}

func TestServiceOutOfReachAtTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		before, after error
		text          string
		submitted     int
	}{
		"nothing happened": {before: unreachable(), text: "nothing was submitted"},
		"before":           {before: unclear(), text: "--gate-id gate-1"},
		"after":            {after: unclear(), text: "may have arrived", submitted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			stage(t, func(b *bench) {
				b.q.set("send submit", c.before, c.after)
				began := time.Now()
				b.start()
				b.want(step.Unreachable)
				if d := b.ended.Sub(began); d != b.step.Connect {
					t.Errorf("gave up after %s, want %s", d, b.step.Connect)
				}
				if b.q.sends.Load() < 5 || b.q.sends.Load() > 40 {
					t.Errorf("%d attempts in two minutes", b.q.sends.Load())
				}
				b.wantText(b.err, c.text)
				b.wantActive(names.Submit, c.submitted)
				if strings.Contains(strings.ToLower(b.err.String()), "failed to establish a new connection") {
					t.Errorf("printed a text that EV2 retries:\n%s", b.err)
				}
			})
		})
	}
}

func TestServiceThatComesUpInTime(t *testing.T) {
	for name, c := range map[string]struct{ before, after error }{
		"before": {before: unreachable()}, "after": {after: unclear()},
	} {
		t.Run(name, func(t *testing.T) {
			stage(t, func(b *bench) {
				b.q.set("send submit", c.before, c.after)
				b.start()
				b.pass(time.Minute)
				b.q.set("send submit", nil, nil)
				b.pass(time.Minute)
				b.notify(completion(gate.Succeeded, true, ""))
				b.want(step.Passed)
				b.wantActive(names.Submit, 1)
			})
		})
	}
}

// A sending whose answer was lost may have arrived, whatever the next attempt is told.
func TestRefusedAfterOneThatMayHaveArrived(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send submit", nil, unclear())
		b.start()
		b.q.set("send submit", refusal(), nil)
		b.want(step.Unreachable)
		b.wantText(b.err, "may have arrived")
		b.wantText(b.err, "--gate-id "+gateID)
		if strings.Contains(b.err.String(), "refused") {
			t.Errorf("stderr: %s", b.err)
		}
	})
}

func TestRefusedMessage(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("send submit", refusal(), nil)
		b.start()
		b.want(step.Rejected)
		b.wantText(b.err, "refused")
		if b.q.sends.Load() != 1 {
			t.Errorf("a refused message was sent %d times", b.q.sends.Load())
		}
	})
}

func TestOutageWhileWaitingIsSurvivedQuietly(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.q.set("receive", unreachable(), nil)
		b.pass(30 * time.Minute)
		lines := strings.Count(b.err.String(), "\n")
		if lines > 8 {
			t.Errorf("not quiet:\n%s", b.err)
		}
		b.wantText(b.err, "the queue has not answered for")
		b.q.set("receive", nil, nil)
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(step.Passed)
	})
}

func TestQueueThatKeepsRefusingEndsTheStep(t *testing.T) {
	stage(t, func(b *bench) {
		b.q.set("receive", refusal(), nil)
		b.start()
		b.pass(time.Minute)
		b.q.set("receive", nil, nil) // once in a while is survived
		b.pass(5 * time.Minute)
		b.q.set("receive", refusal(), nil)
		b.pass(5 * time.Minute)
		b.want(step.Unreachable)
		b.wantText(b.err, "the completion queue refuses to be read")
	})
}

func TestNoVerdictInTime(t *testing.T) {
	stage(t, func(b *bench) {
		began := time.Now()
		b.start()
		b.want(step.Unreachable)
		if d := b.ended.Sub(began); d != b.step.Wait {
			t.Errorf("gave up after %s", d)
		}
		b.wantText(b.err, "no verdict after 5h; the gate goes on without this step. Join it again with the same flags and --gate-id gate-1")
		if b.out.String() != "" {
			t.Errorf("stdout: %s", b.out)
		}
	})
}

func TestSameStepAgainJoinsTheGate(t *testing.T) {
	stage(t, func(b *bench) {
		b.step.Wait = time.Minute
		b.start()
		b.want(step.Unreachable)
		b.start()
		b.wantActive(names.Submit, 1) // the second one was a duplicate
		b.notify(completion(gate.Failed, false, "no"))
		b.want(step.NotPassed)
	})
}

func TestUnreadableMessageIsGivenBack(t *testing.T) {
	stage(t, func(b *bench) {
		b.start()
		b.post([]byte(`not json`))
		b.pass(10 * time.Minute)
		b.notify(completion(gate.Succeeded, true, ""))
		b.want(step.Passed)
		b.wantActive(names.Completion, 0)
		b.wantActive(names.Completion+"/$deadletterqueue", 1)
	})
}

func TestSettlementIsRepeatedAndNeverHoldsTheStep(t *testing.T) {
	for name, c := range map[string]struct{ before, after error }{
		"before": {before: unreachable()}, "after": {after: unclear()},
	} {
		t.Run(name, func(t *testing.T) {
			stage(t, func(b *bench) {
				b.q.set("complete", c.before, c.after)
				b.start()
				began := time.Now()
				b.notify(completion(gate.Failed, false, "no"))
				b.want(step.NotPassed)
				if d := b.ended.Sub(began); d > 6*time.Second {
					t.Errorf("took %s to end", d)
				}
				if n := strings.Count(b.out.String(), "\nno\n"); n != 1 {
					t.Errorf("the error was printed %d times", n)
				}
			})
		})
	}
}

func TestContextThatEnds(t *testing.T) {
	stage(t, func(b *bench) {
		ctx, stop := context.WithCancel(b.t.Context())
		code := make(chan int, 1)
		go func() { code <- b.step.Run(ctx, step.Request{GateID: gateID, Body: []byte("{}")}) }()
		synctest.Wait()
		stop()
		if got := <-code; got != step.Unreachable {
			t.Errorf("exit code %d", got)
		}
		b.wantText(b.err, "--gate-id gate-1")
	})
}

func TestMarkerOnlyInTheVerdictOfAnEligibleFailure(t *testing.T) {
	marker := gate.Marker(gate.KnownIssueEligible)
	for retry, want := range map[gate.Retry]int{gate.KnownIssueEligible: 1, gate.NotEligible: 0} {
		stage(t, func(b *bench) {
			b.mayRetry()
			b.step.Log = slog.New(slog.NewTextHandler(b.step.Console.Err, &slog.HandlerOptions{Level: slog.LevelDebug}))
			b.q.set("receive", errors.New(marker), nil)
			b.start()
			b.q.set("receive", nil, nil)
			b.pass(time.Minute)
			b.notify(gate.Notice{Kind: gate.KindProgress, Text: "job " + strings.ToUpper(marker), JobURL: marker})
			b.pass(10 * time.Minute)
			n := completion(gate.Failed, false, marker+": known issue "+marker)
			n.Retry, n.Marker = retry, marker
			b.notify(n)
			b.want(step.NotPassed)
			if got := strings.Count(b.out.String(), marker); got != want {
				t.Errorf("retry %s: the marker was printed %d times, want %d:\n%s", retry, got, want, b.out)
			}
			if gate.HasMarker(b.err.String()) {
				t.Errorf("a marker on stderr:\n%s", b.err)
			}
		})
	}
}
