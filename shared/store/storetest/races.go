package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// racers is how many goroutines run against one another.
const racers = 20

// race starts f(0) to f(racers-1) together, waits, and returns their errors.
func race(f func(i int) error) []error {
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, racers)
	for i := range racers {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// wantOneWinner checks that exactly one call worked and that the others lost by a conflict.
func wantOneWinner(t *testing.T, errs []error) (winner int) {
	t.Helper()
	winners := 0
	for i, err := range errs {
		if err == nil {
			winner, winners = i, winners+1
			continue
		}
		wantKind(t, err, fault.Conflict)
	}
	if winners != 1 {
		t.Fatalf("%d calls of %d won, want exactly one", winners, len(errs))
	}
	return winner
}

func insertRace(t *testing.T, s store.Store) {
	body := func(i int) string { return fmt.Sprintf(`{"winner":%d}`, i) }
	winner := wantOneWinner(t, race(func(i int) error {
		_, err := s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(body(i))})
		return err
	}))
	if got := string(load(t, s, "k").Body); got != body(winner) {
		t.Errorf("stored %s, but the winner wrote %s", got, body(winner))
	}
}

func incrementRace(t *testing.T, s store.Store) {
	const rounds = 3
	save(t, s, store.Entry{Key: "k", Body: []byte(`0`)})
	err := errors.Join(race(func(int) error {
		for range rounds {
			if err := increment(t.Context(), s, "k"); err != nil {
				return err
			}
		}
		return nil
	})...)
	if err != nil {
		t.Fatalf("increment: %v", err)
	}
	if got, want := string(load(t, s, "k").Body), fmt.Sprint(racers*rounds); got != want {
		t.Errorf("counted to %s, want %s: updates were lost", got, want)
	}
}

// increment adds one to the number in key's body, by compare-and-set until it wins.
func increment(ctx context.Context, s store.Store, key string) error {
	for {
		e, _, err := s.Load(ctx, key)
		if err != nil {
			return err
		}
		var n int
		if err := json.Unmarshal(e.Body, &n); err != nil {
			return err
		}
		e.Body = []byte(fmt.Sprint(n + 1))
		if _, err = s.Save(ctx, e); !fault.Is(err, fault.Conflict) {
			return err
		}
	}
}

// deleteRace lets saves and deletes with one version run against one another. A delete that comes
// after a delete that won is no error, so what is checked is that never both kinds won.
func deleteRace(t *testing.T, s store.Store) {
	version := put(t, s, "k", noon)
	errs := race(func(i int) error {
		if i%2 == 0 {
			return s.Delete(t.Context(), "k", version)
		}
		_, err := s.Save(t.Context(), store.Entry{Key: "k", Version: version, Body: []byte(`1`)})
		return err
	})
	won := [2]int{} // deletes, saves
	for i, err := range errs {
		if err == nil {
			won[i%2]++
			continue
		}
		wantKind(t, err, fault.Conflict)
	}
	deleted, saved := won[0] > 0, won[1] == 1
	if deleted == saved || won[1] > 1 {
		t.Errorf("%d deletes and %d saves of one version worked", won[0], won[1])
	}
	if _, there, err := s.Load(t.Context(), "k"); err != nil || there != (won[1] == 1) {
		t.Errorf("the entry is there: %v, error %v; after %d deletes and %d saves", there, err, won[0], won[1])
	}
}
