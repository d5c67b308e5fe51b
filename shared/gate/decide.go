package gate

import (
	"fmt"
	"hash/fnv"
	"time"

	"prowgate/gangway/prow"
)

// Decide returns the record after the event, and the commands that follow from it, in the order in
// which they are to be carried out once the record is saved. It changes nothing that it was given. An
// event that does not fit the record (a stale tick, the result of a turn that is over, a repeated
// message) changes nothing; at most it sends again what may have been lost.
func Decide(r Record, ev Event, now time.Time) (Record, []Command) {
	d := &decision{r: r.clone(), now: now.UTC()}
	if d.r.CreatedAt.IsZero() {
		d.r.CreatedAt = d.now
	}
	d.on(ev)
	return d.r, d.commands
}

// decision is one call of Decide.
type decision struct {
	r        Record
	now      time.Time
	commands []Command
}

func (d *decision) on(ev Event) {
	switch e := ev.(type) {
	case Accepted:
		d.accepted(e)
	case Refused:
		d.rejected(e.Rejection)
	case CancelAsked:
		d.cancelAsked(e)
	case AbortAsked:
		d.abortAsked(e)
	case Ticked:
		d.ticked(e.Seq)
	case Overdue:
		d.overdue()
	case Submitted:
		d.submitted(e)
	case SubmitFailed:
		d.submitFailed(e)
	case Recalled:
		d.recalled(e)
	case CompletionSent:
		d.r.Sent = d.r.Verdict != nil
	case result:
		if d.current(e.inTurn()) {
			d.result(e)
		}
	}
}

// result takes the results that count only in the turn in which they were asked for.
func (d *decision) result(ev result) {
	switch e := ev.(type) {
	case TurnTaken:
		d.turnTaken(e)
	case Looked:
		d.looked(e)
	case StatusRead:
		d.statusRead(e)
	case UploadedRead:
		d.uploadedRead(e)
	case EvidenceRead:
		d.evidenceRead(e.Evidence)
	case Probed:
		d.probed(e)
	case AbortAnswered:
		d.abortAnswered(e.Failure)
	}
}

func (d *decision) current(turn int) bool { return d.r.live() && turn == d.r.Turn.Seq }

func (d *decision) do(c Command) { d.commands = append(d.commands, c) }

// ticked acts on the tick that is waited for; the one before it has been acted on already, so that
// only what came of it is sent again; older ones are stale, unless the awaited one should have come by now.
func (d *decision) ticked(seq int) {
	switch seq {
	case d.r.Turn.Seq:
		d.sendVerdict()
		if d.r.Lost >= mostLost {
			d.r.Begun++ // saved before its work is begun, so that it counts also when that ends the process
		}
		d.work()
	case d.r.Turn.Seq - 1:
		d.resend()
	default:
		if seq < d.r.Turn.Seq && !d.now.Before(d.r.Turn.At) {
			d.resend() // the one that is waited for may have been lost with the process that took two turns at once
		}
	}
}

// resend repeats what may have been lost with the process that decided it. Message ids are fixed, so
// that what was not lost is dropped as a duplicate or is stale when it arrives.
func (d *decision) resend() {
	d.sendVerdict()
	if d.r.live() {
		d.sendTick()
	}
}

// overdue puts a lost tick back under a new number, for the broker may remember the old one; or sends
// the verdict again; or removes a record that has been closed for long.
func (d *decision) overdue() {
	if d.now.Before(d.r.Due()) {
		return
	}
	d.r.SweptAt = d.now
	switch {
	case d.r.live():
		d.sendVerdict()
		d.r.note(d.now, "sweep", "tick %d was lost; sent again as %d", d.r.Turn.Seq, d.r.Turn.Seq+1)
		lost, begun := d.r.Lost+1, d.r.Begun
		d.endTurn(d.now)
		d.r.Lost, d.r.Begun = lost, begun
	case d.r.Verdict != nil && !d.r.Sent:
		d.sendVerdict()
	default:
		d.do(Remove{})
	}
}

// mostLost is how many turns in a row must have been lost, six minutes each, before it is counted how often they are
// begun; turns that nobody begins are a broker's affair. When mostBegun were begun in vain, a gate whose time is
// over ends without what it still wanted to know: reading that may be what ends every process that tries.
const mostLost, mostBegun = 5, 5

