package funchost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"prowgate/shared/azurefn"
)

// hostVersion is the version of the real host whose source this one follows.
const hostVersion = "4.1037.0.0"

// maxAnswer is how much of an answer is read; a longer one cannot be valid and fails the invocation.
const maxAnswer = 8 << 20

// errTimedOut ends an invocation that ran for longer than the function time-out.
var errTimedOut = errors.New("the function timed out")

// invoke posts one payload to the life's handler and returns nil when the invocation succeeded. A
// time-out also asks for the handler's end, as the real host does.
func (l *life) invoke(ctx context.Context, f Function, payload []byte) error {
	id := uuid.NewString()
	log := l.host.Log.With("function", f.Name, "invocation", id)
	timeout := l.host.Package.FunctionTimeout
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, timeout, errTimedOut)
		defer stop()
	}
	err := l.post(ctx, log, f, id, payload)
	if errors.Is(err, errHangs) {
		log.Error("handler answered with success but no content; the invocation hangs until the function times out")
		<-ctx.Done()
		err = context.Cause(ctx)
	}
	if context.Cause(ctx) == errTimedOut && err != nil { //nolint:errorlint // the cause itself, never wrapped
		l.restart(fmt.Sprintf("function %s ran for longer than %v", f.Name, timeout))
		err = errTimedOut
	}
	if err != nil {
		log.Warn("invocation failed", "error", err)
		return err
	}
	l.proven.Store(true)
	return nil
}

// post sends the request and judges the answer.
func (l *life) post(ctx context.Context, log *slog.Logger, f Function, id string, payload []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.to.base.JoinPath(f.Name).String(), bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	l.to.sign(req.Header, id)
	a, err := l.exchange(req)
	if err != nil && ctx.Err() == nil {
		l.settleDown()
	}
	if err != nil {
		return fmt.Errorf("call handler: %w", err)
	}
	lines, err := judgeAnswer(a.status, a.contentType, a.body)
	for _, line := range lines {
		log.Debug(line)
	}
	return err
}

// sign adds what every request of the host's brings.
func (t *target) sign(h http.Header, invocation string) {
	h.Set("X-Azure-Functions-InvocationId", invocation)
	h.Set("X-Azure-Functions-HostVersion", hostVersion)
	h.Set(azurefn.SecretHeader, t.secret)
}

// reply is an answer read to its end.
type reply struct {
	status      int
	contentType string
	body        []byte
}

// exchange sends the request once and reads the answer.
func (l *life) exchange(req *http.Request) (reply, error) {
	res, err := l.host.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return reply{res.StatusCode, res.Header.Get("Content-Type"), body}, err
}
