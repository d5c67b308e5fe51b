package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Bounds of what a completion carries, so that it stays far below the queue's 256 KB.
const (
	maxText        = 8 << 10
	maxProblem     = 500
	maxReason      = 1 << 10
	maxFailedTests = 200
	maxNames       = 64 << 10 // of all of them together, encoded
	maxTestName    = 300
)

// conclude stores the one verdict of the gate and sends it. Text is what the step prints.
func (d *decision) conclude(outcome Outcome, text string) {
	d.concludeAs(Notice{Outcome: outcome, Error: text, Retry: NotEligible})
}

func (d *decision) concludeCancelled(outcome AbortOutcome, reason string) {
	d.r.Abort.Outcome, d.r.Abort.Reason = outcome, reason
	text := "the rollout was cancelled"
	if why := d.r.Cancel.Reason; why != "" {
		text += " (" + why + ")"
	}
	d.conclude(Cancelled, text+"; abort "+string(outcome)+": "+reason)
}

// concludeAs completes a verdict with what the record knows. Nothing changes a verdict once it is set.
func (d *decision) concludeAs(v Notice) {
	r := &d.r
	if r.Verdict != nil {
		return
	}
	v.Passed = passes(v.Outcome, r.Gating.GatePromotion)
	switch {
	case !badResult(v.Outcome):
	case v.Passed:
		v.Error += "; the step passes, because gatePromotion is off"
		fallthrough
	default:
		v.Error += withURL(r.JobURL)
	}
	v.Kind, v.SentAt = KindCompletion, d.now
	d.fill(&v)
	r.Phase, r.Verdict = PhaseDone, &v
	r.Claim, r.Look = nil, nil
	d.note("completion", "%s: %s", v.Outcome, clip(v.Error, 300))
	d.sendVerdict()
	d.learn(v.Outcome)
}

func withURL(url string) string {
	if url == "" {
		return ""
	}
	return ": " + url
}

// badResult reports whether an outcome is a job's own bad result, which passes when it does not gate.
func badResult(o Outcome) bool { return o == Failed || o == Errored || o == Aborted }

// passes gives the verdict: a bad job result passes when it does not gate; a time-out, a rejection, a
// failed submission and a cancellation never do.
func passes(o Outcome, gatePromotion bool) bool {
	return o == Succeeded || o == DryRun || badResult(o) && !gatePromotion
}

// sendVerdict sends the stored verdict unless it is known to have been sent.
func (d *decision) sendVerdict() {
	if d.r.Verdict == nil || d.r.Sent {
		return
	}
	d.do(SendCompletion{MessageID: d.r.MessageStem() + ".completion", Notice: completion(*d.r.Verdict)})
}

// CompletionOf returns a gate's completion as it leaves; ok is false while there is no verdict.
func CompletionOf(r Record) (n Notice, ok bool) {
	if r.Verdict == nil {
		return Notice{}, false
	}
	return completion(*r.Verdict), true
}

// completion returns a verdict as it leaves: with its marker when it is eligible. It is the only place
// that writes one.
func completion(v Notice) Notice {
	if m := Marker(v.Retry); m != "" {
		v.Marker, v.Error = m, m+": "+v.Error
	}
	return v
}

// progress sends a progress message with the given line.
func (d *decision) progress(text string) {
	d.r.ProgressSent++
	d.progressAs(fmt.Sprintf("%s.progress.%d", d.r.MessageStem(), d.r.ProgressSent), text)
}

func (d *decision) progressAs(messageID, text string) {
	n := Notice{Kind: KindProgress, Text: text, SentAt: d.now}
	d.fill(&n)
	d.do(SendProgress{MessageID: messageID, Notice: n})
}

// fill adds the identity and the times, and neutralises every text that comes from elsewhere.
func (d *decision) fill(n *Notice) {
	r := &d.r
	n.GateID, n.JobName, n.Region = r.GateID, r.Gating.JobName, r.Gating.Region
	n.ExecutionID, n.JobURL, n.State = r.ExecutionID, r.JobURL, string(r.State)
	n.Abort = r.abortReport()
	n.SubmittedAt, n.StartedAt, n.CompletedAt = given(r.SubmittedAt), given(r.StartedAt), given(r.CompletedAt)
	n.Text, n.Error = clip(n.Text, maxText), clip(n.Error, maxText)
	n.FailedTests = bounded(n.FailedTests)
	n.neutralise()
}

func (n *Notice) neutralise() {
	for _, text := range []*string{&n.JobName, &n.Region, &n.ExecutionID, &n.JobURL, &n.State, &n.Text, &n.Error} {
		*text = Neutralise(*text)
	}
	for i := range n.FailedTests {
		n.FailedTests[i] = Neutralise(n.FailedTests[i])
	}
}

// listed joins problems; what would not fit into a message is counted.
func listed(problems []string) string {
	var b strings.Builder
	for i, p := range problems {
		p = clip(p, maxProblem)
		if b.Len()+len(p) > maxText-maxProblem {
			fmt.Fprintf(&b, "; and %d more problems", len(problems)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p)
	}
	return b.String()
}

func bounded(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	kept, size := make([]string, 0, min(len(names), maxFailedTests+1)), 0
	for i, name := range names {
		name = clip(name, maxTestName)
		encoded, _ := json.Marshal(name) // a text always encodes; some characters take six bytes
		if size += len(encoded); i == maxFailedTests || size > maxNames {
			return append(kept, fmt.Sprintf("and %d more", len(names)-i))
		}
		kept = append(kept, name)
	}
	return kept
}

func (r *Record) abortReport() *AbortReport {
	if r.Abort.Outcome == "" {
		return nil
	}
	return &AbortReport{Outcome: r.Abort.Outcome, Reason: Neutralise(clip(r.Abort.Reason, maxReason))}
}

func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}
