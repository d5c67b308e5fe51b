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
	at, todo, err := e.decide(ctx, key, stored{}, first)
	for err == nil && len(todo) > 0 {
		var result gate.Event
		result, err = e.carryOut(ctx, at, todo[0])
		todo = todo[1:]
		if err == nil && result != nil {
			var more []gate.Command
			at, more, err = e.decide(ctx, key, at, result)
			todo = append(todo, more...)
		}
	}
	return err
}

// decide decides and saves: on the record as this message saved it last, when that still is the stored one, so that
// it need not be read again, otherwise on a newly loaded one. Whoever loses the race for the record decides again
// on the newer one: the event is as true as before. A decision that changes nothing is not saved, and so would not
// notice a newer record; it counts only on one that was just loaded.
func (e *Engine) decide(ctx context.Context, key string, at stored, ev gate.Event) (stored, []gate.Command, error) {
	for range mostConflicts {
		held := at.entry.Version != ""
		if !held {
			var err error
			if at, err = e.load(ctx, key); err != nil {
				return stored{}, nil, err
			}
		}
		if !at.found && !begins(ev) {
			e.Log.WarnContext(ctx, "no record for this message", "key", gate.Neutralise(key), "event", fmt.Sprintf("%T", ev))
			return stored{}, nil, nil
		}
		r, todo := e.Decide(at.record, ev, e.Clock())
		next, changed, err := e.save(ctx, at, r)
		switch {
		case err == nil && (changed || !held):
			return next, todo, nil
		case err != nil && !fault.Is(err, fault.Conflict):
			return stored{}, nil, err
		}
		at = stored{}
	}
	return stored{}, nil, &fault.Error{
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

// stored is a record as it was loaded or saved last.
type stored struct {
	entry  store.Entry
	record gate.Record
	found  bool
}

func (e *Engine) load(ctx context.Context, key string) (stored, error) {
	entry, found, err := e.Store.Load(ctx, key)
	if err != nil || !found {
		return stored{entry: store.Entry{Key: key}}, err
	}
	r, err := gate.DecodeRecord(entry.Body)
	return stored{entry: entry, record: r, found: true}, err
}

// save writes the record if the decision changed it, and returns it as it is stored now.
func (e *Engine) save(ctx context.Context, before stored, after gate.Record) (now stored, changed bool, err error) {
	now = stored{entry: before.entry, record: after, found: true}
	if before.found && after.Equal(before.record) {
		return now, false, nil
	}
	body, err := after.Encode()
	if err != nil {
		return stored{}, false, fmt.Errorf("encode record: %w", err)
	}
	now.entry.Body, now.entry.Due = body, after.Due()
	if now.entry.Version, err = e.Store.Save(ctx, now.entry); err != nil {
		return stored{}, false, err
	}
	e.logChange(ctx, before.record, after)
	e.Watch.Saved(ctx, before.record, after)
	return now, true, nil
}
