package dynamodb

import (
	"context"

	"prowgate/shared/awsfault"
)

// lost is the code of a write whose condition did not hold.
const lost = "ConditionalCheckFailedException"

// service are the codes of DynamoDB's answers that say more than their status does (DynamoDB API, error handling).
func service() awsfault.Service {
	return awsfault.Service{
		Conflict: []string{lost},
		NotDone:  []string{"TransactionConflictException", "ReplicatedWriteConflictException"},
		Texts:    map[string]string{lost: "the record was changed by somebody else"},
	}
}

// reading makes one call that changes nothing.
func reading(ctx context.Context, op string, do func(context.Context) error) error {
	return service().Read(ctx, op, patience, do)
}

// writing makes one call that changes something.
func writing(ctx context.Context, op string, do func(context.Context) error) error {
	return service().Call(ctx, op, "", patience, do)
}
