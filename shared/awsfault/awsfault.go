// Package awsfault gives the failures of calls to AWS their kinds, by one rule for every adapter, and each
// call a deadline of its own.
//
// An answer is judged by its code first: the service's own, which the caller names, then what the SDK counts as
// throttling, then credentials and clocks that a later call may find repaired; and by its status else. Without an
// answer nothing has happened if the request surely did not leave: no credentials, no connection. Everything
// else may have happened, for an answer of 500 and above proves nothing.
//
// Entry points: Service.Call, and Watch for the client that the calls go over.
package awsfault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"prowgate/shared/fault"
	"prowgate/shared/sent"
)

// later are codes of requests that were not carried out because of who sent them, when: credentials that have
// run out and are renewed, a clock that is being set (AWS API references, common errors).
var later = []string{
	"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed", "RequestInTheFuture", "InvalidSignatureException",
}

// Service is what one service's answers mean beyond what is common to all.
type Service struct {
	Conflict []string          // codes: somebody else was first
	NotDone  []string          // codes: not done, and may work later
	Texts    map[string]string // by code, what people read in place of the service's own words
}

// Watch returns the client's transport watched, so that Call knows whether a request left, and mended where the
// SDK's requests break the connection that their answer comes over.
func Watch(client aws.HTTPClient) aws.HTTPClient { return sent.Watch(readable{client}) }

// readable hides the WriteTo of request bodies. The SDK closes a body when the answer's headers are there, and its
// WriteTo then fails with io.EOF (smithy-go v1.28.9, safeWriteToReadCloser). net/http, if its writer is late, looks
// only then for bytes beyond the announced length, takes that for a failed write, and closes the connection while a
// long answer is being read. Read says the same io.EOF, and there it is right.
type readable struct{ next aws.HTTPClient }

// Do implements aws.HTTPClient.
func (r readable) Do(req *http.Request) (*http.Response, error) {
	if _, writes := req.Body.(io.WriterTo); writes {
		plain := *req
		plain.Body = struct{ io.ReadCloser }{req.Body}
		req = &plain
	}
	return r.next.Do(req)
}

// Call makes one call that ends after limit. An error that has a kind already keeps it. about says in the text what
// the call was about; it may be empty.
func (s Service) Call(ctx context.Context, op, about string, limit time.Duration, do func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return &fault.Error{Kind: fault.NothingHappened, Op: op, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx, progress := sent.Begin(ctx)
	err := do(ctx)
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	text := s.text(err)
	if about != "" {
		text = about + ": " + text
	}
	return &fault.Error{Kind: s.kind(err, progress), Op: op, Text: text, Err: err}
}

// Read is Call for what changes nothing: whatever goes wrong, nothing happened, unless repeating it cannot help.
func (s Service) Read(ctx context.Context, op string, limit time.Duration, do func(context.Context) error) error {
	err := s.Call(ctx, op, "", limit, do)
	var f *fault.Error
	if errors.As(err, &f) && f.Kind != fault.Refused {
		f.Kind = fault.NothingHappened
	}
	return err
}

func (s Service) kind(err error, progress *sent.Progress) fault.Kind {
	var api smithy.APIError
	coded := errors.As(err, &api)
	if coded {
		_, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
		switch {
		case slices.Contains(s.Conflict, api.ErrorCode()):
			return fault.Conflict
		case throttled || slices.Contains(s.NotDone, api.ErrorCode()) || slices.Contains(later, api.ErrorCode()):
			return fault.NothingHappened
		}
	}
	status, answered := statusOf(err)
	switch {
	case answered:
		return statusKind(status)
	case !coded && !progress.Left(err):
		return fault.NothingHappened
	}
	return fault.MayHaveHappened
}

// statusOf is the status of the answer; the SDK speaks of a response, with the status 0, when there was none too.
func statusOf(err error) (status int, answered bool) {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		status = answer.HTTPStatusCode()
	}
	return status, status != 0
}

func statusKind(status int) fault.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return fault.NothingHappened
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return fault.Refused
	}
	return fault.MayHaveHappened
}

// text is what people read of a failure, without the request's identity and address.
func (s Service) text(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		if text, ok := s.Texts[api.ErrorCode()]; ok {
			return text
		}
		return api.ErrorCode() + words(api)
	}
	var op *smithy.OperationError
	var send *smithyhttp.RequestSendError
	var unread *smithy.DeserializationError
	switch status, answered := statusOf(err); {
	case answered && status < 400 && errors.As(err, &unread) && unread.Err != nil:
		return fmt.Sprintf("HTTP %d with an answer that cannot be read: %s", status, fault.Reason(unread.Err))
	case answered && status < 400:
		return fmt.Sprintf("HTTP %d with an answer that cannot be read", status)
	case answered:
		return fmt.Sprintf("HTTP %d", status)
	case errors.As(err, &send):
		err = send.Err
	case errors.As(err, &op):
		err = op.Err
	}
	return fault.Reason(err)
}

// words are what the service says of its code. About a signature it says nothing that helps and may repeat the
// request, with the session's token in it.
func words(api smithy.APIError) string {
	text := fault.Line(api.ErrorMessage())
	lower := strings.ToLower(api.ErrorCode() + text)
	if text == "" || strings.Contains(lower, "signature") || strings.Contains(lower, "canonical") || strings.Contains(lower, "x-amz-") {
		return ""
	}
	return ": " + text
}
