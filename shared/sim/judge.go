package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
)

// phaseRank orders the phases of a record.
var phaseRank = map[gate.Phase]int{
	gate.PhaseNone: 0, gate.PhaseAccepted: 1, gate.PhaseSubmitting: 2, gate.PhaseRunning: 3, gate.PhaseConcluding: 4, gate.PhaseDone: 5,
}

// watch looks at every record that is about to be saved.
func (w *world) watch(e store.Entry) {
	if gate.HasMarker(string(e.Body)) {
		w.violate(5, "a marker in the store, under %s", e.Key)
	}
}

// saved looks at every record that was saved: it moves only forward.
func (w *world) saved(e store.Entry) {
	g := w.byID[strings.TrimPrefix(e.Key, gate.KeyPrefix)]
	if g == nil {
		return
	}
	phase := phaseOf(e.Body)
	if phaseRank[phase] < phaseRank[g.phase] && (g.phase != gate.PhaseSubmitting || phase != gate.PhaseAccepted) {
		w.violate(7, "%s went back from %s to %s", e.Key, g.phase, phase)
	}
	g.phase = phase
}

// phaseOf reads the phase of an encoded record, without decoding the rest.
func phaseOf(body []byte) gate.Phase {
	_, rest, _ := bytes.Cut(body, []byte(`"phase":"`))
	phase, _, _ := bytes.Cut(rest, []byte(`"`))
	return gate.Phase(phase)
}

// watchMessage looks at every message that is sent.
func (w *world) watchMessage(name string, m queue.Message) {
	if name != finishQueue {
		if gate.HasMarker(string(m.Body)) {
			w.violate(5, "a marker in a message to %s", name)
		}
		return
	}
	var n gate.Notice
	if err := json.Unmarshal(m.Body, &n); err != nil {
		w.violate(2, "a message that cannot be read: %s", m.Body)
		return
	}
	marker := gate.Marker(n.Retry)
	rest := bytes.ReplaceAll(m.Body, []byte(marker), nil)
	if marker == "" {
		rest = m.Body
	}
	if gate.HasMarker(string(rest)) || n.Kind != gate.KindCompletion && marker != "" {
		w.violate(5, "a marker where none belongs: %s", m.Body)
	}
}

// completed is called when a handler has finished a message of the pipeline.
func (w *world) completed(name string, d queue.Delivery) {
	for _, g := range w.gates {
		if name == submitQueue && strings.HasPrefix(d.ID, g.id+".") {
			g.taken = true
		}
		if name == cancelQueue && strings.HasPrefix(d.ID, g.id+".") && g.cancelTaken.IsZero() {
			g.cancelTaken = w.now
		}
	}
}

// judge checks the invariants against what the world really holds.
func (w *world) judge() {
	jobs := w.prow.Jobs()
	w.readCompletions()
	for _, g := range w.gates {
		mine := jobsOf(jobs, g)
		if g.residual && (len(mine) > 1 || g.completion.ExecutionID == "") {
			w.count("residual of invariant 1: a job made more than 15 s after its lost answer")
			continue
		}
		w.judgeJobs(g, mine)
		w.judgeCompletion(g, mine)
		w.judgeCancel(g, mine)
		w.judgeRecord(g)
	}
	w.judgeOthers(jobs)
	w.judgeOrphan(jobs)
	w.judgeRate()
	w.judgeDeadLetters()
}

func jobsOf(jobs []gangwaytest.Job, g *plannedGate) []gangwaytest.Job {
	var mine []gangwaytest.Job
	for _, j := range jobs {
		if j.Labels[gate.KeyGateID] == g.id || j.ID == g.message.ExecutionID {
			mine = append(mine, j)
		}
	}
	return mine
}

func (w *world) readCompletions() {
	for _, g := range w.gates {
		w.readCompletion(g)
	}
}

func (w *world) readCompletion(g *plannedGate) {
	for {
		d, ok, err := w.broker.ReceiveAndDelete(context.Background(), finishQueue, g.id, 0)
		if err != nil || !ok {
			return
		}
		var n gate.Notice
		if json.Unmarshal(d.Body, &n) == nil && n.Kind == gate.KindCompletion {
			g.verdicts[string(d.Body)]++
			g.completion = n
		}
	}
}

func (w *world) judgeJobs(g *plannedGate, mine []gangwaytest.Job) {
	if len(mine) > 1 {
		w.violate(1, "%s has %d jobs", g.id, len(mine))
	}
	own := g.completion.ExecutionID == ""
	for _, j := range mine {
		own = own || j.ID == g.completion.ExecutionID
		if j.CreatedAt.After(w.lastJobAt) {
			w.lastJobAt = j.CreatedAt
		}
	}
	if !own {
		w.violate(3, "%s took %s for its job", g.id, g.completion.ExecutionID)
	}
}

