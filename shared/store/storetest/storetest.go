// Package storetest is the one suite that every adapter of the record store passes: compare-and-set
// under races, the order and bounds of Due and List, awkward keys, large bodies, contexts that end.
// An adapter's own tests add only what is special to it.
//
// Entry points: Run in a test, Bench in a benchmark.
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// noon is the time that due times are told from. It has milliseconds, the precision that every
// adapter keeps.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 7_000_000, time.UTC)

type check struct {
	name string
	run  func(t *testing.T, s store.Store)
}

// Run runs every check, each on a store of its own: open returns an empty one that may be used until
// the test it was given ends, and closes it there.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func checks() []check {
	return []check{
		{"a saved entry is loaded as it was", savedIsLoaded},
		{"a missing key is no error", missing},
		{"inserting twice is a conflict", insertTwice},
		{"saving needs the current version", saveStale},
		{"saving what is not there is a conflict", saveMissing},
		{"deleting needs the current version", deleteStale},
		{"every save has a version of its own", versionsDiffer},
		{"a version does not come back after a delete", versionsAfterDelete},
		{"one insert of many wins", insertRace},
		{"no increment of many is lost", incrementRace},
		{"one delete or save of many wins", deleteRace},
		{"due entries come most overdue first", dueOrder},
		{"the due bound is inclusive", dueBound},
		{"an entry without a due time is never due", dueNever},
		{"a save moves and removes the due time", dueChanges},
		{"the due limit is kept", dueLimit},
		{"due times that many move are found where they end", dueRace},
		{"entries that are due at once all come", dueTies},
		{"due times keep milliseconds and come in UTC", duePrecision},
		{"a list has every key with its prefix in order", listOrder},
		{"a list goes on after a key", listPages},
		{"a list's prefix has no wildcards", listWildcards},
		{"awkward keys are keys", awkwardKeys},
		{"keys outside the bounds are refused", refusedKeys},
		{"bodies up to 512 KiB come back whole", largeBodies},
		{"bodies over 512 KiB are refused", refusedBodies},
		{"bodies are copies", bodiesAreCopies},
		{"a context that has ended gives an error", endedContext},
		{"a context that ends meanwhile leaves no wrong answer", endingContext},
	}
}

// save saves e, which must work, and returns its new version.
func save(t *testing.T, s store.Store, e store.Entry) string {
	t.Helper()
	version, err := s.Save(t.Context(), e)
	if err != nil {
		t.Fatalf("save %q: %v", e.Key, err)
	}
	if version == "" {
		t.Fatalf("save %q: empty version", e.Key)
	}
	return version
}

// put inserts an entry with a small body.
func put(t *testing.T, s store.Store, key string, due time.Time) string {
	t.Helper()
	return save(t, s, store.Entry{Key: key, Due: due, Body: []byte(`{}`)})
}

// load loads what must be there.
func load(t *testing.T, s store.Store, key string) store.Entry {
	t.Helper()
	e, ok, err := s.Load(t.Context(), key)
	if err != nil || !ok {
		t.Fatalf("load %q: found %v, error %v", key, ok, err)
	}
	return e
}

func wantAbsent(t *testing.T, s store.Store, key string) {
	t.Helper()
	e, ok, err := s.Load(t.Context(), key)
	if err != nil || ok {
		t.Errorf("load %q: found %v (%+v), error %v; want nothing", key, ok, e, err)
	}
}

func wantEntry(t *testing.T, s store.Store, want store.Entry) {
	t.Helper()
	if diff := cmp.Diff(want, load(t, s, want.Key)); diff != "" {
		t.Errorf("entry %q (-want +got):\n%s", want.Key, diff)
	}
}

func wantKind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("got error %v, want a fault of kind %q", err, want)
	}
}

func wantKeys(t *testing.T, got []store.Entry, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want keys %q", err, want)
	}
	var keys []string
	for _, e := range got {
		keys = append(keys, e.Key)
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}
