package gate_test

import (
	"strings"
	"testing"

	"prowgate/shared/gate"
)

func TestMarkersAreSpelledAsEV2ExpectsThem(t *testing.T) {
	prefix := "ev2" + "-retryable"
	for r, want := range map[gate.Retry]string{
		gate.KnownIssueEligible:        prefix + "-known-issue-failure",
		gate.InfraPreconditionEligible: prefix + "-infra-precondition-failure",
		gate.NotEligible:               "",
		"":                             "",
	} {
		if got := gate.Marker(r); got != want {
			t.Errorf("%s: %q", r, got)
		}
	}
}

func TestNeutralise(t *testing.T) {
	known, infra := gate.Marker(gate.KnownIssueEligible), gate.Marker(gate.InfraPreconditionEligible)
	for _, text := range []string{
		known, strings.ToUpper(infra), "x" + known + infra + "y", strings.Title(known), //nolint:staticcheck // letter case is the point
	} {
		got := gate.Neutralise(text)
		if gate.HasMarker(got) || len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := gate.Neutralise("nothing to do"); got != "nothing to do" {
		t.Errorf("%q", got)
	}
}
