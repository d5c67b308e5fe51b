package step

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/gate"
)

const (
	// doubled is the time in which another signal is taken for the same event: timeout(1), for one, signals its
	// child and then the whole process group, and a script passes on what the group has got already.
	doubled = 100 * time.Millisecond
	// lastWords is how long a second signal waits for the cancel to go out.
	lastWords = time.Second
)

// onSignal sends the cancel message before anything else. It goes out also when it is not known
// whether the submission arrived: the service keeps a cancel that comes first.
func (w *watch) onSignal(ctx context.Context, sig os.Signal) {
	if w.signal != nil {
		w.onSecondSignal()
		return
	}
	w.signal, w.signalAt = sig, w.Clock()
	limited, stop := context.WithTimeout(ctx, w.Grace)
	w.grace, w.deadline = time.After(w.Grace), nil
	go func() {
		defer stop()
		a, err := w.sendCancel(limited, sig)
		w.cancel <- sending{a, err}
	}()
	w.stopSubmit()
	w.listen(ctx)
	w.Console.Say("%s: cancelling gate %s, waiting up to %s for the outcome", sig, w.request.GateID, short(w.Grace))
}

// onSecondSignal ends the step at once, or as soon as the cancel is out.
func (w *watch) onSecondSignal() {
	if w.Clock().Sub(w.signalAt) < doubled {
		return
	}
	w.Console.Say("second signal: ending at once")
	if w.cancelDone || w.hurry {
		w.end(0)
		return
	}
	w.hurry, w.grace = true, time.After(lastWords)
}

func (w *watch) sendCancel(ctx context.Context, sig os.Signal) (Arrival, error) {
	body, err := json.Marshal(gate.CancelRequest{
		GateID: w.request.GateID,
		Reason: "the pipeline step received the signal: " + sig.String(),
	})
	if err != nil {
		return NotSent, err
	}
	m := w.request.message(body)
	m.ID = w.request.CancelID
	return Send(ctx, w.Queue, w.Log, w.Names.Cancel, m)
}

func (w *watch) onCancelSent(ctx context.Context, s sending) {
	w.cancelSent, w.cancelErr, w.cancelDone = s.arrival, s.err, true
	switch {
	case w.hurry:
		w.onGraceOver(ctx)
	case s.err == nil:
		w.Console.Say("the cancel was sent")
	default:
		w.Console.Say("the cancel was not confirmed: %v", s.err)
	}
}

// sayCancelled says what became of the job of a gate that was cancelled and has its verdict, unless the
// verdict's text is about to say so.
func (w *watch) sayCancelled(n gate.Notice) {
	switch {
	case n.Abort != nil && !w.JSON:
	case n.Abort != nil:
		w.Console.Say("%s", console.AbortText(*n.Abort))
	case n.Outcome != gate.Cancelled:
		w.Console.Say("the gate had ended before the cancel took effect")
	default:
		w.Console.Say("the gate was cancelled")
	}
}

// onGraceOver ends a step that has no verdict in time. What is left to do depends on how the gate stands, so
// that is asked first, once, where there is somebody to ask.
func (w *watch) onGraceOver(ctx context.Context) {
	select {
	case s := <-w.cancel: // both ended at the same moment
		w.cancelSent, w.cancelErr, w.cancelDone = s.arrival, s.err, true
	default:
	}
	if w.Status != nil && w.cancelSent == Sent && !w.hurry && !w.leaving {
		w.leaving, w.grace = true, time.After(lastLook)
		w.ask(ctx, lastLook)
		return
	}
	w.leave(gate.View{})
}

// leave says what is left to do. v is the gate as it stands, empty when that is not known.
func (w *watch) leave(v gate.View) {
	id := w.request.GateID
	ended := v.Phase == gate.PhaseDone
	switch {
	case ended && v.Abort != nil:
		w.Console.Say("the gate has ended: %s; %s", v.Outcome, console.AbortText(*v.Abort))
	case ended && v.Outcome != gate.TimedOut: // whose job may still run, and is aborted then
		w.Console.Say("the gate had ended before the cancel took effect: %s", v.Outcome)
	case w.cancelSent == Sent && !w.request.Gating.AbortOnCancel:
		w.Console.Say("the service has the cancel and has not answered it yet; the job is left running, abortOnCancel is false")
	case w.cancelSent == Sent && w.answer != "":
		w.Console.Say("the job is still to be aborted: %s; the service goes on with it, see: gate status --gate-id %s", w.answer, id)
	case w.cancelSent == Sent && w.submitted == Sent:
		w.Console.Say("the service has the cancel and has not answered it yet: the job is still to be aborted%s, see: gate status --gate-id %s", unless(v), id)
	case w.cancelSent == Sent:
		w.Console.Say("the cancel was sent, the submission was not confirmed: one that arrives later starts no job, one that had arrived has its job aborted")
	case w.cancelSent == NotSent && w.submitted == NotSent:
		w.Console.Say("the service could not be reached: this step submitted nothing, and its cancel was not sent%s", w.cause())
	default:
		w.Console.Say("the cancel was not confirmed, so the job may be left running%s. Cancel it with: gate cancel --gate-id %s", w.cause(), id)
	}
	w.end(0)
}

// unless is said where it is not known how the gate stands: its verdict may have been taken by another step.
func unless(v gate.View) string {
	if v.Phase != gate.PhaseNone && v.Phase != gate.PhaseDone {
		return ""
	}
	return ", unless the gate had ended before"
}

func (w *watch) cause() string {
	if w.cancelErr == nil {
		return ""
	}
	return ": " + w.cancelErr.Error()
}
