// Package submit handles the gating messages that the pipeline sends: a valid one starts a gate, one
// that breaks a rule is answered with a rejection.
//
// Entry point: Handle.
package submit

import (
	"context"
	"fmt"

	"prowgate/shared/gate"
)

// Engine takes gating messages. An error means that the message has to be delivered again.
type Engine interface {
	Submit(ctx context.Context, g gate.Gating) error
	Reject(ctx context.Context, r gate.Rejection) error
}

// Handle returns the handler. A body that names no gate fails its message, and the queue dead-letters
// it: there is nobody to answer.
func Handle(e Engine) func(ctx context.Context, body []byte) error {
	return func(ctx context.Context, body []byte) error {
		g, rejection, err := gate.ParseGating(body)
		switch {
		case err != nil:
			return fmt.Errorf("gating message: %w", err)
		case rejection != nil:
			return e.Reject(ctx, *rejection)
		}
		return e.Submit(ctx, g)
	}
}