func (w *world) judgeCompletion(g *plannedGate, mine []gangwaytest.Job) {
	if !g.taken {
		w.violate(2, "the gating message of %s was never finished", g.id)
		return
	}
	if len(g.verdicts) != 1 {
		w.violate(2, "%s has %d different completions", g.id, len(g.verdicts))
		return
	}
	c := g.completion
	w.count("outcome: " + string(c.Outcome))
	if c.SentAt.After(w.closedAt) {
		w.closedAt = c.SentAt
	}
	if c.Retry != gate.NotEligible {
		w.count("retry: " + string(c.Retry))
		if c.Retry != g.retry || c.Outcome != gate.Failed {
			w.violate(5, "%s was classified %s, the truth is %s", g.id, c.Retry, g.retry)
		}
	}
	w.judgeOutcome(g, c, mine)
	w.judgeTime(g, c)
}

// judgeTime checks that no verdict comes much later than it must: at the gate's deadline, or when the
// artifacts have been waited for, or a cancelled gate's abort has been tried for its least time; and a
// few minutes after the faults have stopped.
func (w *world) judgeTime(g *plannedGate, c gate.Notice) {
	by := g.arrive.Add(90 * time.Minute) // a submission that does not succeed, and its turn in the line
	if c.SubmittedAt != nil {
		by = c.SubmittedAt.Add(time.Duration(g.message.Timeout) + 10*time.Minute)
	}
	if c.Outcome == gate.Failed {
		by = by.Add(15 * time.Minute)
	}
	if least := g.cancelAt.Add(20 * time.Minute); c.Outcome == gate.Cancelled && least.After(by) {
		by = least
	}
	if calm := w.calmAt.Add(25 * time.Minute); calm.After(by) {
		by = calm
	}
	if c.SentAt.After(by) {
		w.violate(2, "the verdict of %s came at %s, it was due by %s", g.id, c.SentAt.Sub(epoch), by.Sub(epoch))
	}
}

// judgeOutcome compares the verdict with the job.
func (w *world) judgeOutcome(g *plannedGate, c gate.Notice, mine []gangwaytest.Job) {
	want := map[gate.Outcome]prow.State{
		gate.Succeeded: prow.Success, gate.Failed: prow.Failure, gate.Aborted: prow.Aborted, gate.Errored: prow.Errored,
	}[c.Outcome]
	if want != "" && (len(mine) != 1 || mine[0].State != want) {
		w.violate(2, "%s is %s, but its job is not %s", g.id, c.Outcome, want)
	}
	if c.Outcome == gate.SubmissionFailed && len(mine) > 0 && !strings.Contains(c.Error, "could not be found out") {
		w.violate(2, "%s is submit-failed, but there is a job", g.id)
	}
	if c.Outcome == gate.Failed && g.retry != gate.NotEligible && c.Retry == gate.NotEligible && w.rates.artifactsReadable() {
		w.violate(5, "%s was not classified %s, though nothing went wrong: %s", g.id, g.retry, c.Error)
	}
	if g.rejected != (c.Outcome == gate.Rejected) || !g.rejected && g.message.DryRun && c.Outcome != gate.DryRun && c.Outcome != gate.Cancelled {
		w.violate(2, "%s is %s; rejected=%t, dry run=%t", g.id, c.Outcome, g.rejected, g.message.DryRun)
	}
	if (g.rejected || g.message.DryRun) && slices.ContainsFunc(mine, func(j gangwaytest.Job) bool { return !j.Foreign }) {
		w.violate(1, "%s is %s, and has a job", g.id, c.Outcome)
	}
	if passes := c.Outcome == gate.Succeeded || c.Outcome == gate.DryRun || !g.message.GatePromotion &&
		(c.Outcome == gate.Failed || c.Outcome == gate.Errored || c.Outcome == gate.Aborted); c.Passed != passes {
		w.violate(2, "%s is %s and passed=%t", g.id, c.Outcome, c.Passed)
	}
}

// judgeCancel checks what a cancellation promises.
func (w *world) judgeCancel(g *plannedGate, mine []gangwaytest.Job) {
	if g.cancelTaken.IsZero() {
		if !g.cancelAt.IsZero() {
			w.violate(4, "the cancel message of %s was never finished", g.id)
		}
		return
	}
	for _, j := range mine {
		if !j.Foreign && !g.residual && j.CreatedAt.After(g.cancelTaken.Add(time.Minute)) {
			w.violate(4, "%s was cancelled at %s, its job was made at %s", g.id, g.cancelTaken.Sub(epoch), j.CreatedAt.Sub(epoch))
		}
	}
	switch g.completion.Outcome {
	case gate.Rejected, gate.DryRun: // nothing was to be cancelled
		return
	case gate.Cancelled:
	default:
		w.judgeUncancelled(g, mine)
		return
	}
	a := g.completion.Abort
	if a == nil || a.Reason == "" {
		w.violate(4, "%s was cancelled, and nothing is said of its abort", g.id)
		return
	}
	w.count("abort: " + string(a.Outcome))
	if g.message.DryRun { // the job that it would have adopted is none of its business
		return
	}
	if len(mine) == 1 && (a.Outcome == gate.AbortDone || a.Outcome == gate.AbortNotNeeded) && !mine[0].State.Terminal() {
		w.violate(4, "the abort of %s is %s, but its job is %s", g.id, a.Outcome, mine[0].State)
	}
}

