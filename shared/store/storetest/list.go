package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/store"
)

func listOrder(t *testing.T, s store.Store) {
	for _, key := range []string{"gate/b", "gate/a", "gate/B", "gate", "gate/", "gatf", "gate/é", "gate/z", "abort/a"} {
		put(t, s, key, noon)
	}
	got, err := s.List(t.Context(), "gate/", "", 100)
	wantKeys(t, got, err, "gate/", "gate/B", "gate/a", "gate/b", "gate/z", "gate/é")
	got, err = s.List(t.Context(), "", "", 2)
	wantKeys(t, got, err, "abort/a", "gate")
	got, err = s.List(t.Context(), "gate/a", "", 1)
	wantKeys(t, got, err, "gate/a")
	if want := load(t, s, "gate/a"); !cmp.Equal(got, []store.Entry{want}) {
		t.Errorf("got %+v, want the whole entry %+v", got, want)
	}
}

func listPages(t *testing.T, s store.Store) {
	var all, seen []string
	for i := range 7 {
		key := fmt.Sprintf("p/%d", i)
		all = append(all, key)
		put(t, s, key, noon)
	}
	put(t, s, "o/9", noon)
	put(t, s, "q/0", noon)
	for after, page := "", 3; page == 3; {
		got, err := s.List(t.Context(), "p/", after, 3)
		if err != nil || len(got) > 3 || len(seen) > len(all) {
			t.Fatalf("list after %q: %d entries, error %v, %q so far", after, len(got), err, seen)
		}
		for _, e := range got {
			seen, after = append(seen, e.Key), e.Key
		}
		page = len(got)
	}
	if diff := cmp.Diff(all, seen); diff != "" {
		t.Errorf("keys over all pages (-want +got):\n%s", diff)
	}
	got, err := s.List(t.Context(), "p/", "p/4x", 10)
	wantKeys(t, got, err, "p/5", "p/6")
	got, err = s.List(t.Context(), "p/", "o/9", 1)
	wantKeys(t, got, err, "p/0")
	got, err = s.List(t.Context(), "p/", "p/6", 10)
	wantKeys(t, got, err)
	got, err = s.List(t.Context(), "p/", "", 0)
	wantKeys(t, got, err)
}

func listWildcards(t *testing.T, s store.Store) {
	for _, key := range []string{"a_b/1", "axb/1", "a%b/1", "a*b/1", "a?b/1", "A_B/1", "a_b"} {
		put(t, s, key, noon)
	}
	for _, prefix := range []string{"a_b/", "a%b/", "a*b/", "a?b/"} {
		got, err := s.List(t.Context(), prefix, "", 10)
		wantKeys(t, got, err, prefix+"1")
	}
}
