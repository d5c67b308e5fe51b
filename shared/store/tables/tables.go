// Package tables keeps the record store in one table of Azure Table storage.
//
// All entries lie in one partition, so that a list comes in order and a query never stops at the border of
// a partition. One partition takes 2,000 operations a second, and a gate makes a few a minute. Due is a
// property that the service filters by, not an index of its own that could part from the entries when a
// process dies between two writes: it costs a scan of the partition, which the service pages, for each
// sweep. An entry's version is the service's ETag.
//
// Nothing is retried inside: the answer to a repeated insert would be a conflict with oneself. Every call
// has a deadline of its own. fault.go has the kinds of its errors.
//
// Entry point: Open.
package tables

import (
	"context"
	"net/http"
	"strings"
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
	got, err := s.table.GetEntity(c.ctx, partition, rowKey(key), nil)
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

// Save implements store.Store.
func (s *Store) Save(ctx context.Context, e store.Entry) (string, error) {
	if err := limit.Check(e); err != nil {
		return "", err
	}
	c, cancel, err := begin(ctx, "save record", entryTimeout)
	if err != nil {
		return "", err
	}
	defer cancel()
	row, err := encode(e)
	if err != nil {
		return "", c.fault(fault.Refused, "the entry cannot be encoded", err)
	}
	etag, err := s.write(c, row, e.Version)
	switch {
	case isLost(err):
		return "", c.conflict(err)
	case err != nil:
		return "", c.undone(err)
	case etag == "":
		return "", c.fault(fault.MayHaveHappened, "the answer names no version", nil)
	}
	return string(etag), nil
}

// write inserts the row, or puts it in the place of the one that has the version.
func (s *Store) write(c *call, row []byte, version string) (azcore.ETag, error) {
	if version == "" {
		done, err := s.table.AddEntity(c.ctx, row, nil)
		return done.ETag, err
	}
	if !isETag(version) {
		return "", errForeignVersion
	}
	etag := azcore.ETag(version)
	done, err := s.table.UpdateEntity(c.ctx, row, &aztables.UpdateEntityOptions{
		IfMatch: &etag, UpdateMode: aztables.UpdateModeReplace, // a merge would keep the old due time and the rest of a longer body
	})
	return done.ETag, err
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key, version string) error {
	if !isETag(version) {
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
	etag := azcore.ETag(version)
	_, err = s.table.DeleteEntity(c.ctx, partition, rowKey(key), &aztables.DeleteEntityOptions{IfMatch: &etag})
	switch {
	case err == nil || isMissing(err):
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

// isETag reports whether a version has the form of this service's ETags; "*" would match every version.
func isETag(version string) bool {
	return strings.HasPrefix(version, `W/"`) && strings.HasSuffix(version, `"`) && len(version) > len(`W/""`)
}
