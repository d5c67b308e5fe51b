package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"prowgate/shared/gate"
)

// maxListed is how many failed tests the text form names.
const maxListed = 50

// Verdict writes a completion to stdout, as text or as one line of JSON, in one piece. It is the only
// thing in the program that can print an EV2 marker.
func (c *Console) Verdict(n gate.Notice, asJSON bool) error {
	n = cleaned(n)
	form := verdictText
	if asJSON {
		form = verdictJSON
	}
	text, err := form(n)
	if err != nil {
		return fmt.Errorf("encode the completion: %w", err)
	}
	if _, err := io.WriteString(c.stdout, text); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	return nil
}

// markerOf returns the marker that n may print: only a job that failed can be eligible.
func markerOf(n gate.Notice) string {
	if n.Outcome != gate.Failed || n.Passed {
		return ""
	}
	return gate.Marker(n.Retry)
}

// NotEligible returns n without its classification for a retry, and without the marker that goes with it.
func NotEligible(n gate.Notice) gate.Notice {
	if marker := markerOf(n); marker != "" {
		n.Error = strings.TrimPrefix(n.Error, marker+": ")
	}
	n.Retry, n.Marker = gate.NotEligible, ""
	return n
}

// cleaned returns n with every text made harmless. Only the marker of n's own classification stays,
// in the marker field and at the beginning of the error.
func cleaned(n gate.Notice) gate.Notice {
	marker := markerOf(n)
	n.Error = cleanError(n.Error, marker)
	if n.Marker != marker {
		n.Marker = word(n.Marker)
	}
	for _, s := range []*string{
		&n.GateID, &n.JobName, &n.Region, &n.ExecutionID, &n.JobURL, &n.State, &n.Text,
		(*string)(&n.Kind), (*string)(&n.Outcome), (*string)(&n.Retry),
	} {
		*s = word(*s)
	}
	tests := make([]string, 0, len(n.FailedTests))
	for _, name := range n.FailedTests {
		tests = append(tests, word(name))
	}
	n.FailedTests = tests
	if n.Abort != nil {
		n.Abort = &gate.AbortReport{
			Outcome: gate.AbortOutcome(word(string(n.Abort.Outcome))),
			Reason:  Line(n.Abort.Reason),
		}
	}
	return n
}

func cleanError(text, marker string) string {
	if rest, ok := strings.CutPrefix(text, marker+": "); ok && marker != "" {
		return marker + ": " + clip(Text(rest), maxError)
	}
	return clip(Text(text), maxError)
}

func verdictJSON(n gate.Notice) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(n)
	return b.String(), err
}

func verdictText(n gate.Notice) (string, error) {
	var b strings.Builder
	b.WriteString(headline(n) + "\n")
	if text := withoutAbort(n); text != "" {
		b.WriteString(text + "\n")
	}
	b.WriteString(failedTests(n.FailedTests))
	if n.Abort != nil {
		b.WriteString("abort: " + AbortText(*n.Abort) + "\n")
	}
	return b.String(), nil
}

// withoutAbort is the error without the end in which the service says of the abort what the text form
// says in a line of its own.
func withoutAbort(n gate.Notice) string {
	text := strings.TrimRight(n.Error, "\n")
	if n.Abort != nil {
		text = strings.TrimSuffix(text, fmt.Sprintf("; abort %s: %s", n.Abort.Outcome, n.Abort.Reason))
	}
	return text
}

func headline(n gate.Notice) string {
	verdict := "did not pass"
	if n.Passed {
		verdict = "passed"
	}
	line := fmt.Sprintf("gate %s %s: %s; job %s", n.GateID, verdict, n.Outcome, n.JobName)
	if n.Region != "" {
		line += " in " + n.Region
	}
	if n.State != "" {
		line += ", state " + n.State
	}
	if n.JobURL != "" {
		line += ", " + n.JobURL
	}
	return line
}

func failedTests(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i == maxListed {
			fmt.Fprintf(&b, "failed tests: %d more\n", len(names)-maxListed)
			break
		}
		b.WriteString("failed test: " + name + "\n")
	}
	return b.String()
}

// AbortText says what became of a job whose gate was cancelled. Where the outcome says all, the reason
// would only repeat it.
func AbortText(a gate.AbortReport) string {
	text, known := map[gate.AbortOutcome]string{
		gate.AbortDone:      "the job was aborted",
		gate.AbortNotNeeded: "no abort was needed",
		gate.AbortSkipped:   "the job was left running, it could not be aborted safely",
		gate.AbortFailed:    "the job may still be running, the abort failed",
		gate.AbortDisabled:  "the job was left running, abortOnCancel is false",
	}[a.Outcome]
	if !known {
		text = string(a.Outcome)
	}
	if a.Reason != "" && a.Outcome != gate.AbortDone && a.Outcome != gate.AbortDisabled {
		text += ": " + a.Reason
	}
	return Line(text)
}
