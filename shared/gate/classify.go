package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prowgate/shared/fault"
)

const (
	// evidenceGrace is how long files that are missing, stubs, or do not load are looked for again.
	evidenceGrace = 10 * time.Minute
	evidenceEvery = 20 * time.Second
)

// classification is what a run's files say about an automatic retry.
type classification struct {
	retry  Retry
	reason string
	failed []string // names of failed tests, when known
	wait   bool     // the files may not be complete yet: look again while there is time
}

// evidenceRead classifies a failed run, or waits for files that may still come. What is not surely
// eligible is not eligible.
func (d *decision) evidenceRead(e Evidence) {
	r := &d.r
	if r.Phase != PhaseConcluding {
		return
	}
	c := classify(e, r.Gating.MaxEV2AutoRetryFailures)
	if until := r.EndSeenAt.Add(evidenceGrace); c.wait && d.now.Before(until) {
		d.trouble("evidence", "the job failed; waiting for its artifacts: "+c.reason)
		next := d.now.Add(evidenceEvery)
		if next.After(until) {
			next = until
		}
		d.endTurn(next)
		return
	}
	d.note("classify", "%s: %s", c.retry, c.reason)
	d.concludeAs(Notice{
		Outcome: Failed, Retry: c.retry, FailedTests: c.failed,
		Error: fmt.Sprintf("Prow job %s failed: %s", r.Gating.JobName, c.reason),
	})
}

// classify reads the files of a failed run. With wait set, the files may not be the last, and what holds
// is that the run is not eligible.
func classify(e Evidence, maxFailures int) classification {
	root, waiting, bad := readRoot(e)
	if bad != "" {
		return classification{retry: NotEligible, reason: bad, wait: waiting}
	}
	steps, waitSteps, bad := readSteps(e.Files[1:])
	if bad != "" {
		return classification{retry: NotEligible, reason: bad, wait: waitSteps}
	}
	if root.aborted() {
		return classification{retry: NotEligible, reason: RootFile + " says that the run was stopped", wait: true}
	}
	return judge(steps, maxFailures)
}

// readRoot returns the run's own file; bad says why nothing can be said of the run, wait whether that
// may change.
func readRoot(e Evidence) (root finished, wait bool, bad string) {
	if e.Failure != nil {
		return root, e.Failure.Kind != fault.Refused, "its artifacts cannot be listed: " + e.Failure.Text
	}
	if len(e.Files) == 0 || e.Files[0].Name != RootFile {
		return root, true, "it has no " + RootFile
	}
	root, wait, bad = readFile(e.Files[0])
	switch {
	case bad != "":
	case root.stub():
		return root, true, RootFile + " is only a stub"
	case !root.failed() && !root.aborted():
		return root, true, RootFile + " does not say that the run failed"
	case !e.RootListed:
		return root, true, "the listing of its artifacts does not show " + RootFile
	}
	return root, wait, bad
}

func readFile(f File) (parsed finished, wait bool, bad string) {
	switch {
	case f.Failure != nil:
		return parsed, f.Failure.Kind != fault.Refused, fmt.Sprintf("%s cannot be read: %s", f.Name, f.Failure.Text)
	case f.Missing:
		return parsed, true, f.Name + " is not there"
	}
	parsed, err := parseFinished(f.Body)
	if err != nil {
		return parsed, false, f.Name + " is " + err.Error()
	}
	return parsed, false, ""
}

// step is one test or step of a run.
type step struct {
	name string // "<test>" or "<test>/<step>"
	finished
}

// readSteps reads the files of all steps. Anything that cannot be read settles the matter, unless it
// may still load. A step that was stopped may upload its full file later.
func readSteps(files []File) (steps []step, wait bool, bad string) {
	for _, f := range files {
		parsed, mayCome, why := readFile(f)
		switch {
		case why != "" && !mayCome:
			return nil, false, why
		case why != "":
			wait, bad = true, why
		default:
			name := strings.TrimSuffix(strings.TrimPrefix(f.Name, "artifacts/"), "/"+RootFile)
			steps = append(steps, step{name, parsed})
			if parsed.aborted() || parsed.stub() {
				wait, bad = true, name+" was stopped, or left no file of its own"
			}
		}
	}
	return steps, wait, bad
}

// judge applies the rules to complete steps.
func judge(steps []step, maxFailures int) classification {
	failed, allowed, carried := map[string]bool{}, map[string]bool{}, false
	var failedSteps []string
	for _, s := range steps {
		f, hasFailed, err1 := s.names(keyFailedTests)
		a, _, err2 := s.names(keyAllowRetry)
		_, sidecarErrors := s.Metadata[keySidecarErrors]
		switch {
		case err1 != nil:
			return classification{retry: NotEligible, reason: s.name + ": " + err1.Error()}
		case err2 != nil:
			return classification{retry: NotEligible, reason: s.name + ": " + err2.Error()}
		case !hasFailed && s.otherEV2() != "":
			return classification{retry: NotEligible, reason: s.name + ": " + s.otherEV2() + " without " + keyFailedTests}
		case sidecarErrors && !hasFailed:
			return classification{retry: NotEligible, reason: s.name + ": its metadata did not parse"}
		}
		carried = carried || hasFailed
		add(failed, f)
		add(allowed, a)
		if s.failed() {
			failedSteps = append(failedSteps, s.name)
		}
	}
	if !carried {
		return classification{retry: InfraPreconditionEligible, reason: infraReason(failedSteps)}
	}
	return judgeTests(sorted(failed), allowed, maxFailures)
}

func infraReason(failedSteps []string) string {
	if len(failedSteps) == 0 {
		return "no test ran, and no step reported a failure"
	}
	return "no test ran; failed steps: " + shortList(failedSteps)
}

func judgeTests(failed []string, allowed map[string]bool, maxFailures int) classification {
	c := classification{retry: NotEligible, failed: failed}
	var unlabelled []string
	for _, name := range failed {
		if !allowed[name] {
			unlabelled = append(unlabelled, name)
		}
	}
	switch {
	case len(failed) == 0:
		c.reason = "the tests ran and none failed"
	case len(unlabelled) > 0:
		c.reason = fmt.Sprintf("%d tests failed, not labelled allow-retry: %s", len(failed), shortList(unlabelled))
	case len(failed) > maxFailures:
		c.reason = fmt.Sprintf("%d tests failed, all labelled allow-retry, but at most %d may: %s",
			len(failed), maxFailures, shortList(failed))
	default:
		c.retry = KnownIssueEligible
		c.reason = fmt.Sprintf("%d tests failed, all labelled allow-retry: %s", len(failed), shortList(failed))
	}
	return c
}

// shortList names at most ten.
func shortList(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func add(set map[string]bool, names []string) {
	for _, name := range names {
		set[name] = true
	}
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
