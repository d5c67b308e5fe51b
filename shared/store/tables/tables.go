// Package tables keeps the record store in one table of Azure Table storage.
//
// All entries lie in one partition, so that a list comes in order and a query never stops at the border of
// a partition. One partition takes 2,000 operations a second, and a gate makes a few a minute. A second
// partition is the agenda, in order of due time, so that a sweep reads what is due and not the thousands of
// closed records that are kept; agenda.go says why it never loses one. (A filter on the due time makes the service
// look at all of them. BenchmarkDue has both: in Azurite, nothing due of 1,000 and of 5,000 records, 8 and 13 ms by
// filter, 3 and 4 ms by agenda. The price is two small requests more for a save that changes the due time.) An entry's version is the service's ETag, with the entry's row of the agenda.
//
// Nothing is retried inside: the answer to a repeated insert would be a conflict with oneself. Every call
// has a deadline of its own. fault.go has the kinds of its errors.
//
// Entry point: Open.
package tables

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"prowgate/shared/fault"
	"prowgate/shared/store"
	"prowgate/shared/store/internal/limit"
)

var _ store.Store = (*Store)(nil)

// The longest that a call may take, whatever its context allows.
const (
	entryTimeout = 20 * time.Second // one entry; the service itself gives up after 30
	queryTimeout = time.Minute      // all pages of a query
)

// Store is a store.Store in a table.
type Store struct {
	table *aztables.Client
	http  *http.Client // nil when the transport is the caller's

	outdated time.Duration // how old a row of the agenda that no entry names must be to be removed
}

// Close lets go of idle connections. The store still works afterwards.
func (s *Store) Close() error {
	if s.http != nil {
		s.http.CloseIdleConnections()
	}
	return nil
}

// Load implements store.Store.
func (s *Store) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	c, cancel, err := begin(ctx, "load record", entryTimeout)
	if err != nil {
		return store.Entry{}, false, err
	}
	defer cancel()
	if !storable(key) {
		return store.Entry{}, false, nil // such a key cannot have been saved
	}
	got, err := s.table.GetEntity(c.request(), partition, rowKey(key), nil)
	switch {
	case isMissing(err):
		return store.Entry{}, false, nil
	case err != nil:
		return store.Entry{}, false, c.unread(err)
	}
	e, err := decode(got.Value, got.ETag)
	if err != nil {
		return store.Entry{}, false, c.unreadable(err)
	}
	return e, true, nil
}

// Save implements store.Store. It makes one request, and one more before and after it where the due time changes.
func (s *Store) Save(ctx context.Context, e store.Entry) (string, error) {
	if err := limit.Check(e); err != nil {
		return "", err
	}
	c, cancel, err := begin(ctx, "save record", entryTimeout)
	if err != nil {
		return "", err
	}
	defer cancel()
	old := parseVersion(e.Version)
	next := version{agenda: agendaRow(e, old.agenda)}
	row, err := encode(e, next.agenda)
	if err != nil {
		return "", c.fault(fault.Refused, "the entry cannot be encoded", errors.Join(fault.ErrContent, err))
	}
	if err := s.announce(c, next.agenda, old.agenda); err != nil {
		return "", c.unread(err)
	}
	if next.etag, err = s.write(c, row, e.Version, old.etag); err != nil {
		err = c.unsaved(err)
		if !fault.Is(err, fault.MayHaveHappened) {
			s.withdraw(c, next.agenda, old.agenda)
		}
		return "", err
	}
	s.withdraw(c, old.agenda, next.agenda)
	return next.String(), nil
}

// write inserts the row, or puts it in the place of the one that has the version.
func (s *Store) write(c *call, row []byte, version string, etag azcore.ETag) (azcore.ETag, error) {
	if version == "" {
		done, err := s.table.AddEntity(c.request(), row, nil)
		return named(done.ETag, err)
	}
	if etag == "" {
		return "", errForeignVersion
	}
	done, err := s.table.UpdateEntity(c.request(), row, &aztables.UpdateEntityOptions{
		IfMatch: &etag, UpdateMode: aztables.UpdateModeReplace, // a merge would keep the old due time and the rest of a longer body
	})
	return named(done.ETag, err)
}

// named makes an error of an answer that names no version.
func named(etag azcore.ETag, err error) (azcore.ETag, error) {
	if err == nil && etag == "" {
		err = errUnnamed
	}
	return etag, err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key, version string) error {
	old := parseVersion(version)
	if old.etag == "" {
		return s.deleteUnversioned(ctx, key)
	}
	c, cancel, err := begin(ctx, "delete record", entryTimeout)
	if err != nil {
		return err
	}
	defer cancel()
	if !storable(key) {
		return nil
	}
	_, err = s.table.DeleteEntity(c.request(), partition, rowKey(key), &aztables.DeleteEntityOptions{IfMatch: &old.etag})
	switch {
	case err == nil || isMissing(err):
		s.withdraw(c, old.agenda, "")
		return nil
	case isLost(err):
		return c.conflict(err)
	}
	return c.undone(err)
}

// deleteUnversioned answers for a version that no entry can have. The service would take an empty one for
// "any", and refuse another before it looks for the entry.
func (s *Store) deleteUnversioned(ctx context.Context, key string) error {
	_, there, err := s.Load(ctx, key)
	if err == nil && there {
		return &fault.Error{Kind: fault.Conflict, Op: "delete record", Text: changedText}
	}
	return err
}
