package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/store"
	"prowgate/shared/store/sqlite"
)

// childFile names the file that a copy of this test program works on as a process of its own.
const childFile = "STORE_TEST_CHILD_FILE"

func TestReopenKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	first, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want := store.Entry{Key: "k", Due: time.UnixMilli(1_800_000_000_123).UTC(), Body: []byte(`{"a":1}`)}
	if want.Version, err = first.Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, path)
	got, ok, err := second.Load(t.Context(), "k")
	if diff := cmp.Diff(want, got); err != nil || !ok || diff != "" {
		t.Errorf("after reopening: found %v, error %v (-want +got):\n%s", ok, err, diff)
	}
	if _, err := second.Save(t.Context(), want); err != nil {
		t.Errorf("save with the version from before: %v", err)
	}
}

func TestTwoHandlesAreOneStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	a, b := open(t, path), open(t, path)
	version, err := a.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`1`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`2`)}); !fault.Is(err, fault.Conflict) {
		t.Errorf("insert through the other handle: %v, want a conflict", err)
	}
	if _, err := b.Save(t.Context(), store.Entry{Key: "k", Version: version, Body: []byte(`3`)}); err != nil {
		t.Errorf("save through the other handle: %v", err)
	}
	if err := a.Delete(t.Context(), "k", version); !fault.Is(err, fault.Conflict) {
		t.Errorf("delete with the version from before: %v, want a conflict", err)
	}
}

func TestManyWritersOverManyHandles(t *testing.T) {
	const handles, writers, rounds = 3, 3, 5
	path := filepath.Join(t.TempDir(), "a.db")
	var wg sync.WaitGroup
	errs := make([]error, handles*writers)
	for h := range handles {
		s := open(t, path)
		for w := range writers {
			i := h*writers + w
			wg.Go(func() { errs[i] = count(t, s, rounds) })
		}
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	wantCount(t, open(t, path), handles*writers*rounds)
}

// TestManyProcesses starts processes that open one new file at the same moment and count in it.
func TestManyProcesses(t *testing.T) {
	const processes, rounds = 4, 10
	path := filepath.Join(t.TempDir(), "a.db")
	var wg sync.WaitGroup
	for range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), childFile+"="+path)
		wg.Go(func() {
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "counted to the end") {
				t.Errorf("process: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	wantCount(t, open(t, path), processes*rounds)
}

// TestChild is what TestManyProcesses runs in each process.
func TestChild(t *testing.T) {
	path := os.Getenv(childFile)
	if path == "" {
		t.Skip("runs only as a process of TestManyProcesses")
	}
	if err := count(t, open(t, path), 10); err != nil {
		t.Fatal(err)
	}
	t.Log("counted to the end")
}

// count adds one to the number under "n", rounds times, by compare-and-set.
func count(t *testing.T, s *sqlite.Store, rounds int) error {
	for done := 0; done < rounds; {
		e, ok, err := s.Load(t.Context(), "n")
		if err != nil {
			return err
		}
		n := 0
		if ok {
			if n, err = strconv.Atoi(string(e.Body)); err != nil {
				return err
			}
		}
		switch _, err = s.Save(t.Context(), store.Entry{Key: "n", Version: e.Version, Body: []byte(fmt.Sprint(n + 1))}); {
		case err == nil:
			done++
		case !fault.Is(err, fault.Conflict):
			return err
		}
	}
	return nil
}

func wantCount(t *testing.T, s *sqlite.Store, want int) {
	t.Helper()
	e, _, err := s.Load(t.Context(), "n")
	if err != nil || string(e.Body) != fmt.Sprint(want) {
		t.Errorf("counted to %s, error %v; want %d", e.Body, err, want)
	}
}
