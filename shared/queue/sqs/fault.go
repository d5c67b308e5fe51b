package sqs

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"prowgate/shared/fault"
)

// The codes of SQS's answers that say more than their status does (SQS API, common errors; they come with
// and without a namespace, which the SDK takes off).
var (
	lockGone = []string{"ReceiptHandleIsInvalid", "MessageNotInflight"}
	notDone  = []string{"RequestThrottled", "OverLimit", "KmsThrottled", "ThrottlingException", "Throttling", "RequestExpired"}
)

// call makes one call with a deadline of its own and gives its failure a kind.
func (q *Queues) call(ctx context.Context, op, name string, wait time.Duration, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return &fault.Error{Kind: fault.NothingHappened, Op: op, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, wait+patience)
	defer cancel()
	err := do(ctx)
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &fault.Error{Kind: kindOf(err), Op: op, Text: name + ": " + reason(err), Err: err}
}

// kindOf returns the kind of a failed call. Without an answer only a connection that was never made proves
// that nothing happened; an answer of 500 and above proves nothing.
func kindOf(err error) fault.Kind {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fault.NothingHappened
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch {
		case slices.Contains(lockGone, api.ErrorCode()):
			return fault.Conflict
		case slices.Contains(notDone, api.ErrorCode()):
			return fault.NothingHappened
		}
	}
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) {
		return fault.MayHaveHappened
	}
	switch status := answer.HTTPStatusCode(); {
	case status == http.StatusTooManyRequests:
		return fault.NothingHappened
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return fault.Refused
	}
	return fault.MayHaveHappened
}

// reason is the text of a failure without the request's identity and address.
func reason(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}
