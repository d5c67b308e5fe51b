package standin

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"prowgate/shared/sqlitedb"
)

func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

func open(t *testing.T, db *sql.DB, clock func() time.Time, log *bytes.Buffer) http.Handler {
	t.Helper()
	s, err := Open(t.Context(), db, Options{
		Clock: clock, BaseURL: "http://local/standin", JobTime: 10 * time.Second, RatePerMinute: 60, Burst: 100,
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler()
}

func database(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sqlitedb.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // some tests close it before
	return db
}

func do(t *testing.T, h http.Handler, method, path, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// create makes a job and returns its id.
func create(t *testing.T, h http.Handler, job string) string {
	t.Helper()
	code, body := do(t, h, "POST", "/v1/executions", fmt.Sprintf(`{"job_name":%q,"job_execution_type":"PERIODIC"}`, job))
	var got struct{ ID string }
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.ID == "" {
		t.Errorf("create: %d %s", code, body)
	}
	return got.ID
}

// TestReopen opens the database again, as after kill -9, and finds the jobs older by the time that
// passed.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	var log bytes.Buffer
	first := database(t, path)
	h := open(t, first, noon, &log)
	var ids [8]string
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i] = create(t, h, "periodic-x-pass") })
	}
	all.Wait()
	// The first handle stays open: nothing was said to it that the second could wait for.
	h = open(t, database(t, path), func() time.Time { return noon().Add(time.Minute) }, &log)
	for _, id := range ids {
		if code, body := do(t, h, "GET", "/prowjob?prowjob="+id, ""); code != 200 || !strings.Contains(body, "success") || !strings.Contains(body, "http://local/standin/view/gs/") {
			t.Errorf("%s after the restart: %d %s", id, code, body)
		}
	}
	if log.Len() > 0 {
		t.Error(log.String())
	}
}

func TestInMemory(t *testing.T) {
	var log bytes.Buffer
	h := open(t, nil, noon, &log)
	if id := create(t, h, "periodic-x-hang"); id == "" {
		t.Error("no job")
	}
	if code, _ := do(t, h, "POST", "/v1/executions", `{"job_name":"x-other","job_execution_type":"PERIODIC"}`); code != 500 {
		t.Errorf("an unknown job: %d", code)
	}
}

func TestRateLimit(t *testing.T) {
	s, err := Open(t.Context(), nil, Options{Clock: noon, JobTime: time.Second, RatePerMinute: 9, Burst: 5, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var codes []int
	for range 8 {
		code, _ := do(t, s.Handler(), "GET", "/v1/executions", "")
		codes = append(codes, code)
	}
	if fmt.Sprint(codes[5:]) != "[200 429 429]" {
		t.Errorf("codes %v", codes)
	}
}

// TestSaveFails loses the database under a running stand-in: it goes on, and says so.
func TestSaveFails(t *testing.T) {
	var log bytes.Buffer
	db := database(t, filepath.Join(t.TempDir(), "data.db"))
	h := open(t, db, noon, &log)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	create(t, h, "periodic-x-pass")
	if !strings.Contains(log.String(), "could not be saved") {
		t.Errorf("log %q", log.String())
	}
}

func TestUnreadable(t *testing.T) {
	db := database(t, filepath.Join(t.TempDir(), "data.db"))
	open(t, db, noon, &bytes.Buffer{})
	if _, err := db.ExecContext(t.Context(), `INSERT INTO standin VALUES (1, '{')`); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), db, Options{Clock: noon, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a broken snapshot was taken")
	}
}
