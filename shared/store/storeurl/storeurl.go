// Package storeurl opens the record store that a STORE_URL names. The forms of such a URL are in
// package config, which checks them at the start along with all other settings.
//
// Entry point: Open.
package storeurl

import (
	"fmt"
	"io"

	"prowgate/shared/config"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
	"prowgate/shared/store/sqlite"
	"prowgate/shared/store/tables"
)

// Open opens the store at raw. The caller closes it when no call is under way any more. An error
// about raw itself names the accepted forms; it never repeats raw, which may hold a key.
func Open(raw string) (store.Store, io.Closer, error) {
	form, rest, err := config.StoreForm(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("store URL: %w", err)
	}
	switch form {
	case config.FormMemory:
		return memory.New(), nothing{}, nil
	case config.FormSQLite:
		s, err := sqlite.Open(rest)
		if err != nil {
			return nil, nil, fmt.Errorf("store: %w", err)
		}
		return s, s, nil
	case config.FormTable, config.FormTableStorage:
		s, err := tables.Open(raw, tables.Config{})
		if err != nil {
			return nil, nil, fmt.Errorf("store: %w", err)
		}
		return s, s, nil
	}
	return nil, nil, fmt.Errorf("store URL: no adapter opens the form %q", form)
}

// nothing is what there is to close of a store in memory.
type nothing struct{}

func (nothing) Close() error { return nil }
