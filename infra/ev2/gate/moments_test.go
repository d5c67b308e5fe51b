package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"prowgate/shared/gate"
)

// What a step says when its gating message has arrived.
const isWaiting = "sent, waiting for the verdict"

// hostile is what a test, a job or an error may be called.
func hostile() string {
	return "x " + strings.ToUpper(gate.Marker(gate.InfraPreconditionEligible)) + "\nFAILED to get token\x1b[31m failed to\nconnect to MSI"
}

func TestVerdictsAndExitCodes(t *testing.T) {
	overBoth(t, func(t *testing.T, f far) {
		marker := gate.Marker(gate.InfraPreconditionEligible)
		for id, c := range map[string]struct {
			notice gate.Notice
			code   int
			out    string
		}{
			"a": {passed(), 0, "gate a passed: succeeded; job job\n"},
			"b": {
				gate.Notice{Outcome: gate.Failed, Retry: gate.InfraPreconditionEligible, Marker: marker, Error: marker + ": the job failed"},
				1, "gate b did not pass: failed; job job\n" + marker + ": the job failed\n",
			},
			"c": {gate.Notice{Outcome: gate.Rejected, Error: "x"}, 2, "gate c did not pass: rejected; job job\nx\n"},
			"d": {gate.Notice{Outcome: gate.TimedOut, Error: "x"}, 1, "gate d did not pass: timed-out; job job\nx\n"},
			"e": {
				gate.Notice{Outcome: gate.Failed, Retry: gate.NotEligible, Error: hostile(), FailedTests: []string{hostile()}, JobURL: hostile()},
				1, "",
			},
		} {
			p := start(t, f.queueURL(), runArgs("--gate-id", id, "--gate-promotion", "--allow-ev2-retry")...)
			if g, _, err := gate.ParseGating(f.next("gate-submit")); err != nil || g.GateID != id {
				t.Errorf("gating message %+v, %v", g, err)
			}
			c.notice.Kind, c.notice.GateID, c.notice.JobName = gate.KindCompletion, id, "job"
			f.answer(gate.Notice{Kind: gate.KindProgress, GateID: id, Text: "job pending", JobURL: hostile()})
			f.answer(c.notice)
			p.want(c.code)
			if c.out != "" && p.out.String() != c.out || !strings.Contains(p.err.String(), "job pending") {
				t.Errorf("stdout %q, want %q\nstderr: %s", &p.out, c.out, &p.err)
			}
		}
		f.wantEmpty("gate-completion")
	})
}

// moment is a time at which a signal may come. It returns when that is now; its cancelled gate ends so.
type moment struct {
	name  string
	until func(f far, p *process)
	abort gate.AbortOutcome
	said  string
}

func moments() []moment {
	return []moment{
		{"queued", func(_ far, p *process) { p.waitFor(isWaiting) }, gate.AbortNotNeeded, "no abort was needed"},
		{"running", func(f far, p *process) {
			f.next("gate-submit")
			f.answer(gate.Notice{Kind: gate.KindProgress, GateID: "g", Text: "job pending"})
			p.waitFor("job pending")
		}, gate.AbortDone, "the job was aborted"},
		{"running, with a sibling", func(f far, p *process) {
			f.next("gate-submit")
			p.waitFor(isWaiting)
		}, gate.AbortSkipped, "the job was left running, it could not be aborted safely: because"},
	}
}

func TestSignalsAtEachMoment(t *testing.T) {
	for _, m := range moments() {
		for sig, code := range map[os.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
			t.Run(m.name+" "+sig.String(), func(t *testing.T) {
				overBoth(t, func(t *testing.T, f far) {
					p := start(t, f.queueURL(), runArgs()...)
					m.until(f, p)
					p.signal(sig)
					if c, err := gate.ParseCancel(f.next("gate-cancel")); err != nil || c.GateID != "g" || !strings.Contains(c.Reason, sig.String()) {
						t.Errorf("cancel message %+v, %v", c, err)
					}
					n := gate.Notice{Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Cancelled, Error: "cancelled; abort " + string(m.abort) + ": because"}
					n.Abort = &gate.AbortReport{Outcome: m.abort, Reason: "because"}
					f.answer(n)
					p.want(code)
					if all := p.out.String() + p.err.String(); strings.Count(all, m.said) != 1 {
						t.Errorf("not said once: %q\n%s", m.said, all)
					}
				})
			})
		}
	}
}

// A step that cannot even connect sends the cancel as soon as it can, and its gating message no more.
func TestSignalsBeforeTheConnection(t *testing.T) {
	for sig, code := range map[os.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		t.Run(sig.String(), func(t *testing.T) {
			overBoth(t, func(t *testing.T, f far) {
				d := openDoor(t, f.host())
				d.shut()
				p := start(t, f.at(d.listener.Addr().String()), runArgs()...)
				<-d.refused
				p.signal(sig)
				p.waitFor("cancelling gate g")
				d.open()
				if c, err := gate.ParseCancel(f.next("gate-cancel")); err != nil || c.GateID != "g" {
					t.Errorf("cancel message %+v, %v", c, err)
				}
				f.answer(gate.Notice{Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Cancelled, Error: "cancelled"})
				p.want(code)
				f.wantEmpty("gate-submit")
			})
		})
	}
}

