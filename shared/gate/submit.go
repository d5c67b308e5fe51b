package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"prowgate/shared/fault"
)

const (
	// ClaimFor is how long a claim holds: longer than the time until the POST has to begin, the POST's
	// own deadline (30 s) and the difference between the clocks of two instances together, so that no
	// second POST starts while the first may still be under way.
	ClaimFor = 90 * time.Second

	// beginFor is how long after the claim the POST may begin; a process that was held up for longer
	// leaves it.
	beginFor = 20 * time.Second

	// SubmitFor is how long submissions that surely did not happen, or whose result cannot be found
	// out, are tried again in all.
	SubmitFor = 65 * time.Minute

	// proofAge is how long after the end of a POST of unclear result a listing must have been made to
	// prove that there is no job: Deck's list is up to 30 s old (prow, pkg/deck/jobs), with a margin.
	proofAge = 45 * time.Second

	// clockTolerance is how far Deck's clock may be behind ours.
	clockTolerance = 15 * time.Second

	// emptyProofAge is the same for a list without a single job: Deck shows none, too, for a while after
	// a restart, or after its own listing has failed.
	emptyProofAge = 3 * time.Minute

	lookEvery   = 15 * time.Second
	firstLook   = 15 * time.Second // between the submission and the first status
	backoffBase = 10 * time.Second
	backoffMost = 5 * time.Minute
)

func (d *decision) accepted(e Accepted) {
	r, g := &d.r, e.Gating
	if r.Phase != PhaseNone {
		d.resend()
		return
	}
	r.Gating, r.GateID, r.Phase = g, g.GateID, PhaseAccepted
	d.note("accepted", "%s in %s", g.JobName, g.Region)
	d.takeOver()
	switch {
	case g.DryRun && r.Cancel == nil:
		d.conclude(DryRun, e.dryRunText())
	case g.ExecutionID != "" && !g.DryRun:
		d.adopt()
	case r.Cancel != nil:
		d.concludeCancelled(AbortNotNeeded, "cancelled before the submission: no job was made")
	default:
		d.work()
	}
}

// adopt monitors a job that is there already, and aborts it if the gate was cancelled before.
func (d *decision) adopt() {
	r := &d.r
	r.Phase, r.ExecutionID, r.SubmittedAt = PhaseRunning, r.Gating.ExecutionID, d.now
	d.note("adopted", "execution %s", r.ExecutionID)
	d.progress("monitoring execution " + r.ExecutionID)
	if r.Cancel != nil {
		d.cancelRunning()
		return
	}
	d.do(Recall{JobName: r.Gating.JobName})
	d.work()
}

func (e Accepted) dryRunText() string {
	g := e.Gating
	if g.ExecutionID != "" {
		return "dry run: the message is valid; execution " + g.ExecutionID + " would be monitored"
	}
	s := g.Submission(e.Exclusive)
	body, err := json.Marshal(s)
	if err != nil {
		return "dry run: " + err.Error()
	}
	return fmt.Sprintf("dry run: the message is valid; would submit %s job %s: %s",
		strings.ToUpper(string(s.Type)), s.JobName, body)
}

func (d *decision) rejected(rej Rejection) {
	r := &d.r
	if r.Phase != PhaseNone {
		d.resend()
		return
	}
	r.GateID, r.Phase = rej.GateID, PhaseAccepted
	r.Gating = Gating{GateID: rej.GateID, JobName: Neutralise(rej.JobName), Region: Neutralise(rej.Region)}
	d.conclude(Rejected, "the gating message was rejected: "+listed(rej.Problems))
}

// turnTaken claims the POST when its turn has come.
func (d *decision) turnTaken(e TurnTaken) {
	if e.Abort != nil {
		d.abortTurnTaken(*e.Abort, e)
		return
	}
	r := &d.r
	if r.Phase != PhaseAccepted {
		return
	}
	if !e.Granted {
		d.trouble("turn", fmt.Sprintf("waiting for its turn at Gangway until %s", clock(e.At)))
		d.endTurn(e.At)
		return
	}
	r.Attempts++
	r.Phase = PhaseSubmitting
	r.Claim = &Claim{Number: r.Attempts, Until: d.now.Add(ClaimFor)}
	d.do(Submit{Claim: r.Attempts, Before: d.now.Add(beginFor), Gating: r.Gating})
}

// workSubmitting waits for a claim to end, and then looks for what became of the POST.
func (d *decision) workSubmitting() {
	r := &d.r
	if r.Claim != nil {
		if d.now.Before(r.Claim.Until) {
			d.endTurn(r.Claim.Until)
			return
		}
		d.note("unclear", "nothing was heard of submission %d", r.Claim.Number)
		d.failing()
		r.Look, r.Claim = &Look{Ended: r.Claim.Until}, nil
	}
	d.do(FindJob{Turn: r.Turn.Seq, GateID: r.GateID})
}

// submitted counts in any turn and any phase: an execution id must not be lost.
func (d *decision) submitted(e Submitted) {
	r := &d.r
	switch {
	case r.ExecutionID != "":
		if r.ExecutionID != e.ExecutionID {
			d.note("second job", "submission %d was answered late with execution %s", e.Claim, e.ExecutionID)
		}
	case r.Phase == PhaseDone:
		d.lateJob(e.ExecutionID)
	default:
		d.running(e.ExecutionID, d.now)
	}
}

