// Package sqlitedb opens the SQLite file that the local host's broker and the record store share. Any
// number of processes may have it open at once, and may open it at the same moment for the first time.
//
// Entry point: Open.
package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver, pure Go
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	patience = 10 * time.Second      // how long Open, and later each writer, waits for other processes
	pause    = 10 * time.Millisecond // between two attempts to switch the journal
)

// Open opens the file at path, creating it where it is missing; the folder must exist. Any characters
// may be in the path. Writers wait up to ten seconds for one another, less when their context ends.
// What is committed survives the end of the process by kill -9; the last commits may be lost when the
// machine loses power. Transactions begin immediate, so that two of them never deadlock on an upgrade.
// The handle has one connection: within a process, callers queue for it.
func Open(path string) (*sql.DB, error) {
	if path == "" {
		return nil, errors.New("open database: no file name")
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := useWAL(ctx, db, rest); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, errors.Join(err, db.Close()))
	}
	return db, nil
}

// dsn escapes the path, the slashes too, so that no part of it reads as a host, a query or a fragment
// of SQLite's file URI.
func dsn(path string) string {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()))
	q.Add("_pragma", "synchronous(NORMAL)")
	q.Set("_txlock", "immediate")
	return (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: q.Encode()}).String()
}

// useWAL switches the file to the write-ahead log, which stays on for whoever opens it later. The switch
// upgrades a read lock, and SQLite then fails at once instead of waiting for others (two who upgrade
// would wait for ever), so that of two first openers one has to try again. Between two attempts it
// calls wait, and gives up when that fails.
func useWAL(ctx context.Context, db *sql.DB, wait func(context.Context) error) error {
	for {
		var mode string
		err := db.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("the write-ahead log cannot be used here (journal mode %q)", mode)
		case err == nil || !Busy(err):
			return err
		}
		if wait(ctx) != nil {
			return err
		}
	}
}

// rest waits for the pause between two attempts, or fails with the context.
func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// Busy reports whether err says that another connection held the lock: the statement did not run.
func Busy(err error) bool {
	code, ok := Code(err)
	return ok && code == sqlite3.SQLITE_BUSY
}

// Code returns SQLite's primary result code of err, without the bits of the extended codes; ok is
// false when err does not come from SQLite.
func Code(err error) (code int, ok bool) {
	var coded interface{ Code() int }
	if !errors.As(err, &coded) {
		return 0, false
	}
	return coded.Code() & 0xff, true
}
