package step

import (
	"context"
	"fmt"
	"slices"
	"time"

	"prowgate/shared/gate"
)

const (
	// firstLook is when a step that still waits asks how its gate stands. By then the lock of a step before it
	// has expired (one minute), so that whatever is in the queue for this gate was received.
	firstLook = 2 * time.Minute
	// settled is how long a step must have received nothing, and
	settled = 90 * time.Second
	// sent how long ago the verdict must be, for it to be no longer on its way: the service's sweep sends again
	// what was not sent, at the latest after seven minutes.
	sent = 10 * time.Minute
	// lookAgain is the pause after a look that showed an end that is too fresh.
	lookAgain = time.Minute
	// lookLimit bounds one answer, lastLook the one after the grace.
	lookLimit = 20 * time.Second
	lastLook  = 2 * time.Second
)

// viewing is an answer to the question how the gate stands.
type viewing struct {
	view  gate.View
	found bool
	err   error
}

// onLook asks now and then whether the verdict was taken before, by another step with this gate id or by an
// earlier run of this one: it comes once, and a step that is started again would wait for it in vain.
func (w *watch) onLook(ctx context.Context) {
	w.look = time.After(Life)
	if w.signal == nil {
		w.ask(ctx, lookLimit)
	}
}

// ask asks unless an answer is still to come.
func (w *watch) ask(ctx context.Context, limit time.Duration) {
	if w.Status == nil || w.looking {
		return
	}
	w.looking = true
	go func() {
		ctx, stop := context.WithTimeout(ctx, limit)
		defer stop()
		v, found, err := w.Status.Gate(ctx, w.request.GateID)
		w.views <- viewing{v, found, err}
	}()
}

func (w *watch) onView(a viewing) {
	w.looking = false
	if a.err != nil {
		w.Log.Debug("the status was not read", "error", a.err)
	}
	switch {
	case w.leaving:
		w.leave(a.view)
	case w.signal != nil || a.err != nil || !a.found:
	case w.taken(a.view):
		w.onTaken(a.view)
	case a.view.Phase == gate.PhaseDone:
		w.look = time.After(lookAgain)
	}
}

// taken reports whether the verdict is there and can no longer come.
func (w *watch) taken(v gate.View) bool {
	return v.Phase == gate.PhaseDone && v.GateID == w.request.GateID && w.silent.IsZero() &&
		w.empty.Sub(w.began) >= settled && w.empty.Sub(completedAt(v)) >= sent
}

// completedAt is when the verdict was stored; zero when the timeline no longer says it, which is long after.
func completedAt(v gate.View) time.Time {
	i := slices.IndexFunc(v.Timeline, func(m gate.Moment) bool { return m.Event == "completion" })
	if i < 0 {
		return time.Time{}
	}
	return v.Timeline[i].At
}

// onTaken ends the step with the verdict that is known. The marker goes with the completion alone, so that a
// failure is told once to whoever retries it. Whether a bad result fails the step is this step's own flag.
func (w *watch) onTaken(v gate.View) {
	text := fmt.Sprintf("the verdict of gate %s was taken before, by another step or an earlier run of this one", v.GateID)
	n := gate.Notice{
		Kind: gate.KindCompletion, GateID: v.GateID, JobName: v.JobName, Region: v.Region, ExecutionID: v.ExecutionID,
		JobURL: v.JobURL, State: v.State, Outcome: v.Outcome, Passed: w.passes(v.Outcome), Retry: gate.NotEligible,
		Abort: v.Abort, Error: text, SentAt: completedAt(v),
	}
	if err := w.print(n); err != nil {
		w.Console.Say("%v", err)
		w.end(Unreachable)
		return
	}
	w.end(verdictCode(n))
}

// passes is the service's rule for a verdict, with the flag of this step.
func (w *watch) passes(o gate.Outcome) bool {
	switch o {
	case gate.Succeeded, gate.DryRun:
		return true
	case gate.Failed, gate.Errored, gate.Aborted:
		return !w.request.Gating.GatePromotion
	}
	return false
}
