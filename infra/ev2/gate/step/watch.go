package step

import (
	"context"
	"os"
	"strings"
	"time"

	"prowgate/shared/fault"
)

// sending is the result of one Send.
type sending struct {
	arrival Arrival
	err     error
}

// watch is the state of a step that runs. Only loop's goroutine touches it. A nil channel is one that
// nothing can come from yet.
type watch struct {
	*Step
	request Request
	began   time.Time

	life     *time.Ticker
	deadline <-chan time.Time // nil before the submission is confirmed, and after a signal
	grace    <-chan time.Time // after the signal

	submission chan sending
	stopSubmit context.CancelFunc
	submitted  Arrival // what is known so far

	letters  <-chan letter
	listener *listener

	signal     os.Signal // the first one; nil before
	signalAt   time.Time
	hurry      bool // a second one came before the cancel's result
	leaving    bool // the grace is over, and the gate's status was asked for
	cancelDone bool // the cancel's result is known
	cancel     chan sending
	cancelSent Arrival
	cancelErr  error

	look    <-chan time.Time // when to ask for the gate's status next
	views   chan viewing
	looking bool // an answer is to come

	lastLine string    // the newest progress
	answer   string    // the newest progress since the signal
	silent   time.Time // since when receiving fails; zero while it works
	silence  error     // why
	refused  time.Time // since when receiving is refused
	empty    time.Time // when receiving last worked and there was nothing

	ended bool
	code  int
}

func newWatch(s *Step, r Request) *watch {
	return &watch{
		Step: s, request: r, began: s.Clock(),
		life:       time.NewTicker(Life),
		submission: make(chan sending, 1), stopSubmit: func() {},
		cancel: make(chan sending, 1), views: make(chan viewing, 1),
	}
}

// start submits, unless a signal came even earlier.
func (w *watch) start(ctx context.Context) {
	select {
	case sig := <-w.Signals:
		w.onSignal(ctx, sig)
		return
	default:
	}
	w.submitted = MaybeSent // until the result is known
	limited, stop := context.WithTimeout(ctx, w.Connect)
	w.stopSubmit = stop
	go func() {
		defer stop()
		a, err := Send(limited, w.Queue, w.Log, w.Names.Submit, w.request.message(w.request.Body))
		w.submission <- sending{a, err}
	}()
}

func (w *watch) loop(ctx context.Context) int {
	for !w.ended {
		select {
		case sig := <-w.Signals: // before anything else that has come
			w.onSignal(ctx, sig)
			continue
		default:
		}
		select {
		case sig := <-w.Signals:
			w.onSignal(ctx, sig)
		case s := <-w.submission:
			w.onSubmission(ctx, s)
		case m := <-w.letters:
			w.onLetter(m)
		case s := <-w.cancel:
			w.onCancelSent(ctx, s)
		case <-w.life.C:
			w.onLife()
		case <-w.look:
			w.onLook(ctx)
		case v := <-w.views:
			w.onView(v)
		case <-w.deadline:
			w.giveUp("no verdict after " + short(w.Wait))
		case <-w.grace:
			w.onGraceOver(ctx)
		case <-ctx.Done():
			w.giveUp("the step was ended")
		}
	}
	w.stopSubmit()
	return w.code
}

func (w *watch) end(code int) {
	w.ended, w.code = true, code
	if w.signal != nil {
		w.code = signalCode(w.signal)
	}
}

// giveUp ends a step without a verdict, whose gating message has arrived or may have.
func (w *watch) giveUp(why string) {
	w.Console.Say("%s; the gate goes on without this step. Join it again with the same flags and --gate-id %s",
		why, w.request.GateID)
	w.end(Unreachable)
}

func (w *watch) onSubmission(ctx context.Context, s sending) {
	w.submitted = s.arrival
	switch {
	case w.signal != nil: // the cancel is on its way, whatever became of the submission
	case s.err == nil:
		w.deadline = time.After(w.Wait)
		w.Console.Say("gate %s: sent, waiting for the verdict", w.request.GateID)
		w.listen(ctx)
	case s.arrival != NotSent: // whatever became of the last attempt
		w.giveUp("the service did not confirm the gating message, which may have arrived: " + s.err.Error())
	case fault.Is(s.err, fault.Refused):
		w.Console.Say("the gating message was refused: %v", s.err)
		w.end(Rejected)
	default:
		w.Console.Say("the service could not be reached for %s, nothing was submitted: %v", short(w.Connect), s.err)
		w.Console.Failed(s.err)
		w.end(Unreachable)
	}
}

func (w *watch) listen(ctx context.Context) {
	if w.listener == nil {
		w.listener = listen(ctx, w.Queue, w.Names.Completion, w.request.GateID, w.Log)
		w.letters = w.listener.letters
		w.look = time.After(firstLook)
	}
}

func short(d time.Duration) string {
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
