package page

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"prowgate/shared/gate"
	"prowgate/shared/page"
	"prowgate/shared/queue"
)

const (
	shownLetters = 20      // of one queue
	shownBinary  = 4 << 10 // bytes of a body that is not text
)

// desk reads the queues, and deals with their dead letters.
type desk struct {
	Config
	turn chan struct{} // has room for one: the act that goes on
}

// queues tells the page of the queues. One that cannot be read is left out, and logged.
func (d desk) queues(ctx context.Context, opened func(page.Letter) bool) []page.Queue {
	var all []page.Queue
	for _, name := range d.Queues {
		q := page.Queue{Name: name}
		var err error
		if q.Counts, err = d.Broker.Counts(ctx, name); err == nil && q.DeadLettered > 0 {
			q.Letters, err = d.letters(ctx, name, opened)
		}
		if err != nil {
			d.Log.WarnContext(ctx, "queue not read", "queue", name, "error", err)
			continue
		}
		all = append(all, q)
	}
	return all
}

func (d desk) letters(ctx context.Context, name string, opened func(page.Letter) bool) ([]page.Letter, error) {
	found, err := d.Broker.Peek(ctx, name+queue.DeadLetter, 0, shownLetters)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	var letters []page.Letter
	for _, m := range found {
		l := page.Letter{
			Queue: name, Sequence: m.Sequence, MessageID: gate.Neutralise(m.ID), SessionID: gate.Neutralise(m.SessionID),
			Reason: gate.Neutralise(m.DeadReason), Text: gate.Neutralise(m.DeadText),
			Deliveries: m.DeliveryCount, DiedAt: m.EnqueuedAt, Size: len(m.Body),
		}
		if opened(l) {
			l.Body, l.Note = readable(m.Body)
		}
		letters = append(letters, l)
	}
	return letters, nil
}

// readable returns a body for people, and says in what it differs from the bytes that are re-sent.
func readable(body []byte) (text, note string) {
	if !isText(body) {
		shown := body[:min(len(body), shownBinary)]
		return gate.Neutralise(hex.Dump(shown)), fmt.Sprintf("not text; %d of %d bytes in hexadecimal", len(shown), len(body))
	}
	text = gate.Neutralise(string(body))
	if text != string(body) {
		note = "what EV2 would retry on is shown changed; it is re-sent as it is"
	}
	return text, note
}

// isText reports whether a body can be shown as it is.
func isText(body []byte) bool {
	invisible := func(r rune) bool { return unicode.Is(unicode.C, r) && !strings.ContainsRune("\n\r\t", r) }
	return utf8.Valid(body) && !strings.ContainsFunc(string(body), invisible)
}
