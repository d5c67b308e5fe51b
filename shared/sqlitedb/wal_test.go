package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
)

// lockedFile makes a file that has no write-ahead log yet and is being written: whoever switches it now
// is told at once that it is busy.
func lockedFile(t *testing.T, path string) (writer *sql.DB) {
	t.Helper()
	writer, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close() })
	writer.SetMaxOpenConns(1)
	for _, query := range []string{"CREATE TABLE t (a)", "BEGIN IMMEDIATE"} {
		if _, err := writer.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	return writer
}

func TestSwitchTriesAgainWhileBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	writer := lockedFile(t, path)
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	waits := 0
	err = useWAL(t.Context(), db, func(context.Context) error {
		if waits++; waits == 3 {
			_, err := writer.ExecContext(t.Context(), "COMMIT")
			return err
		}
		return nil
	})
	if err != nil || waits != 3 {
		t.Errorf("error %v after %d waits, want success after the third", err, waits)
	}
}

func TestSwitchGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	lockedFile(t, path)
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = useWAL(t.Context(), db, func(context.Context) error { return errors.New("no more time") })
	if !Busy(err) {
		t.Errorf("error %v, want that the file is busy", err)
	}
}

func TestRestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 { // select chooses among what is ready at random, and the pause is not
		if err := rest(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

func TestCode(t *testing.T) {
	if code, ok := Code(errors.New("not SQLite's")); ok || code != 0 || Busy(nil) {
		t.Errorf("got code %d, %v", code, ok)
	}
}
