package dynamodb

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"prowgate/shared/fault"
)

// The codes of answers that say more than their status does (DynamoDB API, error handling).
var (
	lost    = []string{"ConditionalCheckFailedException"}
	notDone = []string{
		"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "Throttling",
		"TransactionConflictException", "ReplicatedWriteConflictException",
	}
)

// reading makes one call that changes nothing: whatever goes wrong, nothing happened, unless repeating it
// cannot help.
func reading(ctx context.Context, op string, do func(context.Context) error) error {
	return call(ctx, op, do, func(err error) fault.Kind {
		if kindOf(err) == fault.Refused {
			return fault.Refused
		}
		return fault.NothingHappened
	})
}

// writing makes one call that changes something.
func writing(ctx context.Context, op string, do func(context.Context) error) error {
	return call(ctx, op, do, kindOf)
}

// call makes one call with a deadline of its own and gives its failure a kind.
func call(ctx context.Context, op string, do func(context.Context) error, kind func(error) fault.Kind) error {
	if err := ctx.Err(); err != nil {
		return &fault.Error{Kind: fault.NothingHappened, Op: op, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := do(ctx); err != nil {
		return &fault.Error{Kind: kind(err), Op: op, Text: reason(err), Err: err}
	}
	return nil
}

// kindOf returns the kind of a failed write. Without an answer only a connection that was never made proves
// that nothing happened; an answer of 500 and above proves nothing.
func kindOf(err error) fault.Kind {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return fault.NothingHappened
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch {
		case slices.Contains(lost, api.ErrorCode()):
			return fault.Conflict
		case slices.Contains(notDone, api.ErrorCode()):
			return fault.NothingHappened
		}
	}
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode() >= 400 && answer.HTTPStatusCode() < 500 {
		return fault.Refused
	}
	return fault.MayHaveHappened
}

// reason is the text of a failure without the request's identity and address.
func reason(err error) string {
	var api smithy.APIError
	switch {
	case !errors.As(err, &api):
	case slices.Contains(lost, api.ErrorCode()):
		return "the record was changed by somebody else"
	default:
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		err = op.Err
	}
	return err.Error()
}
