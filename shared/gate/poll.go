package gate

import (
	"fmt"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

const (
	// MissingGrace is how long a job that Deck answers 404 for is taken as "not there yet": Deck gives
	// 404 for every failure of its own, also a passing one (prow, cmd/deck/main.go).
	MissingGrace = 30 * time.Minute

	// missingGraceUnowned is the same for a job that no gate of ours has made.
	missingGraceUnowned = 2 * time.Minute

	// deadlineGrace is how long a state that cannot be read behind the deadline is asked for again, and graceEvery
	// how often.
	deadlineGrace = time.Minute
	graceEvery    = 10 * time.Second

	// pollLeast is the least that any tick waits, also one of a broker whose clock is ahead of ours.
	pollLeast = 250 * time.Millisecond
)

// nextPoll returns when to look at a running job again: after the interval, but not after the
// deadline, at which the last tick is.
func (d *decision) nextPoll(most time.Duration) time.Time {
	wait := max(min(d.interval(), most), pollLeast)
	if d.pastDeadline() {
		wait = min(wait, graceEvery)
	}
	next, deadline := d.now.Add(wait), d.r.deadline()
	if next.After(deadline) && deadline.After(d.now) {
		return laterOf(deadline, d.now.Add(time.Second)) // a broker whose clock is ahead brings the tick too soon
	}
	return next
}

func (d *decision) pollAgain() {
	d.r.Looks++
	d.endTurn(d.nextPoll(time.Duration(d.r.Gating.PollInterval)))
}

func (d *decision) pastDeadline() bool { return !d.now.Before(d.r.deadline()) }

// pastGrace reports whether there is no time left to look once more for a state that could not be read behind the
// deadline: the job may have ended in time.
func (d *decision) pastGrace() bool {
	if !d.pastDeadline() {
		return false
	}
	if d.r.OverSince.IsZero() {
		d.r.OverSince = d.now
	}
	return !d.now.Before(d.r.OverSince.Add(deadlineGrace))
}

// statusRead counts while the job's end has not been seen: another delivery of the turn's message may
// have read an older state, and come with it later.
func (d *decision) statusRead(e StatusRead) {
	switch {
	case d.r.Phase == PhaseConcluding:
	case e.Failure != nil:
		d.statusFailed(e.Failure.Text)
	case !e.Found:
		d.statusMissing()
	case e.Owner != "":
		d.ownedByAnother(e.Owner)
	case d.misnamed(e.Job):
		d.reject(e.Job)
	case !d.ours(e.Job):
		d.statusFailed("Deck shows another job, " + clip(e.Job.Name, 100) + ", under this execution id")
	default:
		d.status(e.Job)
	}
}

// ours reports whether nothing speaks against a job being the one this gate has submitted. A job that was
// adopted, or that no gate owns, is what its id says.
func (d *decision) ours(j prow.Job) bool {
	r := &d.r
	if r.GateID == "" || r.Gating.ExecutionID != "" {
		return true
	}
	if id := j.Labels[KeyGateID]; id != "" {
		return id == r.GateID
	}
	return j.Name == "" || j.Name == r.Gating.JobName
}

// ownedByAnother leaves the job of a gate that has not ended to that gate.
func (d *decision) ownedByAnother(owner string) {
	why := "the job belongs to gate " + owner
	if d.r.GateID == "" {
		why += ", which was cancelled in its place; should that gate leave the job running, ask again to abort it"
	}
	d.finishAbort(AbortSkipped, why)
}

// misnamed reports whether an execution that the gate was told to follow is a run of another job than it was told.
func (d *decision) misnamed(j prow.Job) bool {
	g := d.r.Gating
	return g.ExecutionID != "" && j.Name != "" && j.Name != g.JobName
}

// reject ends a gate whose message names an execution of another job; that job is left alone.
func (d *decision) reject(j prow.Job) {
	text := fmt.Sprintf("executionId: execution %s is a run of job %s, and not of %s", d.r.ExecutionID, clip(j.Name, 100), d.r.Gating.JobName)
	if d.r.Abort.pending() {
		d.finishAbort(AbortSkipped, text)
		return
	}
	d.conclude(Rejected, "the gating message was rejected: "+text)
}

// status acts on a state that was read. A terminal one wins over a deadline that has passed meanwhile.
func (d *decision) status(j prow.Job) {
	d.seen(j)
	switch {
	case j.State.Terminal():
		d.ended()
	case d.r.Abort.pending():
		d.workAbort(j)
	case d.pastDeadline():
		d.timeOut("")
	default:
		d.pollAgain()
	}
}

// statusFailed goes on without a state: a login page, an unreadable answer or a Deck that is away says
// nothing of the job.
func (d *decision) statusFailed(text string) {
	switch {
	case d.r.Abort.pending():
		d.putOff("the job's state cannot be read: "+text, abortRetry)
	case d.pastGrace():
		d.timeOut("; its state could not be read: " + text)
	default:
		d.r.MissingSince = time.Time{} // nothing is known of it; what counts is 404s in a row
		d.trouble("status", "the job's state cannot be read: "+text)
		d.pollAgain()
	}
}

func (d *decision) statusMissing() {
	r := &d.r
	if r.MissingSince.IsZero() {
		r.MissingSince = d.now
		d.note("missing", "Deck does not show the job")
	}
	switch {
	case d.now.Sub(r.MissingSince) < d.missingGrace() && (r.Abort.pending() || !d.pastGrace()):
		d.waitMissing()
	case r.JobURL != "":
		d.do(ReadUploaded{Turn: r.Turn.Seq, JobURL: r.JobURL})
	default:
		d.lost("")
	}
}

func (d *decision) missingGrace() time.Duration {
	if d.r.GateID == "" {
		return missingGraceUnowned
	}
	return MissingGrace
}

func (d *decision) waitMissing() {
	if d.r.Abort.pending() {
		d.putOff("Deck does not show the job", abortRetry)
		return
	}
	d.trouble("missing", "Deck does not show the job yet")
	d.pollAgain()
}

// uploadedRead takes the state from the run's own prowjob.json, when Deck has forgotten the job.
func (d *decision) uploadedRead(e UploadedRead) {
	switch {
	case d.r.Phase == PhaseConcluding:
	case e.Failure != nil && e.Failure.Kind != fault.Refused && (d.r.Abort.pending() || !d.pastGrace()):
		d.waitMissing() // what passes may be over the next time
	case e.Failure != nil:
		d.lost("; its prowjob.json could not be read: " + e.Failure.Text)
	case !e.Found:
		d.lost("; its artifacts hold no prowjob.json")
	case e.Job.ID != "" && e.Job.ID != d.r.ExecutionID:
		d.lost("; the prowjob.json in its artifacts is that of " + e.Job.ID)
	case !e.Job.State.Terminal() && !d.r.Abort.pending() && !d.pastDeadline():
		d.waitMissing() // the file is of the run's beginning; it may still be running
	case !e.Job.State.Terminal():
		d.lost(fmt.Sprintf("; its prowjob.json says %s", stateName(e.Job.State)))
	default:
		d.seen(e.Job)
		d.ended()
	}
}

// lost ends a gate whose job cannot be seen any more.
func (d *decision) lost(why string) {
	switch {
	case d.r.Abort.pending():
		d.finishAbort(AbortFailed, "the job is lost: Deck does not show it"+why)
	case d.now.Sub(d.r.MissingSince) < d.missingGrace():
		d.timeOut("; Deck does not show it" + why)
	default:
		d.conclude(Errored, fmt.Sprintf("the job is lost: Deck has not shown execution %s since %s%s",
			d.r.ExecutionID, clock(d.r.MissingSince), why))
	}
}

// timeOut ends the gate at its deadline. The job is left as it is: a time-out never aborts.
func (d *decision) timeOut(why string) {
	d.conclude(TimedOut, fmt.Sprintf("Prow job %s did not end within %s (state %s)%s",
		d.r.Gating.JobName, time.Duration(d.r.Gating.Timeout), stateName(d.r.State), why))
}

// ended acts on the job's end. The verdict of a gate that was cancelled before is "cancelled".
func (d *decision) ended() {
	r := &d.r
	if r.EndSeenAt.IsZero() {
		r.EndSeenAt = d.now
	}
	switch {
	case r.Abort.pending():
		d.abortEnded()
	case r.State == prow.Success:
		d.conclude(Succeeded, "")
	case r.State == prow.Aborted:
		d.conclude(Aborted, fmt.Sprintf("Prow job %s was aborted", r.Gating.JobName))
	case r.State == prow.Errored:
		d.conclude(Errored, fmt.Sprintf("Prow job %s ended in an error of Prow's own", r.Gating.JobName))
	case !r.Gating.GatePromotion || !r.Gating.AllowEV2Retry:
		d.conclude(Failed, fmt.Sprintf("Prow job %s failed", r.Gating.JobName))
	default:
		r.Phase = PhaseConcluding
		d.note("classify", "the job failed; reading its artifacts")
		d.work()
	}
}
