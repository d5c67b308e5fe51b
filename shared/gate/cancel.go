package gate

import (
	"fmt"
	"strings"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

const (
	abortRetry   = 30 * time.Second // between two looks at a guard that says no
	abortCheck   = 2 * time.Second  // between two looks at a job that was just asked to end
	abortRepeat  = 20 * time.Second // between the first requests for one job; later ones come further apart
	abortMost    = 10               // requests for one job, over a quarter of an hour
	abortAtLeast = 10 * time.Minute // how long an abort is tried, also close to the gate's deadline or behind it
	abortSettled = 20 * time.Second // how long an abort must have been seen before it is believed, more than clocks differ
	abortUnowned = time.Hour        // how long the abort of a job that no gate owns is tried
)

// cancelAsked marks the record, for good, and then acts by what there is.
func (d *decision) cancelAsked(e CancelAsked) {
	r, reason := &d.r, e.Reason
	r.GateID = e.GateID
	if r.Cancel != nil {
		d.cancelAgain(reason)
		return
	}
	switch r.Phase {
	case PhaseConcluding:
		d.note("cancel", "came after the job's end was seen: the verdict stays")
		d.resend()
	case PhaseDone:
		d.cancelDone(reason)
	default:
		d.takeCancel(reason)
		d.cancelNow()
	}
}

func (d *decision) takeCancel(reason string) {
	d.r.Cancel = &Cancel{At: d.now, Reason: clip(reason, 1000)}
	d.note("cancel", "%s", reason)
}

// cancelAgain repeats what may have been lost with the process that took the cancellation; an abort that was given
// up is tried once more, for whoever asks for it again wants it.
func (d *decision) cancelAgain(reason string) {
	r := &d.r
	if r.Phase == PhaseDone && r.Abort.State == AbortGivenUp && r.Gating.AbortOnCancel && r.ExecutionID != "" {
		d.note("cancel", "asked for again: %s", reason)
		d.abortLate()
		return
	}
	if r.live() {
		d.sayCancelTaken()
	}
	d.resend()
}

// abortLate begins the abort of a job whose gate has its verdict; what becomes of it is told as progress.
func (d *decision) abortLate() {
	d.sendVerdict()
	d.sayCancelTaken()
	d.wantAbort()
	d.takeOver()
	d.work()
}

func (d *decision) sayCancelTaken() {
	d.progressAs(d.r.MessageStem()+".cancel", "the cancellation was taken")
}

func (d *decision) cancelNow() {
	switch d.r.Phase {
	case PhaseAccepted:
		d.concludeCancelled(AbortNotNeeded, "cancelled before the submission: no job was made")
	case PhaseSubmitting:
		d.sayCancelTaken()
		d.takeOver()
		d.work()
	case PhaseRunning:
		d.sayCancelTaken()
		d.takeOver()
		d.cancelRunning()
	}
}

func (d *decision) cancelRunning() {
	if !d.r.Gating.AbortOnCancel {
		d.concludeCancelled(AbortDisabled, "abortOnCancel is off: the job was left running")
		return
	}
	d.wantAbort()
	d.work()
}

func (d *decision) wantAbort() {
	d.r.Abort = Abort{State: AbortWanted, Since: d.now}
	d.r.MissingSince = time.Time{} // what the gate met before says nothing of the job now
}

// cancelDone acts on a gate that has its verdict: only a job that outlived its gate's time-out is
// aborted, or one whose abort was given up.
func (d *decision) cancelDone(reason string) {
	r := &d.r
	outlived := r.Verdict != nil && r.Verdict.Outcome == TimedOut || r.Abort.State == AbortGivenUp
	if !outlived || !r.Gating.AbortOnCancel || r.ExecutionID == "" {
		d.resend()
		return
	}
	d.takeCancel(reason)
	d.abortLate()
}

// abortAsked begins the abort of a job that no gate owns.
func (d *decision) abortAsked(e AbortAsked) {
	r := &d.r
	if r.Phase != PhaseNone {
		d.cancelAgain(e.Reason)
		return
	}
	r.Phase, r.ExecutionID, r.SubmittedAt = PhaseRunning, e.ExecutionID, d.now
	r.Gating = Gating{AbortOnCancel: true, Timeout: Duration(abortUnowned)}
	d.takeCancel(e.Reason)
	d.takeOver()
	d.sayCancelTaken()
	d.cancelRunning()
}

// workAbort goes on with the abort of a job that was just seen not to have ended.
func (d *decision) workAbort(target prow.Job) {
	a := d.r.Abort
	switch {
	case !d.now.Before(d.abortUntil()):
		d.giveUpAbort()
	case d.now.Before(a.next()):
		d.checkAbort()
	case a.Requests >= abortMost:
		d.giveUpAbort()
	case never(target) != "":
		d.finishAbort(AbortSkipped, never(target))
	case !changeable(target.State):
		d.putOff(fmt.Sprintf("Gangway cannot change a job in state %q", target.State), abortRetry)
	case d.now.Before(target.StartTime.Add(proofAge)):
		d.putOffUntil(fmt.Sprintf("only a listing made %s after the job's start shows every job of that second", proofAge),
			target.StartTime.Add(proofAge+time.Second))
	default:
		d.do(Probe{Turn: d.r.Turn.Seq, Target: target})
	}
}

// abortUntil is when an abort that has not succeeded is given up.
func (d *decision) abortUntil() time.Time {
	return laterOf(d.r.deadline(), d.r.Abort.Since.Add(abortAtLeast))
}

// probed asks the guard, and for a turn at Gangway when it has nothing against the abort.
func (d *decision) probed(e Probed) {
	if !d.r.Abort.pending() {
		return
	}
	if e.Failure != nil {
		d.putOff("the job list cannot be read: "+e.Failure.Text, abortRetry)
		return
	}
	if why := guard(e.Target, e.Listing); why != "" {
		d.putOff(why, abortRetry)
		return
	}
	a := abortOf(e.Target)
	d.do(TakeTurn{Turn: d.r.Turn.Seq, Abort: &a})
}

// abortTurnTaken records the request before it is sent.
func (d *decision) abortTurnTaken(a prow.Abort, e TurnTaken) {
	r := &d.r
	switch {
	case !r.Abort.pending() || d.now.Before(r.Abort.next()):
		return // another delivery of this turn's message has just sent it
	case !e.Granted:
		d.putOffUntil("waiting for its turn at Gangway", e.At)
		return
	}
	r.Abort.State = AbortRequested
	r.Abort.Requests++
	r.Abort.LastAt = d.now
	d.note("abort", "asking Gangway to abort the job (state %s, request %d)", stateName(a.Current), r.Abort.Requests)
	d.do(AbortJob{Turn: r.Turn.Seq, Before: d.now.Add(beginFor), Abort: a})
}

// abortAnswered waits for the state to change: a 200 is not an abort, and an error may hide one.
func (d *decision) abortAnswered(f *Failure) {
	r := &d.r
	switch {
	case !r.Abort.pending():
	case f == nil:
		r.Abort.Failure = ""
		d.checkAbort()
	case f.Kind == fault.Refused:
		d.finishAbort(AbortFailed, "Gangway refused the abort: "+f.Text)
	case f.Kind == fault.NothingHappened:
		r.Abort.Requests = max(0, r.Abort.Requests-1) // it was not made
		d.abortUnheard("Gangway could not be asked: " + f.Text)
		d.putOff(r.Abort.Failure, max(f.RetryAfter, abortRepeat))
	default:
		d.abortUnheard("Gangway's answer was not clear: " + f.Text)
		d.note("abort", "%s", r.Abort.Failure)
		d.checkAbort()
	}
}

// checkAbort looks at the job again: soon after a request, later less often, and at the latest when the next request
// may be made.
func (d *decision) checkAbort() {
	a, wait := d.r.Abort, abortCheck
	if d.now.Sub(a.LastAt) >= abortRepeat {
		wait = abortRepeat
	}
	d.endTurn(earlierOf(d.now.Add(wait), laterOf(a.next(), d.now.Add(abortCheck))))
}

// abortUnheard remembers why it is not known that Gangway took the last request.
func (d *decision) abortUnheard(why string) { d.r.Abort.Failure = clip(Neutralise(why), maxReason) }

// next is when a further request may be made: soon after the first ones, which Gangway or plank may have lost,
// later after each further one, so that all of them together outlast an outage.
func (a Abort) next() time.Time {
	if a.LastAt.IsZero() {
		return time.Time{}
	}
	return a.LastAt.Add(abortRepeat << min(max(a.Requests-4, 0), 3))
}

func (d *decision) putOff(why string, wait time.Duration) { d.putOffUntil(why, d.now.Add(wait)) }

// putOffUntil says once for each reason that the abort has to wait, and why; when its time is over, it
// gives up with that reason.
func (d *decision) putOffUntil(why string, next time.Time) {
	why = clip(Neutralise(why), maxReason)
	if !d.now.Before(d.abortUntil()) {
		d.r.Abort.Reason = why
		d.giveUpAbort()
		return
	}
	news := headline(d.r.Abort.Reason) != headline(why)
	d.r.Abort.Reason = why
	if news {
		d.note("abort", "put off: %s", why)
		d.progress("the abort is put off: " + why)
	}
	d.endTurn(earlierOf(next, d.abortUntil()))
}

// headline is a reason without its details, which may differ each time.
func headline(reason string) string {
	head, _, _ := strings.Cut(reason, ": ")
	return head
}

func (d *decision) giveUpAbort() {
	a := d.r.Abort
	switch {
	case a.Requests > 0:
		text := fmt.Sprintf("not confirmed: the job is still %s after %d requests", stateName(d.r.State), a.Requests)
		if a.Failure != "" {
			text += "; " + a.Failure
		}
		d.finishAbort(AbortFailed, text)
	case a.Failure != "":
		d.finishAbort(AbortFailed, a.Failure)
	case a.Reason == "":
		d.finishAbort(AbortSkipped, "there was no time left for it")
	default:
		d.finishAbort(AbortSkipped, a.Reason)
	}
}

// abortEnded reports a job that ended while its abort was wanted. An abort that has no completion time
// yet may still be overwritten by a patch of plank's own, so that it must be seen again.
func (d *decision) abortEnded() {
	r := &d.r
	if r.Abort.Requests > 0 && r.State == prow.Aborted {
		if r.CompletedAt.IsZero() && d.now.Before(r.EndSeenAt.Add(abortSettled)) {
			d.endTurn(d.now.Add(abortCheck))
			return
		}
		d.finishAbort(AbortDone, "the job was seen to be aborted")
		return
	}
	d.finishAbort(AbortNotNeeded, "the job ended by itself: "+stateName(d.r.State))
}

// finishAbort ends the abort: with the verdict, or as progress when the verdict has been given.
func (d *decision) finishAbort(outcome AbortOutcome, reason string) {
	r := &d.r
	r.Abort.State, r.Abort.Outcome, r.Abort.Reason = AbortGivenUp, outcome, reason
	if outcome == AbortDone || outcome == AbortNotNeeded {
		r.Abort.State = AbortConfirmed
	}
	d.note("abort", "%s: %s", outcome, reason)
	if r.Phase == PhaseDone {
		d.progress("abort " + string(outcome) + ": " + reason)
		return
	}
	d.concludeCancelled(outcome, reason)
}
