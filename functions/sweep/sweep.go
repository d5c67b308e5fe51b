// Package sweep handles the timer: once a minute it finds the gates whose next event is overdue, so
// that no lost message strands one.
//
// Entry point: Handle.
package sweep

import "context"

// Engine sweeps. An error means that the store or the queue could not be reached; the next tick of the
// timer tries again.
type Engine interface {
	Sweep(ctx context.Context) error
}

// Handle returns the handler. The timer's state is of no interest.
func Handle(e Engine) func(ctx context.Context, body []byte) error {
	return func(ctx context.Context, _ []byte) error { return e.Sweep(ctx) }
}
