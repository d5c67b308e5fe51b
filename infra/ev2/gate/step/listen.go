package step

import (
	"context"
	"log/slog"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

const (
	longPoll    = 30 * time.Second       // one receive
	emptyPause  = 100 * time.Millisecond // between two receives, if the broker does not wait
	settleLimit = 5 * time.Second        // for one settlement with its repetitions
)

// letter is one result of receiving: a delivery, nothing, or an error.
type letter struct {
	delivery queue.Delivery
	got      bool
	err      error
	reply    chan<- settlement // wants one answer when got is true
}

// settlement is what to do with a delivery once it was handled.
type settlement int

const (
	remove       settlement = iota // handled
	giveBack                       // not readable; the broker dead-letters it when it comes back too often
	removeLast                     // handled, and nothing more is wanted
	giveBackLast                   // not handled, for another step, and nothing more is wanted
)

// listener receives one session, a delivery at a time, and settles each only after it was answered.
type listener struct {
	queue   Queue
	name    string
	session string
	log     *slog.Logger
	letters chan letter
	done    chan struct{} // closed when the last settlement is over
}

func listen(ctx context.Context, q Queue, name, session string, log *slog.Logger) *listener {
	l := &listener{
		queue: q, name: name, session: session, log: log,
		letters: make(chan letter), done: make(chan struct{}),
	}
	go l.run(ctx)
	return l
}

func (l *listener) run(ctx context.Context) {
	defer close(l.done)
	back, strange := backoff(), backoff()
	for ctx.Err() == nil {
		d, got, err := l.queue.Receive(ctx, l.name, l.session, longPoll)
		answers := make(chan settlement, 1)
		if !l.tell(ctx, letter{delivery: d, got: got, err: err, reply: answers}) {
			return
		}
		switch {
		case err != nil:
			pause(ctx, back.Step())
		case !got:
			back = backoff()
			pause(ctx, emptyPause)
		default:
			back = backoff()
			switch l.settle(ctx, d, answers) {
			case remove:
				strange = backoff()
			case giveBack:
				pause(ctx, strange.Step()) // it comes again at once
			case removeLast, giveBackLast:
				return
			}
		}
	}
}

func (l *listener) tell(ctx context.Context, m letter) bool {
	select {
	case l.letters <- m:
		return true
	case <-ctx.Done():
		return false
	}
}

// settle waits for the answer, settles, and returns the answer.
func (l *listener) settle(ctx context.Context, d queue.Delivery, answers <-chan settlement) (answer settlement) {
	select {
	case answer = <-answers:
	case <-ctx.Done():
		return removeLast
	}
	do := l.queue.Complete
	if answer == giveBack || answer == giveBackLast {
		do = l.queue.Abandon
	}
	limited, stop := context.WithTimeout(ctx, settleLimit)
	defer stop()
	back := backoff()
	for {
		err := do(limited, l.name, d)
		if err == nil {
			return answer
		}
		l.log.Debug("not settled", "queue", l.name, "error", err)
		if k := fault.KindOf(err); k == fault.Conflict || k == fault.Refused || !pause(limited, back.Step()) {
			return answer // it comes again when its lock expires, which is harmless
		}
	}
}
