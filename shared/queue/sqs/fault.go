package sqs

import (
	"context"
	"time"

	"prowgate/shared/awsfault"
)

// service are the codes of SQS's answers that say more than their status does (SQS API, common errors; they come
// with and without a namespace, which the SDK takes off).
func service() awsfault.Service {
	return awsfault.Service{
		Conflict: []string{"ReceiptHandleIsInvalid", "MessageNotInflight"},
		NotDone:  []string{"OverLimit", "KmsThrottled"},
	}
}

// call makes one call with a deadline of its own, beyond the time that a receiver asked to wait, and gives its
// failure a kind.
func (q *Queues) call(ctx context.Context, op, name string, wait time.Duration, do func(context.Context) error) error {
	return service().Call(ctx, op, name, wait+patience, do)
}
