package storetest

import (
	"fmt"
	"testing"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

func savedIsLoaded(t *testing.T, s store.Store) {
	e := store.Entry{Key: "gate/1", Due: noon, Body: []byte(`{"a":1}`)}
	e.Version = save(t, s, e)
	wantEntry(t, s, e)
	e.Body = []byte(`{"a":2}`)
	e.Version = save(t, s, e)
	wantEntry(t, s, e)
}

func missing(t *testing.T, s store.Store) {
	put(t, s, "there", noon)
	wantAbsent(t, s, "the")
	wantAbsent(t, s, "THERE")
	if err := s.Delete(t.Context(), "missing", "1"); err != nil {
		t.Errorf("delete what is not there: %v", err)
	}
	got, err := s.List(t.Context(), "missing", "", 10)
	wantKeys(t, got, err)
}

func insertTwice(t *testing.T, s store.Store) {
	e := store.Entry{Key: "k", Body: []byte(`"first"`)}
	first := save(t, s, e)
	_, err := s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`"second"`)})
	wantKind(t, err, fault.Conflict)
	e.Version = first
	wantEntry(t, s, e)
}

func saveStale(t *testing.T, s store.Store) {
	e := store.Entry{Key: "k", Due: noon, Body: []byte(`1`)}
	stale := save(t, s, e)
	e.Version, e.Body = stale, []byte(`2`)
	e.Version = save(t, s, e)
	_, err := s.Save(t.Context(), store.Entry{Key: "k", Version: stale, Body: []byte(`3`)})
	wantKind(t, err, fault.Conflict)
	wantEntry(t, s, e)
}

func saveMissing(t *testing.T, s store.Store) {
	version := put(t, s, "other", noon)
	_, err := s.Save(t.Context(), store.Entry{Key: "k", Version: version, Body: []byte(`1`)})
	wantKind(t, err, fault.Conflict)
	wantAbsent(t, s, "k")
}

func deleteStale(t *testing.T, s store.Store) {
	e := store.Entry{Key: "k", Body: []byte(`1`)}
	stale := save(t, s, e)
	e.Version = stale
	e.Version = save(t, s, e)
	put(t, s, "other", noon)
	wantKind(t, s.Delete(t.Context(), "k", stale), fault.Conflict)
	wantKind(t, s.Delete(t.Context(), "k", ""), fault.Conflict)
	wantEntry(t, s, e)
	if err := s.Delete(t.Context(), "k", e.Version); err != nil {
		t.Errorf("delete with the current version: %v", err)
	}
	wantAbsent(t, s, "k")
	load(t, s, "other")
}

func versionsDiffer(t *testing.T, s store.Store) {
	e := store.Entry{Key: "k", Body: []byte(`"the same"`)}
	seen := map[string]bool{}
	for range 20 {
		e.Version = save(t, s, e)
		if seen[e.Version] {
			t.Fatalf("version %q was given out twice", e.Version)
		}
		seen[e.Version] = true
	}
}

func versionsAfterDelete(t *testing.T, s store.Store) {
	seen := map[string]bool{}
	for i := range 5 {
		e := store.Entry{Key: "k", Body: []byte(fmt.Sprint(i))}
		for range 2 {
			e.Version = save(t, s, e)
			if seen[e.Version] {
				t.Fatalf("version %q came back after a delete", e.Version)
			}
			seen[e.Version] = true
		}
		if err := s.Delete(t.Context(), "k", e.Version); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
}
