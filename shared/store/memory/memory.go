// Package memory keeps the record store in memory: for tests, for the simulator, and for a local host
// that was asked to keep nothing. Same calls in the same order give the same answers, the versions
// too; nothing depends on the order of a map.
//
// Entry point: New.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/store"
	"prowgate/shared/store/internal/limit"
)

var _ store.Store = (*Store)(nil)

// Store is a store.Store that ends with the process. A call whose context is over fails with a fault
// of kind NothingHappened.
type Store struct {
	mu      sync.Mutex
	last    uint64 // of all versions given out; counting over all keys keeps them from coming back
	entries map[string]store.Entry
}

// New returns an empty store.
func New() *Store { return &Store{entries: map[string]store.Entry{}} }

// Load implements store.Store.
func (s *Store) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	if err := alive(ctx, "load record"); err != nil {
		return store.Entry{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	return own(e), ok, nil
}

// Save implements store.Store.
func (s *Store) Save(ctx context.Context, e store.Entry) (string, error) {
	if err := limit.Check(e); err != nil {
		return "", err
	}
	if err := alive(ctx, "save record"); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[e.Key].Version != e.Version {
		return "", conflict("save record")
	}
	s.last++
	e = own(e)
	e.Version = strconv.FormatUint(s.last, 10)
	s.entries[e.Key] = e
	return e.Version, nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key, version string) error {
	if err := alive(ctx, "delete record"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if ok && e.Version != version {
		return conflict("delete record")
	}
	delete(s.entries, key)
	return nil
}

// Due implements store.Store. Entries that are due at the same time come in order of key.
func (s *Store) Due(ctx context.Context, before time.Time, limit int) ([]store.Entry, error) {
	if err := alive(ctx, "list due records"); err != nil {
		return nil, err
	}
	isDue := func(e store.Entry) bool { return !e.Due.IsZero() && !e.Due.After(before) }
	return s.pick(limit, isDue, func(a, b store.Entry) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key))
	}), nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	if err := alive(ctx, "list records"); err != nil {
		return nil, err
	}
	wanted := func(e store.Entry) bool { return e.Key > after && strings.HasPrefix(e.Key, prefix) }
	return s.pick(limit, wanted, func(a, b store.Entry) int { return cmp.Compare(a.Key, b.Key) }), nil
}

// pick returns copies of the first limit entries that keep wants, in a total order.
func (s *Store) pick(limit int, keep func(store.Entry) bool, order func(a, b store.Entry) int) []store.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []store.Entry
	for _, e := range s.entries {
		if keep(e) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, order)
	found = found[:min(max(limit, 0), len(found))]
	for i := range found {
		found[i] = own(found[i])
	}
	return found
}

// own returns e with a body that nobody else holds and a time in UTC.
func own(e store.Entry) store.Entry {
	e.Body = bytes.Clone(e.Body)
	e.Due = e.Due.UTC()
	return e
}

func alive(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return &fault.Error{Kind: fault.NothingHappened, Op: op, Err: err}
	}
	return nil
}

func conflict(op string) error {
	return &fault.Error{Kind: fault.Conflict, Op: op, Text: "the record was changed by somebody else"}
}
