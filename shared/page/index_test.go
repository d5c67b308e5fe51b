package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

// TestParts follows next to the end, while gates come and go.
func TestParts(t *testing.T) {
	s, c := memory.New(), &clock{}
	for i := range maxGates + 20 {
		save(t, s, gate.Record{GateID: fmt.Sprintf("g%04d", i)}, noon().Add(-time.Duration(i/3)*time.Nanosecond))
	}
	h := New(config(s, c)).Handler()
	if _, a := gatesOf(t, h, "?limit=100000"); len(a.Gates) != maxGates || a.Next == "" {
		t.Errorf("%d gates, next %q", len(a.Gates), a.Next)
	}
	seen, parts := map[string]int{}, 0
	for query := "?limit=100"; query != ""; parts++ {
		got, a := gatesOf(t, h, query)
		for id := range strings.FieldsSeq(got) {
			seen[id]++
		}
		query = ""
		if a.Next != "" {
			query = "?limit=100&after=" + strings.ReplaceAll(a.Next, "+", "%2B")
		}
		save(t, s, gate.Record{GateID: fmt.Sprintf("new%d", parts)}, noon().Add(time.Minute))
		if e, ok, _ := s.Load(t.Context(), gate.KeyPrefix+"g0099"); ok { // the last of the first part
			if err := s.Delete(t.Context(), e.Key, e.Version); err != nil {
				t.Fatal(err)
			}
		}
		c.forward(time.Minute)
	}
	if len(seen) != maxGates+20 || parts != 6 {
		t.Errorf("%d gates in %d parts", len(seen), parts)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

// counted counts how often the store is read through, and may be slow or away.
type counted struct {
	store.Store
	lists int
	takes time.Duration
	clock *clock
	err   error
}

func (s *counted) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	if s.err != nil {
		return store.Entry{}, false, s.err
	}
	return s.Store.Load(ctx, key)
}

func (s *counted) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	s.lists++
	s.clock.forward(s.takes)
	if s.err != nil {
		return nil, s.err
	}
	return s.Store.List(ctx, prefix, after, limit)
}

func TestStoreIsNotReadForEachRequest(t *testing.T) {
	c := &clock{}
	s := &counted{Store: memory.New(), clock: c}
	save(t, s, gate.Record{GateID: "g1"}, noon())
	h := New(config(s, c)).Handler()
	look := func(pass time.Duration, lists int, want string) {
		t.Helper()
		c.forward(pass)
		if got, _ := gatesOf(t, h, ""); got != want || s.lists != lists {
			t.Errorf("%q after %d readings, want %q after %d", got, s.lists, want, lists)
		}
	}
	look(0, 1, "g1")
	save(t, s, gate.Record{GateID: "g2"}, noon().Add(time.Second))
	look(999*time.Millisecond, 1, "g1")
	s.takes = 2 * time.Second
	look(time.Millisecond, 2, "g2 g1")
	save(t, s, gate.Record{GateID: "g3"}, noon().Add(2*time.Second))
	look(17*time.Second, 2, "g2 g1") // what takes 2 s is not repeated before 18 s have passed
	look(time.Second, 3, "g3 g2 g1")
	s.err = errors.New("away")
	c.forward(time.Hour)
	if code, _, _ := get(t, h, "/api/gates"); code != 503 {
		t.Errorf("status %d", code)
	}
	if code, body, _ := get(t, h, "/"); code != 200 || !strings.Contains(body, "away") || !strings.Contains(body, `id="gate-g3"`) {
		t.Errorf("a page without a store shows neither why nor what it knew: %d %s", code, body)
	}
	s.err = nil
	look(0, 6, "g3 g2 g1")
}

// TestChangedRecordsAreReadAnew: an unchanged version is not decoded again, a changed one is.
func TestChangedRecordsAreReadAnew(t *testing.T) {
	s, c := memory.New(), &clock{}
	x := newIndex(s, c.now, slog.New(slog.DiscardHandler))
	look := func() list {
		l, err := x.gates(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.forward(time.Minute)
		return l
	}
	save(t, s, gate.Record{GateID: "g1"}, noon())
	save(t, s, gate.Record{GateID: "g2"}, noon())
	before := look()
	save(t, s, gate.Record{GateID: "g2", Phase: gate.PhaseRunning}, noon())
	after := look()
	if before.byID["g1"] != after.byID["g1"] || before.byID["g2"] == after.byID["g2"] || after.byID["g2"].Phase != gate.PhaseRunning {
		t.Errorf("%+v, %+v", before.byID, after.byID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	<-x.turn // somebody reads just now
	if _, err := x.gates(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever gives up waits on: %v", err)
	}
}
