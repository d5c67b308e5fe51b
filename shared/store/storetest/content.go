package storetest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// awkward are keys that some store could take for something else: separators and characters that
// Table storage refuses, wildcards, escapes, case, accents, quotes, control characters, the bounds.
func awkward() []string {
	return []string{
		"/", "\\", "#", "?", "%", "%2F", "%25", "_", "*", ".", "..", "-", "+", "&=", "'", `"`, "''; --", "$x", "~", "|",
		" ", " a", "a ", "a", "A", "a/b", "a\\b", "a#b", "a?b", "a%b", "a b", "a_b", "a+b", "a:b", "a\tb", "a\nb", "a\r\nb",
		"é", "e\u0301", "ß", "日本語", "🚢", "\u200b", "\ufeff", "\U0010ffff", "null", "0", "00", "a\x00", "a\x00b",
		strings.Repeat("k", 199), strings.Repeat("k", 200), strings.Repeat("/", 200), strings.Repeat("é", 100), strings.Repeat("🚢", 50),
	}
}

func awkwardKeys(t *testing.T, s store.Store) {
	keys, versions := awkward(), map[string]string{}
	for _, key := range keys {
		versions[key] = save(t, s, store.Entry{Key: key, Due: noon, Body: []byte(key)})
	}
	for _, key := range keys {
		wantEntry(t, s, store.Entry{Key: key, Version: versions[key], Due: noon, Body: []byte(key)})
		got, err := s.List(t.Context(), key, "", 1)
		wantKeys(t, got, err, key)
	}
	got, err := s.List(t.Context(), "", "", len(keys)+1)
	wantKeys(t, got, err, sorted(keys)...)
	for i, key := range keys {
		if err := s.Delete(t.Context(), key, versions[key]); err != nil {
			t.Errorf("delete %q: %v", key, err)
		}
		got, err := s.List(t.Context(), "", "", len(keys)+1)
		wantKeys(t, got, err, sorted(keys[i+1:])...)
	}
}

// sorted returns the keys in order, nil when there are none.
func sorted(keys []string) []string {
	return slices.Sorted(slices.Values(keys))
}

func refusedKeys(t *testing.T, s store.Store) {
	for _, key := range []string{"", strings.Repeat("k", 201), strings.Repeat("é", 101), "a\xffb"} {
		_, err := s.Save(t.Context(), store.Entry{Key: key, Body: []byte(`{}`)})
		wantKind(t, err, fault.Refused)
	}
	got, err := s.List(t.Context(), "", "", 10)
	wantKeys(t, got, err)
}

func largeBodies(t *testing.T, s store.Store) {
	for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 256<<10 + 1, 512 << 10} {
		e := store.Entry{Key: "k", Version: "", Body: bytes.Repeat([]byte(`"é\u00e9 `), size/10+1)[:size]}
		if old, ok, err := s.Load(t.Context(), "k"); err != nil {
			t.Fatalf("load: %v", err)
		} else if ok {
			e.Version = old.Version
		}
		save(t, s, e)
		if got := load(t, s, "k").Body; !bytes.Equal(got, e.Body) {
			t.Errorf("a body of %d bytes came back as another one of %d", size, len(got))
		}
	}
}

func refusedBodies(t *testing.T, s store.Store) {
	_, err := s.Save(t.Context(), store.Entry{Key: "k", Body: make([]byte, 512<<10+1)})
	wantKind(t, err, fault.Refused)
	if !errors.Is(err, fault.ErrContent) {
		t.Errorf("%v does not say that no later try can be better", err)
	}
	wantAbsent(t, s, "k")
}

func bodiesAreCopies(t *testing.T, s store.Store) {
	const want = `{"a":1}`
	body := []byte(want)
	save(t, s, store.Entry{Key: "k", Due: noon, Body: body})
	spoil := func(b []byte) { copy(b, "spoiled") }
	spoil(body)
	spoil(load(t, s, "k").Body)
	due, err := s.Due(t.Context(), noon, 1)
	wantKeys(t, due, err, "k")
	spoil(due[0].Body)
	list, err := s.List(t.Context(), "k", "", 1)
	wantKeys(t, list, err, "k")
	spoil(list[0].Body)
	if got := string(load(t, s, "k").Body); got != want {
		t.Errorf("the stored body became %s by changes to the caller's", got)
	}
}
