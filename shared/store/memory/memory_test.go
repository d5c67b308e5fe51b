package memory_test

import (
	"testing"

	"prowgate/shared/store"
	"prowgate/shared/store/memory"
	"prowgate/shared/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}

func TestTheSameCallsGiveTheSameVersions(t *testing.T) {
	a, b := memory.New(), memory.New()
	for _, key := range []string{"x", "y", "z"} {
		va, errA := a.Save(t.Context(), store.Entry{Key: key, Body: []byte(`{}`)})
		vb, errB := b.Save(t.Context(), store.Entry{Key: key, Body: []byte(`{}`)})
		if errA != nil || errB != nil || va != vb {
			t.Errorf("save %s: versions %q and %q, errors %v and %v", key, va, vb, errA, errB)
		}
	}
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(*testing.B) store.Store { return memory.New() })
}