// hopeless reports whether the gate has ended so.
func (d *decision) hopeless() bool {
	r := &d.r
	if r.Begun <= mostBegun {
		return false
	}
	why := fmt.Sprintf("%d turns in a row were lost, and %d times nobody came back from it", r.Lost, mostBegun)
	switch {
	case r.Abort.pending():
		if d.now.Before(d.abortUntil()) {
			return false
		}
		d.r.Abort.Failure = why
		d.giveUpAbort()
	case r.Phase == PhaseSubmitting && r.Claim == nil && d.now.After(d.submitBy()):
		d.noClearAnswer(&Failure{Text: why})
	case r.Phase == PhaseRunning && d.pastDeadline():
		d.timeOut("; its state could not be read: " + why)
	case r.Phase == PhaseConcluding && !d.now.Before(r.EndSeenAt.Add(evidenceGrace)):
		d.evidenceRead(Evidence{Failure: &Failure{Text: why}})
	}
	return r.Verdict != nil && !r.Abort.pending()
}

// work gives the first command of a turn.
func (d *decision) work() {
	r := &d.r
	if d.hopeless() {
		return
	}
	switch r.Phase {
	case PhaseNone:
	case PhaseAccepted:
		d.do(TakeTurn{Turn: r.Turn.Seq})
	case PhaseSubmitting:
		d.workSubmitting()
	case PhaseRunning:
		d.readStatus()
	case PhaseConcluding:
		d.do(ReadEvidence{Turn: r.Turn.Seq, JobURL: r.JobURL})
	case PhaseDone:
		if r.Abort.pending() {
			d.readStatus()
		}
	}
}

// readStatus asks for the job's state. Whose the job is counts before it is aborted, if this gate has not made it.
func (d *decision) readStatus() {
	r := &d.r
	foreign := r.GateID == "" || r.Gating.ExecutionID != ""
	d.do(ReadStatus{Turn: r.Turn.Seq, ExecutionID: r.ExecutionID, Owner: foreign && r.Abort.pending()})
}

// takeOver begins a new turn, which makes the one that is waited for or under way a stale one.
func (d *decision) takeOver() { d.r.Turn = Turn{Seq: d.r.Turn.Seq + 1, At: d.now} }

// endTurn schedules the next turn.
func (d *decision) endTurn(at time.Time) {
	d.r.Turn = Turn{Seq: d.r.Turn.Seq + 1, At: laterOf(at, d.now.Add(pollLeast)).UTC()}
	d.r.Lost, d.r.Begun = 0, 0
	d.sendTick()
}

func (d *decision) sendTick() {
	t := Tick{GateID: d.r.GateID, Seq: d.r.Turn.Seq}
	if t.GateID == "" {
		t.ExecutionID = d.r.ExecutionID
	}
	d.do(SendTick{Tick: t, At: d.r.Turn.At})
}

// jitter spreads a wait over [wait/2, wait], the same way each time for the same gate and attempt.
func (d *decision) jitter(wait time.Duration, attempt int) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(d.r.ID()))
	_, _ = h.Write([]byte{byte(attempt), byte(attempt >> 8)})
	share := float64(h.Sum32()%1024) / 1024
	return wait/2 + time.Duration(share*float64(wait/2))
}

func (d *decision) note(event, format string, args ...any) { d.r.note(d.now, event, format, args...) }

// seen takes over what the newest answer says of the job.
func (d *decision) seen(j prow.Job) {
	r := &d.r
	r.MissingSince, r.Trouble = time.Time{}, ""
	changed := j.State != r.State
	if j.URL != "" && j.URL != r.JobURL {
		r.JobURL, changed = j.URL, true
	}
	r.State = j.State
	if !j.State.Terminal() {
		r.EndSeenAt = time.Time{}
	}
	if !j.StartTime.IsZero() {
		r.StartedAt = j.StartTime.UTC()
	}
	if !j.CompletionTime.IsZero() {
		r.CompletedAt = j.CompletionTime.UTC()
	}
	if changed {
		d.note("state", "%s %s", stateName(j.State), r.JobURL)
		if !j.State.Terminal() {
			d.progress("job is " + stateName(j.State))
		}
	}
}

func stateName(s prow.State) string {
	if s == "" {
		return "not started"
	}
	return string(s)
}
