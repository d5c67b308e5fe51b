package httpqueue

import (
	"context"
	"io"
	"net/http"
	"time"

	"prowgate/shared/queue"
)

// receive answers with a locked message. When the client is gone the message is given back at once
// instead of at the end of its lock.
func (s server) receive(w http.ResponseWriter, r *http.Request, t target) {
	d, ok := s.next(w, r, t)
	if !ok {
		return
	}
	w.Header().Set("Location", r.URL.EscapedPath())
	if err := deliver(r.Context(), w, http.StatusCreated, d); err != nil {
		s.giveBack(r.Context(), t.queue, d)
	}
}

// receiveAndDelete answers with a message and removes it. The answer has no Content-Length, so its end
// is only written when this function returns: it tells the client that the message was removed.
func (s server) receiveAndDelete(w http.ResponseWriter, r *http.Request, t target) {
	d, ok := s.next(w, r, t)
	if !ok {
		return
	}
	shown := d
	shown.Lock, shown.LockedUntil = "", time.Time{}
	err := deliver(r.Context(), w, http.StatusOK, shown)
	if err == nil {
		err = s.b.Complete(r.Context(), t.queue, d)
	}
	if err != nil {
		s.giveBack(r.Context(), t.queue, d)
		panic(http.ErrAbortHandler) // cuts the connection, so that the client does not take it for complete
	}
}

// next waits for a message; without one the request is answered.
func (s server) next(w http.ResponseWriter, r *http.Request, t target) (queue.Delivery, bool) {
	wait, err := waitOf(r)
	if err != nil {
		s.fail(w, http.StatusBadRequest, problem{Error: err.Error(), Code: codeBadRequest, Property: "timeout"})
		return queue.Delivery{}, false
	}
	// A server notices that its client is gone only once it has read the request's body.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
	d, ok, err := s.b.Receive(r.Context(), t.queue, r.URL.Query().Get("sessionId"), wait)
	if err != nil {
		s.failWith(w, err)
		return d, false
	}
	if !ok {
		w.WriteHeader(http.StatusNoContent)
	}
	return d, ok
}

// deliver writes the message, all but the end of the answer, and fails when the client is gone.
func deliver(ctx context.Context, w http.ResponseWriter, status int, d queue.Delivery) error {
	value, err := headerValue(deliveryProperties(d))
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.Header().Set(propertiesHeader, value)
	w.Header().Set("Content-Type", d.ContentType)
	setTrace(w.Header(), d.Trace)
	w.WriteHeader(status)
	if _, err := w.Write(d.Body); err != nil {
		return err
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	return ctx.Err()
}

// giveBack abandons although the client's context may be over. When that fails too, the lock's end
// gives the message back.
func (s server) giveBack(ctx context.Context, name string, d queue.Delivery) {
	_ = s.b.Abandon(context.WithoutCancel(ctx), name, d)
}