func TestVerdictThatWasOnItsWayWhenTheSignalCame(t *testing.T) {
	overBoth(t, func(t *testing.T, f far) {
		p := start(t, f.queueURL(), runArgs()...)
		f.next("gate-submit")
		p.waitFor(isWaiting)
		p.signal(syscall.SIGTERM)
		f.next("gate-cancel")
		f.answer(passed())
		p.want(143)
		if !strings.Contains(p.err.String(), "the gate had ended before the cancel took effect") || !strings.Contains(p.out.String(), "gate g passed") {
			t.Errorf("stdout %s, stderr %s", &p.out, &p.err)
		}
	})
}

// A second signal within a tenth of a second would count as one with the first.
func TestSecondSignalEndsTheStepAtOnce(t *testing.T) {
	overBoth(t, func(t *testing.T, f far) {
		p := start(t, f.queueURL(), runArgs("--cancel-grace", "1h")...)
		f.next("gate-submit")
		p.waitFor(isWaiting)
		p.signal(syscall.SIGTERM)
		p.waitFor("the cancel was sent")
		<-time.After(100 * time.Millisecond) // by the clock that the process has too
		p.signal(syscall.SIGINT)
		p.want(143)
		f.next("gate-cancel")
	})
}

// kill -9 takes nothing along: the next step with the same id joins the gate, and a cancel from outside ends it.
func TestKilledStepIsJoined(t *testing.T) {
	overBoth(t, func(t *testing.T, f far) {
		first := start(t, f.queueURL(), runArgs()...)
		f.next("gate-submit")
		first.waitFor(isWaiting)
		first.signal(syscall.SIGKILL)
		_ = first.cmd.Wait() // it was killed
		second := start(t, f.queueURL(), runArgs()...)
		second.waitFor(isWaiting)
		start(t, f.queueURL(), "cancel", "--gate-id", "g", "--reason", "the rollout was cancelled").want(0)
		if c, err := gate.ParseCancel(f.next("gate-cancel")); err != nil || c.GateID != "g" {
			t.Errorf("cancel message %+v, %v", c, err)
		}
		f.answer(gate.Notice{Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Cancelled, Error: "cancelled"})
		second.want(1)
		f.wantEmpty("gate-submit")
		f.wantEmpty("gate-completion")
	})
}

func TestTwoStepsOnOneJobName(t *testing.T) {
	overBoth(t, func(t *testing.T, f far) {
		a := start(t, f.queueURL(), runArgs("--gate-id", "a", "--gate-promotion")...)
		b := start(t, f.queueURL(), runArgs("--gate-id", "b", "--gate-promotion")...)
		for range 2 {
			f.next("gate-submit")
		}
		a.waitFor(isWaiting)
		b.waitFor(isWaiting)
		f.answer(gate.Notice{Kind: gate.KindCompletion, GateID: "b", JobName: "job", Outcome: gate.Succeeded, Passed: true})
		b.want(0)
		f.answer(gate.Notice{Kind: gate.KindCompletion, GateID: "a", JobName: "job", Outcome: gate.Failed, Error: "no"})
		a.want(1)
		if strings.Contains(a.out.String(), "gate b") || strings.Contains(b.out.String(), "gate a") {
			t.Errorf("verdicts were taken for each other's: %q, %q", &a.out, &b.out)
		}
		f.wantEmpty("gate-completion")
	})
}

// Connections that are cut at any time cost time, and no message: one that was on its way to a step whose
// connection was cut comes again when its lock has expired, which is soon here.
func TestConnectionsThatAreCutAtEachStep(t *testing.T) {
	test := func(t *testing.T, f far) {
		d := openDoor(t, f.host())
		cut := func() { d.shut(); d.open() }
		p := start(t, f.at(d.listener.Addr().String()), runArgs("--cancel-grace", "40s")...)
		f.next("gate-submit")
		cut()
		p.waitFor(isWaiting)
		cut()
		f.answer(gate.Notice{Kind: gate.KindProgress, GateID: "g", Text: "job pending"})
		cut()
		p.waitFor("job pending")
		cut()
		p.signal(syscall.SIGTERM)
		cut()
		f.next("gate-cancel")
		cut()
		f.answer(gate.Notice{Kind: gate.KindCompletion, GateID: "g", JobName: "job", Outcome: gate.Cancelled, Error: "cancelled"})
		cut()
		p.want(143)
		if n := strings.Count(p.out.String(), "gate g did not pass: cancelled"); n != 1 {
			t.Errorf("%d verdicts: %s\n%s", n, &p.out, &p.err)
		}
	}
	t.Run("HTTP", func(t *testing.T) { test(t, newServiceLocking(t, 2*time.Second)) })
	t.Run("AMQP", func(t *testing.T) { test(t, newNamespace(t)) })
}
