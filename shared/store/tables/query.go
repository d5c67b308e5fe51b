package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"prowgate/shared/store"
)

// mostPerPage is the service's own limit.
const mostPerPage = 1000

// List implements store.Store. An entity that this package cannot read is left out, as in Due, so that it hides no
// other; Load says what is wrong with it.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	var found []store.Entry
	if limit <= 0 {
		return nil, ctx.Err()
	}
	// "g" is greater than every hexadecimal digit, so it ends the range of a prefix.
	filter := fmt.Sprintf("PartitionKey eq '%s' and RowKey ge '%s' and RowKey lt '%sg' and RowKey gt '%s'",
		partition, rowKey(prefix), rowKey(prefix), rowKey(after))
	err := s.query(ctx, "list records", filter, min(limit, mostPerPage), func(c *call, row []byte) (bool, error) {
		e, err := decode(row, "")
		switch {
		case errors.Is(err, errUnnamed):
			return false, c.unread(err)
		case err == nil:
			found = append(found, e)
		}
		return len(found) < limit, nil
	})
	return found, err
}

// query calls take with each entity that the filter selects, over all pages, until it wants no more. A page may
// be empty although more follow: the service ends one when its own time is up.
func (s *Store) query(ctx context.Context, op, filter string, perPage int, take func(*call, []byte) (more bool, err error)) error {
	c, cancel, err := begin(ctx, op, queryTimeout)
	if err != nil {
		return err
	}
	defer cancel()
	top := int32(perPage)
	full := aztables.MetadataFormatFull
	pages := s.table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter, Top: &top, Format: &full})
	for pages.More() {
		page, err := pages.NextPage(c.request())
		if err != nil {
			return c.unread(err)
		}
		for _, row := range page.Entities {
			if more, err := take(c, row); err != nil || !more {
				return err
			}
		}
	}
	return nil
}
