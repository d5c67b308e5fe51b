// Package store holds the contract of the record store: documents under a key, changed only by
// compare-and-set on a version, and found again by the time they are due. Adapters live in the
// packages below it; storetest is the one suite that all of them pass.
//
// Entry point: Store.
package store

import (
	"context"
	"time"
)

// Entry is one document.
type Entry struct {
	Key     string    // 1-200 bytes of any text
	Version string    // set by the store; opaque; empty means "must not exist yet"
	Due     time.Time // when the sweep should look at it; zero means never; at least millisecond precision, UTC
	Body    []byte    // JSON, up to 512 KiB
}

// Store keeps entries. All methods may be used by many goroutines and many processes at once. Errors
// carry a fault kind: Conflict where compare-and-set lost, NothingHappened or MayHaveHappened where
// the store could not be reached. The store does not retry what may have happened: the caller loads
// and decides again.
type Store interface {
	// Load returns the entry; ok is false when there is none.
	Load(ctx context.Context, key string) (e Entry, ok bool, err error)
	// Save writes e if the stored version still is e.Version (or if none is stored, when it is empty)
	// and returns the new version; otherwise a fault of kind Conflict, and nothing is written.
	Save(ctx context.Context, e Entry) (version string, err error)
	// Delete removes the entry if its version still is the given one; a fault of kind Conflict when
	// it is another. Deleting what is not there is no error.
	Delete(ctx context.Context, key, version string) error
	// Due returns up to limit entries with a due time at or before the given one, the most overdue
	// first. What was found before an error comes with it. Due and List leave out an entry that is not one of
	// this store's making, which Load reports.
	Due(ctx context.Context, before time.Time, limit int) ([]Entry, error)
	// List returns up to limit entries whose key begins with prefix, in order of key, from after the
	// given key (empty: from the start).
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)
}
