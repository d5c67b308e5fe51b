package console_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue/servicebus"
)

var eligible = []gate.Retry{gate.KnownIssueEligible, gate.InfraPreconditionEligible}

func at() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) }

func verdict(t *testing.T, n gate.Notice, asJSON bool) string {
	t.Helper()
	var out, err bytes.Buffer
	c := console.New(&out, &err, at)
	if e := c.Verdict(n, asJSON); e != nil {
		t.Fatal(e)
	}
	if err.Len() != 0 {
		t.Errorf("the verdict wrote to stderr: %s", &err)
	}
	return out.String()
}

func failed(retry gate.Retry, text string) gate.Notice {
	return gate.Notice{
		Kind: gate.KindCompletion, GateID: "gate-1", JobName: "job", Region: "uksouth", State: "failure",
		JobURL: "https://prow/view/1", Outcome: gate.Failed, Retry: retry, Error: text, FailedTests: []string{"a", "b"},
	}
}

func TestEligibleVerdictPrintsTheMarkerOnce(t *testing.T) {
	for _, retry := range eligible {
		marker := gate.Marker(retry)
		n := failed(retry, marker+": Prow job failed\nsee "+strings.ToUpper(marker))
		n.Marker = marker
		want := "gate gate-1 did not pass: failed; job job in uksouth, state failure, https://prow/view/1\n" +
			marker + ": Prow job failed\nsee EV2_RETRYABLE" + strings.ToUpper(strings.TrimPrefix(marker, "ev2-"+"retryable")) + "\n" +
			"failed test: a\nfailed test: b\n"
		if diff := cmp.Diff(want, verdict(t, n, false)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", retry, diff)
		}
	}
}

func TestEligibleVerdictAsJSON(t *testing.T) {
	for _, retry := range eligible {
		marker := gate.Marker(retry)
		n := failed(retry, marker+": <job> & failed")
		n.Marker = marker
		n.Abort = &gate.AbortReport{Outcome: gate.AbortDone, Reason: "asked"}
		out := verdict(t, n, true)
		var got gate.Notice
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(n, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", retry, diff)
		}
		if strings.Count(out, "\n") != 1 || strings.Count(out, marker) != 2 {
			t.Errorf("not one line with the marker in two fields: %s", out)
		}
	}
}

// stuffed returns a notice that carries text in every field.
func stuffed(retry gate.Retry, text string) gate.Notice {
	return gate.Notice{
		Kind: gate.Kind(text), GateID: text, JobName: text, Region: text, ExecutionID: text, JobURL: text,
		State: text, Text: text, Outcome: gate.Outcome(text), Error: text, Retry: retry, Marker: text,
		FailedTests: []string{text}, Abort: &gate.AbortReport{Outcome: gate.AbortOutcome(text), Reason: text},
	}
}

func TestNoMarkerFromAnyOtherField(t *testing.T) {
	known, infra := gate.Marker(gate.KnownIssueEligible), gate.Marker(gate.InfraPreconditionEligible)
	for _, asJSON := range []bool{false, true} {
		for _, text := range []string{known, strings.ToUpper(infra), "x " + infra + ": y", known + ": y"} {
			for _, retry := range []gate.Retry{gate.NotEligible, "", gate.Retry(text), "known-issue"} {
				if out := verdict(t, stuffed(retry, text), asJSON); gate.HasMarker(out) {
					t.Errorf("retry %q, json %v: %s", retry, asJSON, out)
				}
			}
		}
		// The other classification's marker is none of its own.
		n := stuffed(gate.KnownIssueEligible, infra+": y")
		if out := verdict(t, n, asJSON); gate.HasMarker(out) {
			t.Errorf("json %v: %s", asJSON, out)
		}
	}
}

func TestMarkerThatIsNotAtTheBeginningIsNoMarker(t *testing.T) {
	marker := gate.Marker(gate.KnownIssueEligible)
	for _, text := range []string{"a " + marker + ": b", marker, strings.ToUpper(marker) + ": b"} {
		if out := verdict(t, failed(gate.KnownIssueEligible, text), false); gate.HasMarker(out) {
			t.Errorf("%q: %s", text, out)
		}
	}
}