// running takes over the job that was made for this gate.
func (d *decision) running(executionID string, submittedAt time.Time) {
	r := &d.r
	r.Phase, r.ExecutionID, r.SubmittedAt = PhaseRunning, executionID, submittedAt.UTC()
	r.Claim, r.Look, r.Trouble, r.FailingSince, r.Backoffs = nil, nil, "", time.Time{}, 0
	d.note("submitted", "execution %s", executionID)
	d.progress("submitted as execution " + executionID)
	if r.Cancel != nil {
		d.takeOver()
		d.cancelRunning()
		return
	}
	d.endTurn(d.nextPoll(firstLook))
	d.do(Recall{JobName: r.Gating.JobName})
}

// lateJob handles a job that was made although the gate had been closed without one: it belongs to
// this gate, nobody waits for it, so that it is aborted as on a cancellation. The verdict stays.
func (d *decision) lateJob(executionID string) {
	r := &d.r
	r.ExecutionID, r.SubmittedAt = executionID, d.now
	d.note("late job", "execution %s was made after the gate had been closed", executionID)
	if r.Gating.AbortOnCancel {
		d.wantAbort()
		d.takeOver()
		d.work()
	}
}

func (d *decision) submitFailed(e SubmitFailed) {
	r := &d.r
	if r.Phase != PhaseSubmitting || r.Claim == nil || r.Claim.Number != e.Claim {
		return
	}
	r.Claim = nil
	d.note("submission", "%s: %s", e.Failure.Kind, e.Failure.Text)
	switch e.Failure.Kind {
	case fault.NothingHappened:
		d.submitNotDone(e.Failure)
	case fault.Refused:
		d.noJob(SubmissionFailed, "Gangway refused the submission: "+e.Failure.Text)
	default:
		d.failing()
		r.Look = &Look{Ended: d.now}
		d.takeOver()
		d.work()
	}
}

// noJob ends a gate for which there surely is no job.
func (d *decision) noJob(outcome Outcome, text string) {
	if d.r.Cancel != nil {
		d.concludeCancelled(AbortNotNeeded, "no job was made")
		return
	}
	d.conclude(outcome, text)
}

// failing remembers since when submissions have not succeeded.
func (d *decision) failing() {
	if d.r.FailingSince.IsZero() {
		d.r.FailingSince = d.now
	}
}

// submitBy is when a submission that does not succeed is given up.
func (d *decision) submitBy() time.Time { return d.r.FailingSince.Add(SubmitFor) }

// submitNotDone tries again after a wait, the last time when the time for it is over.
func (d *decision) submitNotDone(f Failure) {
	r := &d.r
	d.failing()
	r.Phase = PhaseAccepted
	r.Backoffs++
	wait := max(f.RetryAfter, d.jitter(min(backoffBase<<min(r.Backoffs-1, 10), backoffMost), r.Backoffs))
	next := earlierOf(d.now.Add(wait), d.submitBy())
	if r.Cancel != nil || !d.now.Before(d.submitBy()) {
		d.noJob(SubmissionFailed, fmt.Sprintf("no submission got through since %s: %s", clock(r.FailingSince), f.Text))
		return
	}
	d.trouble("submission", fmt.Sprintf("Gangway cannot be reached (%s); trying again at %s", f.Text, clock(next)))
	d.endTurn(next)
}

// looked decides on a listing after a POST of unclear result: a job of ours is adopted; that there is
// none is believed only when the listing is old enough, by Deck's clock and by ours.
func (d *decision) looked(e Looked) {
	r := &d.r
	if r.Phase != PhaseSubmitting || r.Look == nil {
		return
	}
	for _, j := range e.Listing.Jobs {
		if j.Labels[KeyGateID] == r.GateID {
			d.note("found", "the job of an unclear submission")
			d.running(j.ID, earlierOf(d.now, laterOf(j.StartTime, r.CreatedAt)))
			return
		}
	}
	if d.provesNone(e) {
		d.noJobMade()
		return
	}
	if d.now.After(d.submitBy()) {
		d.noClearAnswer(e.Failure)
		return
	}
	d.trouble("look", "it is not clear whether the submission made a job; looking for it")
	d.endTurn(d.now.Add(lookEvery))
}

// noJobMade submits again, unless the gate was cancelled meanwhile.
func (d *decision) noJobMade() {
	if d.r.Cancel != nil {
		d.concludeCancelled(AbortNotNeeded, "no job was made")
		return
	}
	if d.now.After(d.submitBy()) {
		d.conclude(SubmissionFailed, fmt.Sprintf("no submission has made a job since %s: Gangway gave no clear answer", clock(d.r.FailingSince)))
		return
	}
	d.note("look", "no job was made; submitting again")
	d.r.Look, d.r.Phase = nil, PhaseAccepted
	d.work()
}

func (d *decision) provesNone(e Looked) bool {
	look := d.r.Look
	if e.Failure != nil || e.Listing.At.IsZero() {
		return false
	}
	if look.Since.IsZero() { // an answer out of a cache may be older than the POST, and says so
		look.Since = laterOf(e.Listing.At.UTC(), look.Ended.Add(-clockTolerance))
	}
	age := proofAge
	if e.Listing.Seen == 0 {
		age = emptyProofAge
	}
	return !d.now.Before(look.Ended.Add(age)) && !e.Listing.At.Before(look.Since.Add(age))
}

func (d *decision) noClearAnswer(f *Failure) {
	text := "it could not be found out whether the submission made a job; look for the label " +
		KeyGateID + "=" + d.r.GateID
	if f != nil {
		text += ": " + f.Text
	}
	if d.r.Cancel != nil {
		d.concludeCancelled(AbortFailed, text)
		return
	}
	d.conclude(SubmissionFailed, text)
}

// trouble tells the pipeline once what the gate is waiting for.
func (d *decision) trouble(event, text string) {
	if d.r.Trouble == event {
		return
	}
	d.r.Trouble = event
	d.note(event, "%s", text)
	d.progress(text)
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