// judgeUncancelled checks that a gate whose cancellation was taken before its job had ended, and before
// it had its verdict, is cancelled.
func (w *world) judgeUncancelled(g *plannedGate, mine []gangwaytest.Job) {
	ended := len(mine) == 1 && mine[0].State.Terminal() && !mine[0].CompletionTime.After(g.cancelTaken.Add(time.Minute))
	if !ended && g.completion.SentAt.After(g.cancelTaken.Add(time.Minute)) {
		w.violate(4, "%s was cancelled at %s, and is %s", g.id, g.cancelTaken.Sub(epoch), g.completion.Outcome)
	}
}

func (w *world) judgeRecord(g *plannedGate) {
	r, ok := w.record(gate.KeyPrefix + g.id)
	if !ok || r.Phase != gate.PhaseDone || !r.Sent || r.Due().Before(w.now) {
		w.violate(7, "%s was not closed by %s: %s, due %s", g.id, w.now.Sub(epoch), r.Phase, r.Due())
	}
}

// judgeOthers checks that no job but those of cancelled gates was changed.
func (w *world) judgeOthers(jobs []gangwaytest.Job) {
	for _, j := range jobs {
		changed := slices.ContainsFunc(j.Changes, func(c gangwaytest.Change) bool { return c.State == prow.Aborted })
		if !changed {
			continue
		}
		g := w.owner(j)
		if j.ID != w.orphan && (g == nil || g.cancelAt.IsZero() || !g.message.AbortOnCancel) {
			w.violate(3, "job %s (%s) was aborted, and should not have been", j.ID, j.Name)
		}
	}
}

// owner returns the gate whose job it is, nil for somebody else's.
func (w *world) owner(j gangwaytest.Job) *plannedGate {
	for _, g := range w.gates {
		if j.ID == g.message.ExecutionID || !j.Foreign && j.Labels[gate.KeyGateID] == g.id {
			return g
		}
	}
	return nil
}

// judgeOrphan checks that the abort of a job that no gate owns gets one answer, and a true one.
func (w *world) judgeOrphan(jobs []gangwaytest.Job) {
	if w.orphan == "" {
		return
	}
	o := &plannedGate{id: w.orphan, verdicts: map[string]int{}}
	w.readCompletion(o)
	a := o.completion.Abort
	if len(o.verdicts) != 1 || a == nil || a.Reason == "" {
		w.violate(2, "the abort of %s has %d different completions", w.orphan, len(o.verdicts))
		return
	}
	w.count("abort without a gate: " + string(a.Outcome))
	for _, j := range jobs {
		if j.ID == w.orphan && a.Outcome == gate.AbortDone && j.State != prow.Aborted {
			w.violate(4, "the abort of %s is %s, but it is %s", w.orphan, a.Outcome, j.State)
		}
	}
}

// judgeRate checks that no minute saw more requests than the limit lets through, as clocks that differ
// see minutes, and a process that is held up before it sends.
func (w *world) judgeRate() {
	slices.SortFunc(w.sent, time.Time.Compare)
	for i, from := range w.sent {
		n := 0
		for _, t := range w.sent[i:] {
			if t.Sub(from) <= time.Minute {
				n++
			}
		}
		if most := 1 + burst + int((time.Minute+w.spread()).Seconds()*ratePerMinute/60); n > most {
			w.violate(6, "%d requests to Gangway within a minute, at most %d may be", n, most)
			return
		}
	}
}

// spread is how far apart the instances' clocks are, with what may lie between a request's turn and the request.
func (w *world) spread() time.Duration {
	least, most := w.instances[0].skew, w.instances[0].skew
	for _, in := range w.instances {
		least, most = min(least, in.skew), max(most, in.skew)
	}
	held := storeTime + wireTime
	if w.rates.stall > 0 {
		held += 20 * time.Second // a claim allows that much
	}
	return most - least + held
}

// judgeDeadLetters counts what was dead-lettered. In a run in which processes die and the store fails, ten
// deliveries can be used up without a fault of Prow; nothing may be lost by it, which the other checks
// see to.
func (w *world) judgeDeadLetters() {
	for _, name := range []string{submitQueue, pollQueue, cancelQueue} {
		c, err := w.broker.Counts(context.Background(), name)
		if err != nil || c.DeadLettered == 0 {
			continue
		}
		w.counts["dead-lettered by our own faults"] += c.DeadLettered
		if w.rates.kill+w.rates.stall+w.rates.storeFault+w.rates.queueFault == 0 {
			w.violate(8, "%d messages of %s were dead-lettered", c.DeadLettered, name)
		}
	}
}
