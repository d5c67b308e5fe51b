// Package step is one gating step as the pipeline sees it: it sends the gating message, follows the
// gate's session on the completion queue, prints what happens, and returns the exit code. It holds no
// state that matters: whatever ends it, the gate goes on in the service, and a step that is started
// again with the same gate id joins it.
//
// Entry point: Step.Run. All decisions are taken in one goroutine, watch.loop; two helpers send and
// receive, so that a signal is never kept waiting by a network call.
package step

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"syscall"
	"time"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// Exit codes of the step. A step that was cancelled by a signal ends with 128 plus the signal's number.
const (
	Passed      = 0
	NotPassed   = 1
	Rejected    = 2 // bad usage, or a message that was refused
	Unreachable = 3 // not reached, or no answer in time
)

// Life is how often a step that hears nothing says that it is still waiting.
const Life = 5 * time.Minute

// Queue is what a step needs of the queues.
type Queue interface {
	queue.Sender
	Receive(ctx context.Context, queue, session string, wait time.Duration) (queue.Delivery, bool, error)
	Complete(ctx context.Context, queue string, d queue.Delivery) error
	Abandon(ctx context.Context, queue string, d queue.Delivery) error
}

// Names are the names of the queues.
type Names struct{ Submit, Cancel, Completion string }

// Status tells how gates stand. Found is false when the service knows no such gate.
type Status interface {
	Gate(ctx context.Context, id string) (v gate.View, found bool, err error)
}

// Request is what the step asks for. Body is a gating message for the gate GateID, and Gating what the
// service reads in it.
type Request struct {
	GateID string
	Body   []byte
	Gating gate.Gating
	Trace  string // the W3C traceparent that its messages carry; empty means none
	// CancelID is the message id of this step's cancel. Each run has a new one: the queue drops an id that it has
	// seen, and who asks again for an abort, after one that was given up, has to be heard.
	CancelID string
}

// Step is made of parts that are all required but Status.
type Step struct {
	Queue   Queue
	Status  Status // nil where the service has no status face that the step can reach
	Names   Names
	Console *console.Console
	Log     *slog.Logger
	JSON    bool             // print the completion as JSON
	Signals <-chan os.Signal // the first cancels the gate, the second ends the step
	Clock   func() time.Time

	Connect time.Duration // how long the service may be out of reach at the start
	Grace   time.Duration // how long to wait for the abort's outcome after a signal
	Wait    time.Duration // how long to wait for the verdict, once the service has the message
}

// Run carries the step out and returns the exit code. It prints all there is to say. A ctx that ends
// counts as no answer in time.
func (s *Step) Run(ctx context.Context, r Request) int {
	ctx, end := context.WithCancel(ctx)
	defer end()
	w := newWatch(s, r)
	defer w.life.Stop()
	w.start(ctx)
	return w.loop(ctx)
}

// message returns the message of a body of this step. Its id is made of the gate id and the content, so that
// whoever repeats the same step sends a duplicate.
func (r Request) message(body []byte) queue.Message {
	sum := sha256.Sum256(body)
	return queue.Message{
		ID: r.GateID + "-" + hex.EncodeToString(sum[:16]), CorrelationID: r.GateID,
		ContentType: queue.ContentType, Trace: r.Trace, Body: body,
	}
}

// signalCode is the exit code of a process that a signal ended, as shells report it.
func signalCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 128 + int(syscall.SIGTERM)
}
