package tables

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"prowgate/shared/fault"
	"prowgate/shared/sent"
)

const changedText = "the record was changed by somebody else"

var (
	// errForeignVersion is a version that another store has given out.
	errForeignVersion = errors.New("the version has not the form of an ETag")
	// errUnnamed is an answer after which the version of what was written is not known.
	errUnnamed = errors.New("the answer names no version")
	// errForeign is in the chain of a fault of an entity that this package did not write.
	errForeign = fmt.Errorf("an entity of another form: %w", fault.ErrContent)
)

// call is one call of the store.
type call struct {
	ctx      context.Context
	op       string
	progress *sent.Progress // of the request made last
}

// begin returns the call and what ends it; a context that has ended already ends it before anything is sent.
func begin(ctx context.Context, op string, timeout time.Duration) (*call, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, &fault.Error{Kind: fault.NothingHappened, Op: op, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return &call{ctx: ctx, op: op}, cancel, nil
}

// request returns the context of the call's next request.
func (c *call) request() (ctx context.Context) {
	ctx, c.progress = sent.Begin(c.ctx)
	return ctx
}

func (c *call) fault(kind fault.Kind, text string, err error) error {
	return &fault.Error{Kind: kind, Op: c.op, Text: text, Err: err}
}

func (c *call) conflict(err error) error { return c.fault(fault.Conflict, changedText, err) }

// unread is the fault of a read, which has changed nothing.
func (c *call) unread(err error) error {
	kind := fault.NothingHappened
	if a, ok := answer(err); ok && statusKind(a.StatusCode) == fault.Refused {
		kind = fault.Refused
	}
	return c.fault(kind, reason(err), err)
}

// unreadable is the fault of an entity that this package did not write.
func (c *call) unreadable(err error) error {
	return c.fault(fault.NothingHappened, "the table holds something else: "+reason(err), errors.Join(errForeign, err))
}

// unsaved is the fault of a write under a version.
func (c *call) unsaved(err error) error {
	if isLost(err) {
		return c.conflict(err)
	}
	return c.undone(err)
}

// undone is the fault of a write that did not lose against another. Without an answer it may have been
// done, unless the request surely did not leave: no token, no connection.
func (c *call) undone(err error) error {
	if a, ok := answer(err); ok {
		return c.fault(statusKind(a.StatusCode), reason(err), err)
	}
	if c.progress.Left(err) {
		return c.fault(fault.MayHaveHappened, "no usable answer: "+reason(err), err)
	}
	return c.fault(fault.NothingHappened, "not sent: "+reason(err), err)
}

// statusKind is the kind of an answer that is not 2xx. A time-out and every 5xx leave open what was done;
// the service says 429 and 503 when it is busy, but a proxy may have said the 503.
func statusKind(status int) fault.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return fault.NothingHappened
	case status == http.StatusRequestTimeout:
		return fault.MayHaveHappened
	case status >= 300 && status < 500:
		return fault.Refused
	}
	return fault.MayHaveHappened
}

// isLost reports whether compare-and-set lost: the entity exists (409), has another ETag (412), or is gone
// when a certain ETag was asked for (404). The last is also what a missing table looks like, but for its code.
func isLost(err error) bool {
	a, ok := answer(err)
	return errors.Is(err, errForeignVersion) || isMissing(err) ||
		ok && (a.ErrorCode == string(aztables.EntityAlreadyExists) || a.StatusCode == http.StatusPreconditionFailed)
}

// isMissing reports whether the table is there and the entity is not.
func isMissing(err error) bool {
	a, ok := answer(err)
	return ok && a.StatusCode == http.StatusNotFound &&
		(a.ErrorCode == string(aztables.ResourceNotFound) || a.ErrorCode == string(aztables.EntityNotFound))
}

// answer returns the service's answer, if there was one.
func answer(err error) (*azcore.ResponseError, bool) {
	var a *azcore.ResponseError
	return a, errors.As(err, &a)
}

// reason is err in one line. An answer is told by its status and code, and a request without one not by its
// URL: both have in their texts what a shared access signature allows.
func reason(err error) string {
	if a, ok := answer(err); ok {
		return strings.TrimSpace(fmt.Sprintf("HTTP %d %s%s", a.StatusCode, a.ErrorCode, advice(a)))
	}
	return fault.Reason(err)
}

// advice says what to do about an answer that an operator meets once, when the service is set up.
func advice(a *azcore.ResponseError) string {
	switch {
	case a.ErrorCode == string(aztables.TableNotFound):
		return ": the table does not exist; the template makes it"
	case a.StatusCode == http.StatusForbidden:
		return ": is the identity a Storage Table Data Contributor of the table?"
	}
	return ""
}
