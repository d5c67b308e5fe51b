package storetest

import (
	"testing"
	"time"

	"prowgate/shared/store"
)

func dueOrder(t *testing.T, s store.Store) {
	put(t, s, "b", noon.Add(-time.Minute))
	put(t, s, "a", noon.Add(-time.Second))
	put(t, s, "before 1970", time.Date(1969, 7, 20, 20, 17, 40, 0, time.UTC))
	put(t, s, "c", noon.Add(-time.Hour))
	put(t, s, "later", noon.Add(time.Minute))
	got, err := s.Due(t.Context(), noon, 10)
	wantKeys(t, got, err, "before 1970", "c", "b", "a")
}

func dueBound(t *testing.T, s store.Store) {
	put(t, s, "at", noon)
	put(t, s, "after", noon.Add(time.Millisecond))
	got, err := s.Due(t.Context(), noon.Add(-time.Millisecond), 10)
	wantKeys(t, got, err)
	got, err = s.Due(t.Context(), noon, 10)
	wantKeys(t, got, err, "at")
	got, err = s.Due(t.Context(), noon.In(time.FixedZone("", -7*3600)), 10)
	wantKeys(t, got, err, "at")
}

func dueNever(t *testing.T, s store.Store) {
	put(t, s, "never", time.Time{})
	got, err := s.Due(t.Context(), noon.AddDate(1000, 0, 0), 10)
	wantKeys(t, got, err)
	if e := load(t, s, "never"); !e.Due.IsZero() {
		t.Errorf("due time %v, want zero", e.Due)
	}
}

func dueChanges(t *testing.T, s store.Store) {
	e := store.Entry{Key: "k", Body: []byte(`{}`)}
	e.Version = save(t, s, e)
	e.Due = noon.Add(time.Hour)
	e.Version = save(t, s, e)
	got, err := s.Due(t.Context(), noon, 10)
	wantKeys(t, got, err)
	e.Due = noon
	e.Version = save(t, s, e)
	got, err = s.Due(t.Context(), noon.Add(2*time.Hour), 10)
	wantKeys(t, got, err, "k")
	e.Due = time.Time{}
	e.Version = save(t, s, e)
	got, err = s.Due(t.Context(), noon.Add(2*time.Hour), 10)
	wantKeys(t, got, err)
	e.Due = noon
	e.Version = save(t, s, e)
	if err := s.Delete(t.Context(), "k", e.Version); err != nil {
		t.Fatalf("delete: %v", err)
	}
	got, err = s.Due(t.Context(), noon, 10)
	wantKeys(t, got, err)
}

func dueLimit(t *testing.T, s store.Store) {
	for i, key := range []string{"d", "c", "b", "a"} {
		put(t, s, key, noon.Add(time.Duration(i)*time.Second))
	}
	got, err := s.Due(t.Context(), noon.Add(time.Hour), 3)
	wantKeys(t, got, err, "d", "c", "b")
	got, err = s.Due(t.Context(), noon.Add(time.Hour), 0)
	wantKeys(t, got, err)
}

func duePrecision(t *testing.T, s store.Store) {
	e := store.Entry{Key: "k", Due: noon.In(time.FixedZone("", 3*3600)), Body: []byte(`{"a":1}`)}
	e.Version = save(t, s, e)
	e.Due = noon
	wantEntry(t, s, e)
	if loc := load(t, s, "k").Due.Location(); loc != time.UTC {
		t.Errorf("the due time comes in %v, want UTC", loc)
	}
	got, err := s.Due(t.Context(), noon, 1)
	wantKeys(t, got, err, "k")
	if len(got) == 1 && (!got[0].Due.Equal(noon) || got[0].Version != e.Version || string(got[0].Body) != `{"a":1}`) {
		t.Errorf("got %+v, want the whole entry", got[0])
	}
}
