package tables

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"prowgate/shared/store"
)

// The agenda has a row for each entry that will be due, named <due time>-<key>-<random>, and the entry names its
// row. An entry and its row are two writes, and a process may die between any two, so:
//
//   - The row is written before the entry that names it. What is stored with a due time is on the agenda.
//   - No row is used by two saves, but that an entry keeps its row while its due time stays. So whoever has
//     put a new row in the place of an old one, by compare-and-set on the entry, may remove the old one at
//     any time later: nothing will name it again.
//   - A row that no entry names was left behind, or belongs to a save that is under way. Due passes it over,
//     and removes it when it is older than any save can be.
const agenda = "agenda"

// outdatedAfter is beyond what a save takes (entryTimeout), and what a request of its may take to arrive after that.
const outdatedAfter = time.Hour

// agendaRow is the row for the entry: the old one while it is for the same due time, else a new one; empty for an
// entry that is never due. At 444 characters it stays below the 512 that a key may have.
func agendaRow(e store.Entry, old string) string {
	if e.Due.IsZero() {
		return ""
	}
	place := agendaTime(e.Due) + "-" + rowKey(e.Key) + "-"
	if strings.HasPrefix(old, place) {
		return old
	}
	return place + rand.Text()
}

// agendaTime is a text that sorts as the times do, those before 1970 too.
func agendaTime(t time.Time) string {
	return fmt.Sprintf("%016x", uint64(t.UnixMicro())^(1<<63)) //nolint:gosec // the bits are wanted
}

// agendaKey is the key of the entry that a row is for, or errForeign.
func agendaKey(row string) (string, error) {
	parts := strings.Split(row, "-")
	if len(parts) != 3 {
		return "", errForeign
	}
	key, err := hex.DecodeString(parts[1])
	if err != nil {
		return "", errForeign
	}
	return string(key), nil
}

// announce writes a row, unless it is the old one or none. That one may be left behind does no harm.
func (s *Store) announce(c *call, row, old string) error {
	if row == "" || row == old {
		return nil
	}
	entity, err := json.Marshal(aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: agenda, RowKey: row}})
	if err != nil {
		return err
	}
	_, err = s.table.AddEntity(c.request(), entity, nil)
	return err
}

// withdraw removes a row, unless it is the one that stays or none. If it fails, Due does it later.
func (s *Store) withdraw(c *call, row, stays string) {
	if row != "" && row != stays {
		_, _ = s.table.DeleteEntity(c.request(), agenda, row, nil)
	}
}

// Due implements store.Store. Entries that are due at the same time come in order of key. Each costs a request
// of its own; an entry that this package cannot read is left out, so that it holds up no other.
func (s *Store) Due(ctx context.Context, before time.Time, limit int) ([]store.Entry, error) {
	var found []store.Entry
	if limit <= 0 {
		return nil, ctx.Err()
	}
	// "." is greater than the "-" behind a time, so the bound is inclusive.
	filter := fmt.Sprintf("PartitionKey eq '%s' and RowKey lt '%s.'", agenda, agendaTime(before))
	var last *http.Response
	ctx = policy.WithCaptureResponse(ctx, &last)
	err := s.query(ctx, "list due records", filter, min(limit, mostPerPage), func(c *call, raw []byte) (bool, error) {
		var row aztables.EDMEntity
		if err := json.Unmarshal(raw, &row); err != nil {
			return false, c.unreadable(err)
		}
		e, named, err := s.onAgenda(c, row.RowKey)
		switch {
		case errors.Is(err, errForeign): // left out
		case err != nil:
			return false, err
		case named:
			found = append(found, e)
		case serverTime(last).Sub(time.Time(row.Timestamp)) > s.outdated:
			s.withdraw(c, row.RowKey, "")
		}
		return len(found) < limit, nil
	})
	return found, err
}

// onAgenda loads the entry that a row is for; named says that it is for this row that the entry is due.
func (s *Store) onAgenda(c *call, row string) (e store.Entry, named bool, err error) {
	key, err := agendaKey(row)
	if err != nil {
		return store.Entry{}, false, err
	}
	e, there, err := s.Load(c.ctx, key)
	return e, there && parseVersion(e.Version).agenda == row, err
}

// serverTime is when the service last answered, by its own clock, in which the rows' times are told too. Without
// it nothing looks old.
func serverTime(res *http.Response) time.Time {
	if res == nil {
		return time.Time{}
	}
	at, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}
