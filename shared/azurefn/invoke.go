package azurefn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"
)

// maxDrain is how much of a body that is too large is read on, so that the host, which sends the
// whole request before it looks for an answer, finds one.
const maxDrain = 64 << 20

// errTooLarge reports a body over MaxBody.
var errTooLarge = errors.New("the request is too large")

// invoke reads an invocation, runs it, and answers.
func (s *server) invoke(w http.ResponseWriter, r *http.Request, name string, handle Handler) {
	raw, err := readBody(r.Body)
	if errors.Is(err, errTooLarge) {
		s.refuse(w, r, http.StatusRequestEntityTooLarge, fmt.Sprintf("%v: at most %d bytes are read", err, MaxBody))
		return
	}
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, "the request cannot be read: "+err.Error())
		return
	}
	in, err := peel(raw)
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	in.Function, in.ID = name, r.Header.Get(invocationHeader)
	s.answer(w, r, in, handle)
}

// answer runs the function under its own log scope and turns the result into the host's verdict.
func (s *server) answer(w http.ResponseWriter, r *http.Request, in Invocation, handle Handler) {
	sc := &scope{in: in}
	ctx := context.WithValue(r.Context(), scopeKey{}, sc)
	if s.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		ctx = limited
	}
	if err := s.run(ctx, in, handle); err != nil {
		s.hold(ctx, in, err)
		write(w, http.StatusInternalServerError, failed(sc.lines(), err.Error()))
		return
	}
	write(w, http.StatusOK, succeeded(sc.lines()))
}

// hold keeps a failed message from coming again at once: until its wait is over, the host has hung up, or the
// invocation's time is over. A timer's invocation has no message. Whoever is held takes a place of the host's, so
// that Wait must hold only what no other message could do better at this time.
func (s *server) hold(ctx context.Context, in Invocation, failure error) {
	if s.Wait == nil || in.DeliveryCount == 0 {
		return
	}
	wait := s.Wait(failure, in.DeliveryCount)
	if wait <= 0 {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// run calls the function and logs how it failed: the host drops the Logs of an answer that is not
// 2xx, so this line on stdout is the only trace.
func (s *server) run(ctx context.Context, in Invocation, handle Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			s.Log.ErrorContext(ctx, "the function panicked", "error", err, "stack", string(debug.Stack()))
		}
	}()
	if err := handle(ctx, in); err != nil {
		s.Log.ErrorContext(ctx, "the invocation failed; the message will be delivered again", "error", err)
		return err
	}
	return nil
}

// readBody reads up to MaxBody bytes; it reads a larger body on without keeping it.
func readBody(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	if err != nil {
		return nil, err
	}
	if len(raw) <= MaxBody {
		return raw, nil
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(r, maxDrain)); err != nil {
		return nil, fmt.Errorf("%w (and broke off: %w)", errTooLarge, err)
	}
	return nil, errTooLarge
}
