// Package poll handles the ticks that prowgate sends itself: each looks at one gate again.
//
// Entry point: Handle.
package poll

import (
	"context"
	"fmt"

	"prowgate/shared/gate"
)

// Engine takes ticks. An error means that the message has to be delivered again.
type Engine interface {
	Poll(ctx context.Context, t gate.Tick) error
}

// Handle returns the handler. A body that is no tick fails its message, and the queue dead-letters it.
func Handle(e Engine) func(ctx context.Context, body []byte) error {
	return func(ctx context.Context, body []byte) error {
		t, err := gate.ParseTick(body)
		if err != nil {
			return fmt.Errorf("poll message: %w", err)
		}
		return e.Poll(ctx, t)
	}
}
