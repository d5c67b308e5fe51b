package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"prowgate/shared/fault"
	"prowgate/shared/sqlitedb"
	"prowgate/shared/store"
)

var entry = store.Entry{Key: "k", Body: []byte(`{}`)}

func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (s *Store) must(t *testing.T, query string) {
	t.Helper()
	if _, err := s.db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func wantKind(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%s: %v, want a fault of kind %q", what, err, want)
	}
}

func wantStored(t *testing.T, s *Store, want bool) {
	t.Helper()
	if _, ok, err := s.Load(t.Context(), entry.Key); err != nil || ok != want {
		t.Errorf("stored: %v, error %v; want %v", ok, err, want)
	}
}

// Before the work: somebody else holds the lock, the file is full or not to be written, the store is
// closed.

func TestLockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, other := openAt(t, path), openAt(t, path)
	s.must(t, "PRAGMA busy_timeout=1")
	other.must(t, "BEGIN IMMEDIATE")
	_, err := s.Save(t.Context(), entry)
	wantKind(t, "save", err, fault.NothingHappened)
	if !sqlitedb.Busy(err) {
		t.Errorf("the cause of %v is lost", err)
	}
	wantStored(t, s, false) // a reader is not held up
	other.must(t, "COMMIT")
	if _, err := s.Save(t.Context(), entry); err != nil {
		t.Errorf("save after the lock is gone: %v", err)
	}
}

func TestContextEndsAWaitForTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s, other := openAt(t, path), openAt(t, path)
	other.must(t, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for range 100 {
			runtime.Gosched()
		}
		cancel(nil)
	}()
	if _, err := s.Save(ctx, entry); !errors.Is(err, context.Canceled) {
		t.Errorf("save: %v, want the context's error", err)
	}
	other.must(t, "COMMIT")
	wantStored(t, s, false)
}

func TestFull(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "a.db"))
	s.must(t, "PRAGMA max_page_count=1") // SQLite raises it to the present size
	big := store.Entry{Key: "k", Body: make([]byte, 100_000)}
	_, err := s.Save(t.Context(), big)
	wantKind(t, "save", err, fault.NothingHappened)
	wantStored(t, s, false)
}

func TestReadOnly(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "a.db"))
	s.must(t, "PRAGMA query_only=1")
	_, err := s.Save(t.Context(), entry)
	wantKind(t, "save", err, fault.NothingHappened)
	wantStored(t, s, false)
}

func TestClosed(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "a.db"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Save(t.Context(), entry)
	wantKind(t, "save", err, fault.NothingHappened)
	wantKind(t, "delete", s.Delete(t.Context(), "k", "1"), fault.NothingHappened)
	_, _, err = s.Load(t.Context(), "k")
	wantKind(t, "load", err, fault.NothingHappened)
	_, err = s.List(t.Context(), "", "", 1)
	wantKind(t, "list", err, fault.NothingHappened)
}

// After the work: the context ends in the commit. The driver may then report the context although the
// row is there, and the kind has to leave that open.
func TestContextEndsInTheCommit(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "a.db"))
	doneButFailed := 0
	for i := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		s.onCommit(t, func() int32 {
			cancel()
			for range 1000 {
				runtime.Gosched() // lets the driver see it
			}
			return 0
		})
		e := store.Entry{Key: fmt.Sprint(i), Body: []byte(`{}`)}
		_, err := s.Save(ctx, e)
		s.onCommit(t, nil)
		_, there, loadErr := s.Load(t.Context(), e.Key)
		if loadErr != nil || err == nil && !there {
			t.Fatalf("save said %v, stored %v, load said %v", err, there, loadErr)
		}
		if err != nil {
			wantKind(t, "save", err, fault.MayHaveHappened)
		}
		if err != nil && there {
			doneButFailed++
		}
	}
	t.Logf("%d saves of 50 were done but reported as failed", doneButFailed)
}

func (s *Store) onCommit(t *testing.T, f driver.CommitHookFn) {
	t.Helper()
	conn, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	err = conn.Raw(func(c any) error {
		c.(driver.HookRegisterer).RegisterCommitHook(f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

type coded int

func (c coded) Error() string { return fmt.Sprintf("code %d", int(c)) }
func (c coded) Code() int     { return int(c) }

func TestKindsAfterSending(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fault.Kind
	}{
		{coded(sqlite3.SQLITE_BUSY), fault.NothingHappened},
		{coded(sqlite3.SQLITE_BUSY_SNAPSHOT), fault.NothingHappened},
		{coded(sqlite3.SQLITE_LOCKED), fault.NothingHappened},
		{coded(sqlite3.SQLITE_FULL), fault.NothingHappened},
		{fmt.Errorf("wrapped: %w", coded(sqlite3.SQLITE_READONLY_DBMOVED)), fault.NothingHappened},
		{coded(sqlite3.SQLITE_IOERR), fault.MayHaveHappened},
		{coded(sqlite3.SQLITE_IOERR_FSYNC), fault.MayHaveHappened},
		{coded(sqlite3.SQLITE_INTERRUPT), fault.MayHaveHappened},
		{coded(sqlite3.SQLITE_CORRUPT), fault.MayHaveHappened},
		{context.DeadlineExceeded, fault.MayHaveHappened},
		{errors.New("anything"), fault.MayHaveHappened},
	} {
		err := afterSending("save record", c.err)
		wantKind(t, c.err.Error(), err, c.want)
		if !errors.Is(err, c.err) {
			t.Errorf("%v: the cause is lost", c.err)
		}
	}
}
