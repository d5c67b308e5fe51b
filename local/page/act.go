package page

import (
	"context"
	"crypto/sha256"
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

// resentHash is how many bytes of a hash are in the id of a message that is re-sent.
const resentHash = 6

// errGone says that somebody else was faster.
var errGone = errors.New("the dead letter is not there any more")

// errHeld says that somebody is about to receive it.
var errHeld = errors.New("a receiver holds the dead letter; try again when its lock has ended")

// errForm says that a request is not what the page sends.
var errForm = errors.New("the form must name a queue and a dead letter's sequence number")

// act deals with one dead letter and returns what was done, for people.
type act func(ctx context.Context, name string, d queue.Delivery) (done string, err error)

// acting carries out an act for the dead letter that the request's form names. There is one act at a time, from the
// look at the letter to its end: two that have both seen it would both send it.
func (d desk) acting(do act) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		name, sequence, err := d.form(r)
		var letter queue.Delivery
		var done string
		if err == nil {
			letter, done, err = d.perform(r.Context(), do, name, sequence)
		}
		if err != nil {
			d.Log.WarnContext(r.Context(), "dead letter left", "queue", name, "sequence", sequence, "error", err)
		} else {
			d.Log.InfoContext(r.Context(), done, "queue", name, "sequence", sequence, "message", letter.ID)
		}
		d.answer(w, r, done, err)
	})
}

// form reads which dead letter is meant.
func (d desk) form(r *http.Request) (name string, sequence int64, err error) {
	name = r.PostFormValue("queue")
	sequence, err = strconv.ParseInt(r.PostFormValue("sequence"), 10, 64)
	if err != nil || sequence < 1 || !slices.Contains(d.Queues, name) {
		return "", 0, errForm
	}
	return name, sequence, nil
}

// perform looks at the letter and does to it what is to be done.
func (d desk) perform(ctx context.Context, do act, name string, sequence int64) (letter queue.Delivery, done string, err error) {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return letter, "", ctx.Err()
	}
	if letter, err = d.find(ctx, name, sequence); err == nil {
		done, err = do(ctx, name, letter)
	}
	return letter, done, err
}

// find returns the dead letter, if it is there and free.
func (d desk) find(ctx context.Context, name string, sequence int64) (queue.Delivery, error) {
	found, err := d.Broker.Peek(ctx, name+queue.DeadLetter, sequence-1, 1)
	switch {
	case err != nil:
		return queue.Delivery{}, err
	case len(found) == 0 || found[0].Sequence != sequence:
		return queue.Delivery{}, errGone
	case !found[0].LockedUntil.IsZero():
		return queue.Delivery{}, errHeld
	}
	return found[0], nil
}

// resend sends the letter's bytes once more, and then drops it. The id is a new one, for the queue would
// drop the old one as a duplicate; and always the same for this letter, so that a queue with duplicate
// detection takes it once from whoever repeats this after a lost answer, for as long as it remembers ids. A letter
// that a receiver has got hold of meanwhile is sent all the same, and is that receiver's to deal with.
func (d desk) resend(ctx context.Context, name string, letter queue.Delivery) (string, error) {
	m := letter.Message
	m.ID, m.ScheduledAt = resentID(letter), time.Time{}
	if err := d.Broker.Send(ctx, name, m); err != nil {
		return "", fmt.Errorf("not known to be re-sent: %w", err)
	}
	done := "Re-sent to " + name + " as " + m.ID + "."
	err := d.Broker.Discard(ctx, name+queue.DeadLetter, letter.Sequence)
	if err != nil && fault.Is(err, fault.Conflict) {
		return done + " Somebody else has taken the dead letter meanwhile.", nil
	}
	if err != nil {
		return "", fmt.Errorf("re-sent, but still a dead letter: %w", err)
	}
	return done, nil
}

// resentID returns the id of the message that takes the letter's place. The number alone would not do: a queue that
// knows a message of that id, of a file before this one or of somebody who chose it, would drop the letter's bytes as
// a duplicate, and nobody would have them any more.
func resentID(letter queue.Delivery) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s", len(letter.ID), letter.ID) // the length, so that no two letters read alike
	h.Write(letter.Body)
	return fmt.Sprintf("resent-%d-%x", letter.Sequence, h.Sum(nil)[:resentHash])
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
