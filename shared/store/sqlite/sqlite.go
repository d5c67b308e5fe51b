// Package sqlite keeps the record store in a table of a SQLite file, beside whatever else is in the
// file. Any number of processes may use the file at once.
//
// Entry point: Open.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"prowgate/shared/sqlitedb"
	"prowgate/shared/store"
	"prowgate/shared/store/internal/limit"
)

var _ store.Store = (*Store)(nil)

// Times are microseconds since 1970 in UTC, NULL for never. Keys compare byte by byte. The body is
// the last column, so that the others are read without following its overflow pages.
const schema = `
CREATE TABLE IF NOT EXISTS store_entries (
	key     TEXT NOT NULL PRIMARY KEY,
	version TEXT NOT NULL,
	due     INTEGER,
	body    BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS store_entries_due ON store_entries (due, key) WHERE due IS NOT NULL;`

// Store is a store.Store in a SQLite file. See fault.go for the kinds of its errors.
type Store struct {
	db   *sql.DB
	load *sql.Stmt // prepared, because every message loads its record at least once
}

// Open opens the file at path, creating it and its table where they are missing.
func Open(path string) (*Store, error) {
	db, err := sqlitedb.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(schema); err != nil { //nolint:noctx // once, at the start; a wait for other processes ends after ten seconds
		return nil, fmt.Errorf("create table in %s: %w", path, errors.Join(err, db.Close()))
	}
	load, err := db.Prepare(`SELECT key, version, due, body FROM store_entries WHERE key = ?`) //nolint:noctx // as above
	if err != nil {
		return nil, fmt.Errorf("prepare for %s: %w", path, errors.Join(err, db.Close()))
	}
	return &Store{db: db, load: load}, nil
}

// Close waits for calls under way and closes the file. Later calls fail with NothingHappened.
func (s *Store) Close() error { return errors.Join(s.load.Close(), s.db.Close()) }

// Load implements store.Store.
func (s *Store) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	rows, err := s.load.QueryContext(ctx, key)
	found, err := entries("load record", rows, err)
	if err != nil || len(found) == 0 {
		return store.Entry{}, false, err
	}
	return found[0], true, nil
}

// Save implements store.Store. The new version is random, so that no key ever sees one again.
func (s *Store) Save(ctx context.Context, e store.Entry) (string, error) {
	if err := limit.Check(e); err != nil {
		return "", err
	}
	version, body := rand.Text(), append([]byte{}, e.Body...)
	query := `UPDATE store_entries SET version = ?, due = ?, body = ? WHERE key = ? AND version = ?`
	args := []any{version, dueColumn(e.Due), body, e.Key, e.Version}
	if e.Version == "" {
		query = `INSERT INTO store_entries (version, due, body, key) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
		args = args[:4]
	}
	n, err := s.write(ctx, "save record", query, args...)
	if err == nil && n == 0 {
		err = conflict("save record")
	}
	if err != nil {
		return "", err
	}
	return version, nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key, version string) error {
	n, err := s.write(ctx, "delete record", `DELETE FROM store_entries WHERE key = ? AND version = ?`, key, version)
	if err != nil || n > 0 {
		return err
	}
	_, there, err := s.Load(ctx, key)
	if err == nil && there {
		err = conflict("delete record")
	}
	return err
}

// Due implements store.Store. Entries that are due at the same time come in order of key.
func (s *Store) Due(ctx context.Context, before time.Time, limit int) ([]store.Entry, error) {
	return s.read(ctx, "list due records", `SELECT key, version, due, body FROM store_entries
		WHERE due <= ? ORDER BY due, key LIMIT ?`, before.UnixMicro(), max(limit, 0))
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	// 0xff occurs in no UTF-8 text, so it ends the range of a prefix; LIKE would know wildcards.
	return s.read(ctx, "list records", `SELECT key, version, due, body FROM store_entries
		WHERE key >= ? AND key < ? AND key > ? ORDER BY key LIMIT ?`, prefix, prefix+"\xff", after, max(limit, 0))
}

// write runs one statement and returns how many rows it changed. It takes the connection first: an
// error up to there means that nothing was sent.
func (s *Store) write(ctx context.Context, op, query string, args ...any) (n int64, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return 0, nothing(op, err)
	}
	defer func() { _ = conn.Close() }() // gives the connection back; what the statement did is known
	if err := ctx.Err(); err != nil {
		return 0, nothing(op, err)
	}
	res, err := conn.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, afterSending(op, err)
	}
	if n, err = res.RowsAffected(); err != nil {
		return 0, afterSending(op, err)
	}
	return n, nil
}

// read returns the entries a query selects.
func (s *Store) read(ctx context.Context, op, query string, args ...any) ([]store.Entry, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	return entries(op, rows, err)
}

// entries reads what a query, or its failure, has come to. Whatever goes wrong, reading has changed nothing.
func entries(op string, rows *sql.Rows, err error) ([]store.Entry, error) {
	if err != nil {
		return nil, nothing(op, err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has told what there is to tell
	var found []store.Entry
	for rows.Next() {
		var e store.Entry
		var due sql.NullInt64
		if err := rows.Scan(&e.Key, &e.Version, &due, &e.Body); err != nil {
			return nil, nothing(op, err)
		}
		if due.Valid {
			e.Due = time.UnixMicro(due.Int64).UTC()
		}
		found = append(found, e)
	}
	if err := rows.Err(); err != nil {
		return nil, nothing(op, err)
	}
	return found, nil
}

func dueColumn(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}
