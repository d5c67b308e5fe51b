package servicebus

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"prowgate/shared/fault"
)

// meaning is what a failure says about the call and about its link.
type meaning int

const (
	unclear  meaning = iota // neither
	gone                    // the link or the connection has ended
	refused                 // the broker understood and said no
	conflict                // the lock is gone, or somebody else has it
	undone                  // the broker or the identity did nothing, and may do it later
)

// conditions are the errors of AMQP and of Service Bus that say more than that a link has ended
// (learn.microsoft.com, AMQP errors in Service Bus; azservicebus, internal/errors.go).
var conditions = map[amqp.ErrCond]meaning{
	amqp.ErrCondUnauthorizedAccess:           refused,
	amqp.ErrCondNotFound:                     refused,
	amqp.ErrCondNotAllowed:                   refused,
	amqp.ErrCondMessageSizeExceeded:          refused,
	"com.microsoft:entity-disabled":          refused,
	"com.microsoft:auth-failed":              refused,
	"com.microsoft:message-lock-lost":        conflict,
	"com.microsoft:session-lock-lost":        conflict,
	"com.microsoft:session-cannot-be-locked": conflict,
	"com.microsoft:server-busy":              undone,
	amqp.ErrCondResourceLimitExceeded:        undone, // the queue is full
}

// codes are what the SDK makes of some errors, whose cause it then hides.
var codes = map[azservicebus.Code]meaning{
	azservicebus.CodeUnauthorizedAccess: refused,
	azservicebus.CodeNotFound:           refused,
	azservicebus.CodeLockLost:           conflict,
	azservicebus.CodeConnectionLost:     gone,
	azservicebus.CodeClosed:             gone,
}

func verdict(err error) meaning {
	var sb *azservicebus.Error
	var remote *amqp.Error
	switch {
	case errors.Is(err, errGone):
		return gone
	case errors.Is(err, azservicebus.ErrMessageTooLarge):
		return refused
	case errors.Is(err, errNotHeld), errors.Is(err, errNoLock):
		return conflict
	case errors.Is(err, ErrToken), errors.Is(err, errClosed):
		return undone
	case errors.As(err, &sb):
		return codes[sb.Code]
	case errors.As(err, &remote):
		return conditions[remote.Condition]
	}
	return unclear
}

// lost reports whether the connection should be given up: it has ended, or a call did not keep its limit
// although its caller, ctx, was still waiting.
func lost(ctx context.Context, err error) bool {
	return verdict(err) == gone || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}

// fault gives a failure its kind; otherwise is that of one which says nothing about what was done.
func (b *Bus) fault(op, name string, err error, otherwise fault.Kind) error {
	f := &fault.Error{Kind: otherwise, Op: op, Text: name + ": " + b.text(err), Err: err}
	switch verdict(err) {
	case refused:
		f.Kind = fault.Refused
	case conflict:
		f.Kind = fault.Conflict
	case undone:
		f.Kind = fault.NothingHappened
	case unclear, gone:
	}
	return f
}

// secretText are the forms in which tokens and keys are written.
var secretText = regexp.MustCompile(`(?i)\b(sig|SharedAccessKey|SharedAccessSignature)=[^&;\s]+|eyJ[\w-]+\.[\w-]+\.[\w-]+`)

// mostText is how much of a foreign text is shown, in bytes.
const mostText = 400

// text is what people read of an error. A broker may repeat what it was told, so secrets are taken out.
func (b *Bus) text(err error) string {
	text := "Service Bus: " + err.Error()
	var remote *amqp.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = "Service Bus did not answer in time"
	case errors.As(err, &remote):
		text = "Service Bus: " + string(remote.Condition) + ": " + remote.Description
	}
	for _, secret := range b.target.secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	text = strings.Join(strings.Fields(secretText.ReplaceAllString(text, "[secret]")), " ")
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "..."
	}
	return text
}
