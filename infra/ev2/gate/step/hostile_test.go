package step_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

// A session is the gate's own. What comes through it and is not for this step must decide nothing, and must not
// stand in the way of what is.
func TestMessagesThatAreNotForThisStep(t *testing.T) {
	for name, body := range map[string]string{
		"another gate's":  `{"kind":"completion","gateId":"gate-2","outcome":"succeeded","passed":true}`,
		"no gate's":       `{"kind":"completion","outcome":"succeeded","passed":true}`,
		"almost the same": `{"kind":"completion","gateId":"Gate-1","outcome":"succeeded","passed":true}`,
		"unknown kind":    `{"kind":"Completion","gateId":"gate-1","outcome":"succeeded","passed":true}`,
		"no kind":         `{"gateId":"gate-1","outcome":"succeeded","passed":true}`,
		"null":            `null`,
		"list":            `[{"kind":"completion","gateId":"gate-1","outcome":"succeeded","passed":true}]`,
		"wrong type":      `{"kind":"completion","gateId":"gate-1","outcome":"succeeded","passed":"true"}`,
		"two values":      `{"kind":"completion","gateId":"gate-1","outcome":"succeeded","passed":true} {}`,
		"empty":           ``,
	} {
		t.Run(name, func(t *testing.T) {
			stage(t, func(b *bench) {
				b.start()
				b.post([]byte(body))
				b.pass(5 * time.Minute)
				b.notify(completion(gate.Failed, false, "the real one"))
				b.want(step.NotPassed)
				b.wantText(b.out, "the real one")
				b.wantActive(names.Completion+"/$deadletterqueue", 1)
				if n := strings.Count(b.err.String(), "\n"); n > 5 {
					t.Errorf("%d lines:\n%s", n, b.err)
				}
			})
		})
	}
}

// A timeout, a rejection, a failed submission and a cancellation never pass, nor does what is not known.
func TestCompletionThatContradictsItself(t *testing.T) {
	for _, outcome := range []gate.Outcome{gate.TimedOut, gate.Rejected, gate.SubmissionFailed, gate.Cancelled, "", "Succeeded", "new"} {
		stage(t, func(b *bench) {
			b.start()
			b.notify(completion(outcome, true, ""))
			code := step.NotPassed
			if outcome == gate.Rejected {
				code = step.Rejected
			}
			b.want(code)
			b.wantText(b.out, "did not pass")
		})
	}
}

// Copies, and messages that come in another order than they were sent, end the step once, with the verdict.
func TestCopiesAndOtherOrders(t *testing.T) {
	stage(t, func(b *bench) {
		late := gate.Notice{Kind: gate.KindProgress, GateID: gateID, Text: "job pending"}
		verdict := completion(gate.Succeeded, true, "")
		verdict.GateID = gateID
		for _, n := range []gate.Notice{late, late, verdict, verdict, late} {
			body, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			b.post(body)
		}
		b.start()
		b.want(step.Passed)
		if n := strings.Count(b.out.String(), "passed"); n != 1 {
			t.Errorf("%d verdicts:\n%s", n, b.out)
		}
		b.start() // a step that is run again gets the copy
		b.want(step.Passed)
	})
}

// Hostile texts in progress and verdict: one line a message, no control characters, bounded, no phrase.
func TestHostileTexts(t *testing.T) {
	phrases := []string{"failed to get token", "Failed to connect to MSI", "failed to establish a new connection"}
	text := "\x1b[2J\x1b]0;owned\x07\r\n\u009b31m" + strings.ToUpper(gate.Marker(gate.InfraPreconditionEligible)) + "\nFAILED TO GET\ttoken " +
		strings.Join(phrases, "\r") + strings.Repeat("A", 30_000)
	stage(t, func(b *bench) {
		b.start()
		b.notify(gate.Notice{Kind: gate.KindProgress, JobURL: text, Text: text, State: text})
		b.pass(6 * time.Minute) // a sign of life repeats it
		n := completion(gate.Failed, false, text)
		n.JobName, n.FailedTests, n.Abort = text, []string{text, text}, &gate.AbortReport{Outcome: "odd" + gate.AbortOutcome(text), Reason: text}
		b.notify(n)
		b.want(step.NotPassed)
		all := b.out.String() + b.err.String()
		if len(all) > 64_000 {
			t.Errorf("%d bytes of output", len(all))
		}
		if strings.ContainsAny(all, "\x1b\x07\r\u009b") || gate.HasMarker(all) {
			t.Errorf("control characters or a marker:\n%q", all)
		}
		for _, p := range phrases {
			if strings.Contains(strings.ToLower(all), strings.ToLower(p)) {
				t.Errorf("the output says %q", p)
			}
		}
	})
}
