// Package cancel handles the messages that end a gate early: the pipeline step sends one when it is
// told to stop, and so may whatever learns of a cancelled rollout.
//
// Entry point: Handle.
package cancel

import (
	"context"
	"fmt"

	"prowgate/shared/gate"
)

// Engine takes cancellations. An error means that the message has to be delivered again.
type Engine interface {
	Cancel(ctx context.Context, c gate.CancelRequest) error
}

// Handle returns the handler. A body that names neither a gate nor an execution fails its message, and
// the queue dead-letters it.
func Handle(e Engine) func(ctx context.Context, body []byte) error {
	return func(ctx context.Context, body []byte) error {
		c, err := gate.ParseCancel(body)
		if err != nil {
			return fmt.Errorf("cancel message: %w", err)
		}
		return e.Cancel(ctx, c)
	}
}
