package page

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/store"
)

const (
	batch       = 500              // records read at once
	leastAge    = time.Second      // a list this old is looked at again
	restPerWork = 9                // and at the earliest after that many times what the last look took
	lookTime    = 20 * time.Second // that one look may take
)

// index keeps the gates in memory, and the aborts of jobs that no gate owns, in order of time, which the store does not know. Whoever asks has it
// looked through again, unless that was just tried: a store of many gates costs a tenth of the time at
// most, however many ask, whether they stay for the answer, and whether the store gives one. A record is
// decoded when its version changes.
type index struct {
	records Records
	clock   func() time.Time
	log     *slog.Logger

	turn  chan struct{}    // holds one token: who has it may use what follows
	known map[string]*item // what was decoded, also by a look that failed
	now   list
	err   error // of the last look
	next  time.Time
}

// list is what the store held at one time, the gate that came last first. It is never changed.
type list struct {
	items []*item
	byID  map[string]*item // by place.id
	asOf  time.Time
}

func newIndex(records Records, clock func() time.Time, log *slog.Logger) *index {
	x := &index{records: records, clock: clock, log: log, turn: make(chan struct{}, 1)}
	x.turn <- struct{}{}
	return x
}

// gates returns the list, the older one beside an error when the store could not be read.
func (x *index) gates(ctx context.Context) (list, error) {
	select {
	case <-x.turn:
	case <-ctx.Done():
		return list{}, ctx.Err()
	}
	defer func() { x.turn <- struct{}{} }()
	began := x.clock()
	if began.Before(x.next) {
		return x.now, x.err
	}
	x.look(ctx, began)
	ended := x.clock()
	x.next = ended.Add(max(leastAge, restPerWork*ended.Sub(began)))
	return x.now, x.err
}

// look reads the store, and goes on when whoever has asked is gone: others ask for the same.
func (x *index) look(ctx context.Context, began time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	known, err := x.read(ctx)
	if x.err = err; err == nil {
		x.known, x.now = known, listOf(known, began)
		return
	}
	if x.known == nil {
		x.known = known
	}
	maps.Copy(x.known, known)
}

// read looks through the store, and returns beside an error what it has seen.
func (x *index) read(ctx context.Context) (map[string]*item, error) {
	known := make(map[string]*item, len(x.known))
	for _, prefix := range []string{gate.KeyPrefix, gate.AbortKeyPrefix} {
		if err := x.readKind(ctx, prefix, known); err != nil {
			return known, fmt.Errorf("read records: %w", err)
		}
	}
	return known, nil
}

// readKind adds the records whose keys begin with prefix.
func (x *index) readKind(ctx context.Context, prefix string, known map[string]*item) error {
	for after := ""; ; {
		entries, err := x.records.List(ctx, prefix, after, batch)
		if err != nil {
			return err
		}
		for _, e := range entries {
			known[e.Key] = x.item(ctx, e)
		}
		if len(entries) < batch {
			return nil
		}
		after = entries[len(entries)-1].Key
	}
}

// item returns what is known of an entry. One that cannot be read is reported once for each version.
func (x *index) item(ctx context.Context, e store.Entry) *item {
	if old := x.known[e.Key]; old != nil && old.version == e.Version {
		return old
	}
	it, err := newItem(e)
	if err != nil {
		x.log.WarnContext(ctx, "a record is left out", "key", e.Key, "error", err)
		return &item{version: e.Version, broken: true}
	}
	return it
}

func listOf(known map[string]*item, asOf time.Time) list {
	l := list{byID: make(map[string]*item, len(known)), asOf: asOf}
	l.items = slices.DeleteFunc(slices.Collect(maps.Values(known)), func(it *item) bool { return it.broken })
	slices.SortFunc(l.items, func(a, b *item) int { return a.place().compare(b.place()) })
	for _, it := range l.items {
		l.byID[it.place().id] = it
	}
	return l
}

// place is where a gate stands in the list. No gate id holds a colon, so that the abort of an execution that is named
// like a gate stands elsewhere.
type place struct {
	came time.Time
	id   string // a gate's id, or the key of an abort's record
}

func (p place) compare(q place) int {
	return cmp.Or(q.came.Compare(p.came), strings.Compare(p.id, q.id))
}
