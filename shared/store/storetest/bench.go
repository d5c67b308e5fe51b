package storetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"prowgate/shared/store"
)

// Bench measures what the engine does most: load a record and save it changed, and a sweep's question
// over a thousand records of which none is due. open returns an empty store and closes it at the
// benchmark's end.
func Bench(b *testing.B, open func(b *testing.B) store.Store) {
	b.Helper()
	for _, size := range []int{4 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("load+save/%dKiB", size>>10), func(b *testing.B) { benchLoadSave(b, open(b), size) })
	}
	b.Run("due/0of1000", func(b *testing.B) { benchDue(b, open(b)) })
}

func benchLoadSave(b *testing.B, s store.Store, size int) {
	e := store.Entry{Key: "k", Due: noon, Body: bytes.Repeat([]byte("x"), size)}
	if _, err := s.Save(b.Context(), e); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e, _, err := s.Load(b.Context(), "k")
		if err != nil {
			b.Fatal(err)
		}
		e.Due = e.Due.Add(time.Second)
		if _, err := s.Save(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
}

func benchDue(b *testing.B, s store.Store) {
	for i := range 1000 {
		e := store.Entry{Key: fmt.Sprint(i), Due: noon.Add(time.Duration(i) * time.Second), Body: []byte(`{}`)}
		if _, err := s.Save(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if got, err := s.Due(b.Context(), noon.Add(-time.Hour), 100); err != nil || len(got) != 0 {
			b.Fatalf("%d entries, error %v", len(got), err)
		}
	}
}
