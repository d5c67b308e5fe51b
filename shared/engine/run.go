package engine

import (
	"context"
	"fmt"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// mostConflicts is how often one event is decided again because somebody else saved first. Each
// conflict means that another handler went on, so that a message which loses this often can wait for
// its redelivery.
const mostConflicts = 20

// run carries one message through: decide on it, carry out the commands in order, and decide on each
// result as it comes, until nothing is left to do.
func (e *Engine) run(ctx context.Context, key string, first gate.Event) error {
	r, todo, err := e.decide(ctx, key, first)
	for err == nil && len(todo) > 0 {
		var result gate.Event
		result, err = e.carryOut(ctx, r, todo[0])
		todo = todo[1:]
		if err == nil && result != nil {
			var more []gate.Command
			r, more, err = e.decide(ctx, key, result)
			todo = append(todo, more...)
		}
	}
	return err
}

// decide loads the record, decides and saves. Whoever loses the race for the record decides again on
// the newer one: the event is as true as before.
func (e *Engine) decide(ctx context.Context, key string, ev gate.Event) (gate.Record, []gate.Command, error) {
	for range mostConflicts {
		entry, known, err := e.load(ctx, key)
		if err != nil {
			return gate.Record{}, nil, err
		}
		if !known.found && !begins(ev) {
			e.Log.WarnContext(ctx, "no record for this message", "key", gate.Neutralise(key), "event", fmt.Sprintf("%T", ev))
			return gate.Record{}, nil, nil
		}
		r, todo := e.Decide(known.record, ev, e.Clock())
		err = e.save(ctx, entry, known.record, r)
		if err == nil {
			return r, todo, nil
		}
		if !fault.Is(err, fault.Conflict) {
			return gate.Record{}, nil, err
		}
	}
	return gate.Record{}, nil, &fault.Error{
		Kind: fault.Conflict, Op: "save " + key,
		Text: fmt.Sprintf("lost against others %d times", mostConflicts),
	}
}

// begins reports whether an event may make a record.
func begins(ev gate.Event) bool {
	switch ev.(type) {
	case gate.Accepted, gate.Refused, gate.CancelAsked, gate.AbortAsked:
		return true
	}
	return false
}

// stored is a record as it was loaded.
type stored struct {
	record gate.Record
	found  bool
}

func (e *Engine) load(ctx context.Context, key string) (store.Entry, stored, error) {
	entry, found, err := e.Store.Load(ctx, key)
	if err != nil || !found {
		return store.Entry{Key: key}, stored{}, err
	}
	r, err := gate.DecodeRecord(entry.Body)
	return entry, stored{record: r, found: true}, err
}

// save writes the record if the decision changed it.
func (e *Engine) save(ctx context.Context, entry store.Entry, before, after gate.Record) error {
	body, err := after.Encode()
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	if string(body) == string(entry.Body) {
		return nil
	}
	entry.Body, entry.Due = body, after.Due()
	if _, err := e.Store.Save(ctx, entry); err != nil {
		return err
	}
	e.logChange(ctx, before, after)
	e.Watch.Saved(ctx, before, after)
	return nil
}
