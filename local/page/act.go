package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// maxForm is more than any form of the page has.
const maxForm = 4 << 10

// errGone says that somebody else was faster.
var errGone = errors.New("the dead letter is not there any more")

// errHeld says that somebody is about to receive it.
var errHeld = errors.New("a receiver holds the dead letter; try again when its lock has ended")

// errForm says that a request is not what the page sends.
var errForm = errors.New("the form must name a queue and a dead letter's sequence number")

// act deals with one dead letter and returns what was done, for people.
type act func(ctx context.Context, name string, d queue.Delivery) (done string, err error)

// acting carries out an act for the dead letter that the request's form names.
func (d desk) acting(do act) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		name, letter, err := d.named(r)
		var done string
		if err == nil {
			done, err = do(r.Context(), name, letter)
		}
		if err != nil {
			d.Log.WarnContext(r.Context(), "dead letter left", "queue", name, "sequence", letter.Sequence, "error", err)
		} else {
			d.Log.InfoContext(r.Context(), done, "queue", name, "sequence", letter.Sequence, "message", letter.ID)
		}
		d.answer(w, r, done, err)
	})
}

// named finds the dead letter.
func (d desk) named(r *http.Request) (name string, letter queue.Delivery, err error) {
	name = r.PostFormValue("queue")
	sequence, err := strconv.ParseInt(r.PostFormValue("sequence"), 10, 64)
	if err != nil || sequence < 1 || !slices.Contains(d.Queues, name) {
		return "", letter, errForm
	}
	found, err := d.Broker.Peek(r.Context(), name+queue.DeadLetter, sequence-1, 1)
	if err != nil {
		return name, letter, err
	}
	switch {
	case len(found) == 0 || found[0].Sequence != sequence:
		return name, letter, errGone
	case !found[0].LockedUntil.IsZero():
		return name, letter, errHeld
	}
	return name, found[0], nil
}

// resend sends the letter's bytes once more, and then drops it. The id is a new one, for the queue would
// drop the old one as a duplicate; and always the same for this letter, so that whoever repeats this after
// a lost answer sends it once.
func (d desk) resend(ctx context.Context, name string, letter queue.Delivery) (string, error) {
	m := letter.Message
	m.ID, m.ScheduledAt = fmt.Sprintf("resent-%d", letter.Sequence), time.Time{}
	if err := d.Broker.Send(ctx, name, m); err != nil {
		return "", fmt.Errorf("not known to be re-sent: %w", err)
	}
	if err := d.Broker.Discard(ctx, name+queue.DeadLetter, letter.Sequence); err != nil {
		return "", fmt.Errorf("re-sent, but still a dead letter: %w", err)
	}
	return "Re-sent to " + name + " as " + m.ID + ".", nil
}

func (d desk) drop(ctx context.Context, name string, letter queue.Delivery) (string, error) {
	if err := d.Broker.Discard(ctx, name+queue.DeadLetter, letter.Sequence); err != nil {
		return "", err
	}
	return "Dropped dead letter " + letter.ID + " of " + name + ".", nil
}

// answer tells the page's script in JSON, and sends a browser without it back to the page.
func (d desk) answer(w http.ResponseWriter, r *http.Request, done string, err error) {
	script := strings.Contains(r.Header.Get("Accept"), "application/json")
	if err == nil && !script {
		http.Redirect(w, r, Path+"#letters", http.StatusSeeOther)
		return
	}
	said := map[string]string{"done": gate.Neutralise(done)}
	if err != nil {
		said = map[string]string{"error": gate.Neutralise(err.Error())}
	}
	body, _ := json.Marshal(said) // strings alone
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status(err))
	if _, err := w.Write(append(body, '\n')); err != nil {
		d.Log.DebugContext(r.Context(), "answer not written", "error", err)
	}
}

func status(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, errForm):
		return http.StatusBadRequest
	case errors.Is(err, errGone):
		return http.StatusNotFound
	case errors.Is(err, errHeld) || fault.Is(err, fault.Conflict):
		return http.StatusConflict
	}
	return http.StatusServiceUnavailable
}
