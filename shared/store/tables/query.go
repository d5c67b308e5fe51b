package tables

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"prowgate/shared/store"
)

// mostPerPage is the service's own limit.
const mostPerPage = 1000

// Due implements store.Store. Entries that are due at the same time come in order of key. The service has
// no order but that of keys, so every due entry is read and the most overdue are kept.
func (s *Store) Due(ctx context.Context, before time.Time, limit int) ([]store.Entry, error) {
	var kept []store.Entry
	if limit <= 0 {
		return nil, ctx.Err()
	}
	filter := fmt.Sprintf("PartitionKey eq '%s' and %s le %dL", partition, dueName, before.UnixMicro())
	err := s.query(ctx, "list due records", filter, mostPerPage, func(e store.Entry) bool {
		if kept = append(kept, e); len(kept) >= 2*limit {
			kept = mostOverdue(kept, limit)
		}
		return true
	})
	return mostOverdue(kept, limit), err
}

// mostOverdue returns the first limit entries in order of due time.
func mostOverdue(entries []store.Entry, limit int) []store.Entry {
	slices.SortFunc(entries, func(a, b store.Entry) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key))
	})
	return slices.Clip(entries[:min(limit, len(entries))])
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	var found []store.Entry
	if limit <= 0 {
		return nil, ctx.Err()
	}
	// "g" is greater than every hexadecimal digit, so it ends the range of a prefix.
	filter := fmt.Sprintf("PartitionKey eq '%s' and RowKey ge '%s' and RowKey lt '%sg' and RowKey gt '%s'",
		partition, rowKey(prefix), rowKey(prefix), rowKey(after))
	err := s.query(ctx, "list records", filter, min(limit, mostPerPage), func(e store.Entry) bool {
		found = append(found, e)
		return len(found) < limit
	})
	return found, err
}

// query calls take with each entity that the filter selects, over all pages, until it returns false. A
// page may be empty although more follow: the service ends one when its own time is up.
func (s *Store) query(ctx context.Context, op, filter string, perPage int, take func(store.Entry) bool) error {
	c, cancel, err := begin(ctx, op, queryTimeout)
	if err != nil {
		return err
	}
	defer cancel()
	top := int32(perPage)
	full := aztables.MetadataFormatFull
	pages := s.table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter, Top: &top, Format: &full})
	for pages.More() {
		page, err := pages.NextPage(c.ctx)
		if err != nil {
			return c.unread(err)
		}
		for _, row := range page.Entities {
			e, err := decode(row, "")
			if err != nil {
				return c.unreadable(err)
			}
			if !take(e) {
				return nil
			}
		}
	}
	return nil
}
