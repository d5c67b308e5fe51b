package step

import (
	"errors"
	"os"
	"time"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/gate"
)

// onCompletion prints the verdict, and only then has it removed from the queue.
func (w *watch) onCompletion(n gate.Notice, reply chan<- settlement) {
	if w.signal != nil {
		w.sayCancelled(n)
	}
	if !w.retries() {
		n = console.NotEligible(n)
	}
	if err := w.print(n); err != nil {
		reply <- giveBackLast
		w.Console.Say("%v; the completion stays in the queue for a step with --gate-id %s", err, w.request.GateID)
		w.end(Unreachable)
	} else {
		reply <- removeLast
		w.end(verdictCode(n))
	}
	select {
	case <-w.listener.done:
	case <-time.After(settleLimit):
	case <-w.Signals:
	}
}

// retries reports whether EV2 may run this step again: not when its rollout was cancelled, and not when its own
// flags do not ask for it. The gate's are those of the step that submitted it, and this one may have joined it.
func (w *watch) retries() bool {
	return w.signal == nil && w.request.Gating.GatePromotion && w.request.Gating.AllowEV2Retry
}

// print prints the verdict. Nobody may be reading: a signal, or the end of the grace, ends the wait for that.
func (w *watch) print(n gate.Notice) error {
	printed := make(chan error, 1)
	go func() { printed <- w.Console.Verdict(n, w.JSON) }()
	var sig os.Signal
	select {
	case err := <-printed:
		return err
	case sig = <-w.Signals:
	case <-w.grace:
	}
	select {
	case err := <-printed: // the signal came while all was well, and the verdict is what counts
		return err
	case <-time.After(doubled):
	}
	if w.signal == nil {
		w.signal = sig
	}
	return errors.New("print the verdict: nobody reads it")
}

func verdictCode(n gate.Notice) int {
	switch {
	case n.Passed:
		return Passed
	case n.Outcome == gate.Rejected:
		return Rejected
	}
	return NotPassed
}
