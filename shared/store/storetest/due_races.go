package storetest

import (
	"fmt"
	"testing"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// wantDue checks that what is due are the entries with these keys, each once and as it is stored.
func wantDue(t *testing.T, s store.Store, before time.Time, keys ...string) {
	t.Helper()
	got, err := s.Due(t.Context(), before, 100)
	wantKeys(t, got, err, keys...)
	for _, e := range got {
		wantEntry(t, s, e)
	}
}

// dueRace lets saves move one due time from many sides, some to never and some to the time it already has.
// Whoever wins, the entry is found when its own due time has come, and at no other.
func dueRace(t *testing.T, s store.Store) {
	save(t, s, store.Entry{Key: "k", Due: noon, Body: []byte(`0`)})
	race(func(i int) error {
		for n := range 3 {
			e, _, err := s.Load(t.Context(), "k")
			if err != nil {
				return err
			}
			e.Due = noon.Add(time.Duration(i%4) * time.Hour)
			if i%5 == 4 && n < 2 {
				e.Due = time.Time{}
			}
			if _, err := s.Save(t.Context(), e); err != nil && !fault.Is(err, fault.Conflict) {
				t.Errorf("save: %v", err)
			}
		}
		return nil
	})
	e := load(t, s, "k")
	e.Body, e.Due = []byte(`1`), noon.Add(30*time.Minute)
	e.Version = save(t, s, e)
	wantDue(t, s, e.Due.Add(-time.Millisecond))
	wantDue(t, s, e.Due, "k")
	wantDue(t, s, noon.AddDate(1, 0, 0), "k")
	if err := s.Delete(t.Context(), "k", e.Version); err != nil {
		t.Fatalf("delete: %v", err)
	}
	wantDue(t, s, noon.AddDate(1, 0, 0))
}

// dueTies: entries that are due at the same time hold up none of the others, whatever the limit cuts off.
func dueTies(t *testing.T, s store.Store) {
	left := map[string]string{}
	for i := range 7 {
		key := fmt.Sprint("k", i)
		left[key] = put(t, s, key, noon)
	}
	for len(left) > 0 {
		got, err := s.Due(t.Context(), noon, 3)
		if err != nil || len(got) != min(3, len(left)) {
			t.Fatalf("%d entries of %d, error %v", len(got), len(left), err)
		}
		for _, e := range got {
			if left[e.Key] != e.Version {
				t.Fatalf("%q came again, or in another version", e.Key)
			}
			delete(left, e.Key)
			if err := s.Delete(t.Context(), e.Key, e.Version); err != nil {
				t.Fatalf("delete: %v", err)
			}
		}
	}
}
