package tables

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"prowgate/infra/wire"
	"prowgate/shared/store"
	"prowgate/shared/store/storetest"
)

// key is the well-known key of the emulators' one account (learn.microsoft.com, Use the Azurite emulator).
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

// account is an Azurite with as many tables as are asked for.
type account struct {
	address string
	tables  atomic.Int64
}

func start(tb testing.TB) *account {
	tb.Helper()
	return &account{address: wire.Start(tb, "tables.mjs")}
}

// value is the STORE_URL of a table.
func (a *account) value(table string) string {
	return "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=" + key +
		";TableEndpoint=http://" + a.address + "/devstoreaccount1;TableName=" + table
}

// open makes a table and returns the store in it, with the given transport or the store's own.
func (a *account) open(tb testing.TB, transport policy.Transporter) *Store {
	tb.Helper()
	name := fmt.Sprintf("records%d", a.tables.Add(1))
	if _, err := a.openMissing(tb, name, nil).table.CreateTable(tb.Context(), nil); err != nil {
		tb.Fatal(err)
	}
	return a.openMissing(tb, name, transport)
}

func (a *account) openMissing(tb testing.TB, table string, transport policy.Transporter) *Store {
	tb.Helper()
	s, err := Open(a.value(table), Config{Transport: transport})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	a := start(t)
	storetest.Run(t, func(t *testing.T) store.Store { return a.open(t, nil) })
}

func BenchmarkStore(b *testing.B) {
	a := start(b)
	storetest.Bench(b, func(b *testing.B) store.Store { return a.open(b, nil) })
}
