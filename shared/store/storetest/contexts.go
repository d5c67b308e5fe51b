package storetest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// endedContext: an error from every method, and no write.
func endedContext(t *testing.T, s store.Store) {
	e := store.Entry{Key: "k", Due: noon, Body: []byte(`1`)}
	e.Version = save(t, s, e)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, expired} {
		for name, err := range callAll(ctx, s, e) {
			if err == nil || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Refused) {
				t.Errorf("%s with %v: got error %v", name, ctx.Err(), err)
			}
		}
	}
	wantEntry(t, s, e)
	wantAbsent(t, s, "new")
}

// callAll calls every method so that it would work, and change e, if ctx were alive.
func callAll(ctx context.Context, s store.Store, e store.Entry) map[string]error {
	changed := e
	changed.Body = []byte(`2`)
	errs := map[string]error{}
	_, _, errs["load"] = s.Load(ctx, e.Key)
	_, errs["insert"] = s.Save(ctx, store.Entry{Key: "new", Body: []byte(`1`)})
	_, errs["save"] = s.Save(ctx, changed)
	errs["delete"] = s.Delete(ctx, e.Key, e.Version)
	_, errs["due"] = s.Due(ctx, noon, 1)
	_, errs["list"] = s.List(ctx, "", "", 1)
	return errs
}

// endingContext cancels while saves run. Whenever the cancellation strikes, a save that reports
// success is there, and one that reports that nothing happened is not.
func endingContext(t *testing.T, s store.Store) {
	for i := range 40 {
		key := fmt.Sprintf("k%02d", i)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range i * 20 {
				runtime.Gosched()
			}
			cancel()
		}()
		version, err := s.Save(ctx, store.Entry{Key: key, Body: []byte(`1`)})
		<-done
		e, there, loadErr := s.Load(t.Context(), key)
		switch {
		case loadErr != nil:
			t.Fatalf("load after a save whose context ended: %v", loadErr)
		case err == nil && (!there || e.Version != version):
			t.Errorf("save returned version %q, but stored is %+v", version, e)
		case fault.Is(err, fault.NothingHappened) && there:
			t.Errorf("save said %v, but stored is %+v", err, e)
		case fault.Is(err, fault.Conflict) || fault.Is(err, fault.Refused):
			t.Errorf("save of a new key: %v", err)
		}
	}
}
