package sqlitedb_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"prowgate/shared/sqlitedb"
)

// childFile names the file that a copy of this test program opens as a process of its own.
const childFile = "SQLITEDB_TEST_CHILD_FILE"

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.Open(path)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func pragma(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	var value string
	if err := db.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
		t.Fatalf("pragma %s: %v", name, err)
	}
	return value
}

func TestSettings(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"))
	for name, want := range map[string]string{"journal_mode": "wal", "busy_timeout": "10000", "synchronous": "1"} {
		if got := pragma(t, db, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestAnyPath opens files whose names mean something in a URI, and looks for exactly that file.
func TestAnyPath(t *testing.T) {
	names := []string{
		"a b.db", "a?b.db", "a?mode=memory&x=.db", "a%b.db", "a%20b.db", "a%00b.db", "a#b.db", "a+b.db", "a&b=c.db",
		"a:b.db", "file:a.db", "'a'.db", `"a".db`, "é🚢.db", "no ending", `a\b.db`, "a;b.db", "@a.db", "a,b.db", "~a.db",
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name+".d")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			db := open(t, path)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (a)"); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 1 || files[0].Name() != name {
				t.Errorf("the folder holds %v, error %v; want only %q", files, err, name)
			}
		})
	}
}

func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	open(t, "a b.db")
	if _, err := os.Stat("a b.db"); err != nil {
		t.Error(err)
	}
}

func TestRefusedPaths(t *testing.T) {
	dir := t.TempDir()
	noDatabase := filepath.Join(dir, "text")
	if err := os.WriteFile(noDatabase, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", ":memory:", dir, noDatabase, filepath.Join(dir, "missing", "a.db")} {
		db, err := sqlitedb.Open(path)
		if err == nil {
			t.Errorf("open %q: no error", path)
			_ = db.Close()
		}
	}
}

// TestWritersWaitForOneAnother runs transactions that read before they write over several handles.
func TestWritersWaitForOneAnother(t *testing.T) {
	const handles, rounds = 4, 25
	path := filepath.Join(t.TempDir(), "a.db")
	if _, err := open(t, path).ExecContext(t.Context(), "CREATE TABLE t (n); INSERT INTO t VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, handles)
	for i := range handles {
		db := open(t, path)
		wg.Go(func() {
			for range rounds {
				errs[i] = errors.Join(errs[i], addOne(t, db))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var n int
	err := open(t, path).QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n)
	if err != nil || n != handles*rounds {
		t.Errorf("counted to %d, error %v; want %d", n, err, handles*rounds)
	}
}

func addOne(t *testing.T, db *sql.DB) error {
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var n int
	if err := tx.QueryRow("SELECT n FROM t").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE t SET n = ?", n+1); err != nil {
		return err
	}
	return tx.Commit()
}

// TestFirstOpenAtOnce opens new files from many handles at the same moment; each round is a new
// chance for two of them to switch the journal against one another.
func TestFirstOpenAtOnce(t *testing.T) {
	const rounds, openers = 8, 6
	for round := range rounds {
		path := filepath.Join(t.TempDir(), fmt.Sprint(round))
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range openers {
			wg.Go(func() {
				<-start
				if err := openAndClose(t, path); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
	}
}

func openAndClose(t *testing.T, path string) error {
	db, err := sqlitedb.Open(path)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS t (a)")
	return errors.Join(err, db.Close())
}

// TestFirstOpenByProcesses does the same with processes.
func TestFirstOpenByProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var wg sync.WaitGroup
	for range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), childFile+"="+path)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "opened and closed") {
				t.Errorf("process: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
}

// TestChild is what TestFirstOpenByProcesses runs in each process.
func TestChild(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		t.Skip("runs only as a process of TestFirstOpenByProcesses")
	}
	for range 10 {
		if err := openAndClose(t, path); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("opened and closed")
}

// TestKillKeepsCommits ends a process with SIGKILL while it has the file open after a commit.
func TestKillKeepsCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$", "-test.v")
	cmd.Env = append(os.Environ(), childFile+"="+path)
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "still alive") {
		t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
	var n int
	if err := open(t, path).QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, error %v; want the committed one alone\n%s", n, err, out)
	}
}

// TestKilledChild commits one row, begins a second and kills itself.
func TestKilledChild(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		t.Skip("runs only as a process of TestKillKeepsCommits")
	}
	db := open(t, path)
	for _, query := range []string{"CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "BEGIN", "INSERT INTO t VALUES (2)"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Kill(); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done()
	t.Log("still alive")
}
