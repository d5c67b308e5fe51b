package console_test

import (
	"strings"
	"testing"
	"unicode"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/gate"
)

// phrases are the texts for which EV2 retries by default.
func phrases() []string {
	return []string{"failed to establish a new connection", "failed to get token", "failed to connect to msi"}
}

// harmful says why a text must not be printed, empty when it may.
func harmful(text string) string {
	if gate.HasMarker(text) {
		return "a marker"
	}
	for _, p := range phrases() {
		if strings.Contains(strings.ToLower(text), p) {
			return p
		}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) {
		return "a control character"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
		return "a character that is not seen"
	}
	return ""
}

// Whatever stands in whatever field, alone or with what stands beside it, a verdict says nothing that EV2 or a
// terminal acts on.
func FuzzVerdict(f *testing.F) {
	marker := gate.Marker(gate.KnownIssueEligible)
	for _, s := range []string{
		"", "plain", marker, strings.ToUpper(marker) + ": x", "failed to get", "token", "failed to\nget token", "failed to get\x00token",
		"failed to connect to m\u017fi", "\x1b[31m", "\u009b", "\xff\xfe", marker[:8] + "\u200b" + marker[8:], "\t\r\n", `\u0065v2`,
	} {
		f.Add(s, "token")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		for _, asJSON := range []bool{false, true} {
			n := stuffed(gate.NotEligible, text)
			n.JobURL, n.Region, n.FailedTests = other, other, []string{text, other}
			if why := harmful(verdict(t, n, asJSON)); why != "" {
				t.Errorf("json %v: %s", asJSON, why)
			}
		}
		if why := harmful(console.Line(text + other)); why != "" {
			t.Errorf("line: %s", why)
		}
	})
}

// Only a job that failed, and whose failure fails the step, is one that EV2 may retry.
func TestMarkerOfAnotherOutcome(t *testing.T) {
	marker := gate.Marker(gate.KnownIssueEligible)
	for _, outcome := range []gate.Outcome{gate.Succeeded, gate.Errored, gate.Cancelled, gate.TimedOut, gate.Rejected, ""} {
		n := failed(gate.KnownIssueEligible, marker+": x")
		n.Marker, n.Outcome = marker, outcome
		if out := verdict(t, n, true); gate.HasMarker(out) {
			t.Errorf("%s: %s", outcome, out)
		}
	}
	n := failed(gate.KnownIssueEligible, marker+": x")
	n.Passed = true
	if out := verdict(t, n, false); gate.HasMarker(out) {
		t.Error(out)
	}
}

func TestHugeTextsAreCut(t *testing.T) {
	huge := strings.Repeat("\u00e9", 200_000)
	n := stuffed(gate.NotEligible, huge)
	for _, asJSON := range []bool{false, true} {
		if out := verdict(t, n, asJSON); len(out) > 64<<10 || strings.Contains(out, "\ufffd") {
			t.Errorf("json %v: %d bytes", asJSON, len(out))
		}
	}
}