func TestVerdictTexts(t *testing.T) {
	n := gate.Notice{GateID: "gate-1", JobName: "job", Outcome: gate.Succeeded, Passed: true, Retry: gate.NotEligible}
	if got, want := verdict(t, n, false), "gate gate-1 passed: succeeded; job job\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The service ends the error of a cancelled gate with what the abort line says.
func TestAbortIsSaidOnce(t *testing.T) {
	for _, c := range []struct {
		text  string
		abort gate.AbortReport
		want  string
	}{
		{
			"cancelled; abort skipped: a sibling\n",
			gate.AbortReport{Outcome: gate.AbortSkipped, Reason: "a sibling"},
			"cancelled\nabort: the job was left running, it could not be aborted safely: a sibling\n",
		},
		{
			"cancelled (by hand); abort aborted: seen to be",
			gate.AbortReport{Outcome: gate.AbortDone, Reason: "seen to be"},
			"cancelled (by hand)\nabort: the job was aborted\n",
		},
		{
			"cancelled; abort skipped: another",
			gate.AbortReport{Outcome: gate.AbortDisabled, Reason: "off"},
			"cancelled; abort skipped: another\nabort: the job was left running, abortOnCancel is false\n",
		},
	} {
		n := gate.Notice{GateID: "gate-1", JobName: "job", Outcome: gate.Cancelled, Error: c.text, Abort: &c.abort}
		if got, want := verdict(t, n, false), "gate gate-1 did not pass: cancelled; job job\n"+c.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestManyFailedTestsAreCut(t *testing.T) {
	n := failed(gate.NotEligible, "no")
	n.FailedTests = make([]string, 53)
	out := verdict(t, n, false)
	if strings.Count(out, "failed test: ") != 50 || !strings.Contains(out, "failed tests: 3 more\n") {
		t.Error(out)
	}
}

func TestText(t *testing.T) {
	marker := gate.Marker(gate.KnownIssueEligible)
	for in, want := range map[string]string{
		"plain\n\ttext":                          "plain\n\ttext",
		"\x1b[31mred\r\x00":                      " [31mred  ",
		"failed \u200bto get\u00ad token":        "failed_to get token",
		marker[:5] + "\u200b" + marker[5:14]:     "ev2_" + marker[4:14],
		"a\u202eb\u2066c\ufeffd":                 "abcd",
		"bad \xff utf-8":                         "bad ? utf-8",
		"FAILED to get Token":                    "FAILED_to get Token",
		"x failed to establish a new connection": "x failed_to establish a new connection",
		"Failed to connect to MSI":               "Failed_to connect to MSI",
		marker[:14]:                              "ev2_" + marker[4:14],
	} {
		if got := console.Text(in); !strings.HasPrefix(got, want) || gate.HasMarker(got) {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFailedSaysWhatEV2RetriesOnlyWithoutAToken(t *testing.T) {
	const phrase = "failed to get token"
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("send: %w", servicebus.ErrToken), "09:00:00Z " + phrase + ": the step may be repeated\n"},
		{errors.New(phrase), ""},
		{&fault.Error{Kind: fault.NothingHappened, Text: phrase}, ""},
	} {
		var out, err bytes.Buffer
		l := console.New(&out, &err, at)
		l.Failed(c.err)
		if err.String() != c.want || out.Len() != 0 {
			t.Errorf("%v: stderr %q, stdout %q", c.err, &err, &out)
		}
		err.Reset()
		l.Say("%v", c.err)
		if strings.Contains(err.String(), phrase) {
			t.Errorf("said of %v: %s", c.err, &err)
		}
	}
}

func TestLineCannotJoinHalvesIntoAPhrase(t *testing.T) {
	if got, want := console.Line("failed to\nget\x00 token "), "failed_to get token"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriterSeesWholeLines(t *testing.T) {
	var out bytes.Buffer
	w := console.NewWriter(&out)
	marker := gate.Marker(gate.InfraPreconditionEligible)
	for _, r := range "one " + marker + "\nfailed to get token" {
		if _, err := w.Write([]byte(string(r))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "one ev2_" + marker[len("ev2-"):] + "\nfailed_to get token"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
}

func TestSay(t *testing.T) {
	var out, err bytes.Buffer
	console.New(&out, &err, at).Say("state %s", "a\nb "+gate.Marker(gate.KnownIssueEligible))
	if got := err.String(); !strings.HasPrefix(got, "09:00:00Z state a b ev2_") || strings.Count(got, "\n") != 1 || out.Len() != 0 {
		t.Errorf("stderr %q, stdout %q", got, &out)
	}
}
