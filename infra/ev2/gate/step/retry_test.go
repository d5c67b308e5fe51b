package step_test

import (
	"strings"
	"syscall"
	"testing"

	"prowgate/infra/ev2/gate/step"
	"prowgate/shared/gate"
)

// mayRetry makes the step one whose failure EV2 may retry.
func (b *bench) mayRetry() {
	b.request.Gating.GatePromotion, b.request.Gating.AllowEV2Retry = true, true
}

// eligible is the verdict of a gate whose own flags allow a retry.
func eligible() gate.Notice {
	marker := gate.Marker(gate.KnownIssueEligible)
	n := completion(gate.Failed, false, marker+": one test failed")
	n.Retry, n.Marker = gate.KnownIssueEligible, marker
	return n
}

// A marker is for the step whose own flags ask for the retry, and not for one whose rollout was cancelled.
func TestMarkerIsForAStepThatMayBeRetried(t *testing.T) {
	for name, c := range map[string]struct {
		promotes, retries, signalled bool
		code, markers                int
	}{
		"as submitted":      {true, true, false, step.NotPassed, 2},
		"joined without":    {true, false, false, step.NotPassed, 0},
		"joined, not gated": {false, true, false, step.NotPassed, 0},
		"signalled":         {true, true, true, terminated, 0},
	} {
		for _, asJSON := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				stage(t, func(b *bench) {
					b.request.Gating.GatePromotion, b.request.Gating.AllowEV2Retry, b.step.JSON = c.promotes, c.retries, asJSON
					b.start()
					if c.signalled {
						b.kill(syscall.SIGTERM)
					}
					b.notify(eligible())
					b.want(c.code)
					want := c.markers
					if want > 0 && !asJSON {
						want = 1
					}
					all := b.out.String() + b.err.String()
					if got := strings.Count(all, gate.Marker(gate.KnownIssueEligible)); got != want || want == 0 && gate.HasMarker(all) {
						t.Errorf("json %t: %d markers, want %d:\n%s", asJSON, got, want, all)
					}
					b.wantText(b.out, "one test failed")
					if asJSON && want == 0 {
						b.wantText(b.out, `"error":"one test failed","retry":"not-eligible"`)
					}
				})
			})
		}
	}
}
