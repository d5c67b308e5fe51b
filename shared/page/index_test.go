package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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

	during func(context.Context) error
	fails  int // the list that fails of those of one look, counted from 1; 0 is none
}

func (s *counted) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	if s.err != nil {
		return store.Entry{}, false, s.err
	}
	return s.Store.Load(ctx, key)
}

func (s *counted) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	if prefix == gate.AbortKeyPrefix { // the smaller part of a look; it is not counted
		return s.Store.List(ctx, prefix, after, limit)
	}
	s.lists++
	s.clock.forward(s.takes)
	if s.during != nil {
		if err := s.during(ctx); err != nil {
			return nil, err
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	if s.fails--; s.fails == 0 {
		return nil, errors.New("throttled")
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
	if s.lists != 4 {
		t.Errorf("a store that is away was asked %d times at once", s.lists-3)
	}
	s.err = nil
	look(18*time.Second, 5, "g3 g2 g1")
}

// TestBrokenOffLooksCostNoMore: a look that fails on its way is not repeated at once, what it has decoded is kept, and
// what cannot be decoded is told once.
func TestBrokenOffLooksCostNoMore(t *testing.T) {
	c, log := &clock{}, &bytes.Buffer{}
	s := &counted{Store: memory.New(), clock: c}
	for i := range batch {
		save(t, s, gate.Record{GateID: fmt.Sprintf("g%04d", i)}, noon())
	}
	if _, err := s.Save(t.Context(), store.Entry{Key: gate.KeyPrefix + "a", Body: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	x := newIndex(s, c.now, slog.New(slog.NewTextHandler(log, nil)))
	s.fails = 2
	for range 10 {
		if l, err := x.gates(t.Context()); err == nil || len(l.items) != 0 {
			t.Errorf("%d gates, %v", len(l.items), err)
		}
	}
	if s.lists != 2 {
		t.Errorf("the store was asked %d times", s.lists)
	}
	save(t, s, gate.Record{GateID: "g0007", Phase: gate.PhaseRunning}, noon())
	for range 3 {
		c.forward(time.Minute)
		s.fails = 2
		if _, err := x.gates(t.Context()); err == nil {
			t.Error("no error")
		}
	}
	decoded := x.known[gate.KeyPrefix+"g0007"]
	s.fails = 0
	c.forward(time.Minute)
	l, err := x.gates(t.Context())
	if err != nil || len(l.items) != batch || l.byID["g0007"] != decoded {
		t.Errorf("%d gates, %v; decoded again: %v", len(l.items), err, l.byID["g0007"] != decoded)
	}
	if n := strings.Count(log.String(), "left out"); n != 1 {
		t.Errorf("told %d times: %s", n, log)
	}
}

// TestWhoGivesUpEndsNoLook: the list is read to its end, for whoever asks next, within a bound.
func TestWhoGivesUpEndsNoLook(t *testing.T) {
	c := &clock{}
	s := &counted{Store: memory.New(), clock: c}
	save(t, s, gate.Record{GateID: "g1"}, noon())
	x := newIndex(s, c.now, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	s.during = func(ctx context.Context) error {
		cancel()
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > lookTime {
			t.Errorf("no bound: %v", at)
		}
		return ctx.Err()
	}
	if _, err := x.gates(ctx); err != nil {
		t.Error(err)
	}
	if l, err := x.gates(t.Context()); err != nil || len(l.items) != 1 || s.lists != 1 {
		t.Errorf("%d gates after %d looks, %v", len(l.items), s.lists, err)
	}
}

// TestRecordsThatAreNoGates are left out, in the list and by themselves, and do not end it.
func TestRecordsThatAreNoGates(t *testing.T) {
	s := memory.New()
	for id, body := range map[string]string{"n1": "null", "n2": "{}", "n3": `{"gateId":"other"}`, "n4": `{"gateId":""}`} {
		if _, err := s.Save(t.Context(), store.Entry{Key: gate.KeyPrefix + id, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	save(t, s, gate.Record{GateID: "g1"}, time.Time{})
	save(t, s, gate.Record{GateID: "g2"}, time.Time{})
	h := serve(s)
	if got, a := gatesOf(t, h, "?limit=1"); got != "g1" || a.Total != 2 || !strings.HasSuffix(a.Next, "~g1") {
		t.Errorf("%s, %+v", got, a)
	}
	for _, id := range []string{"n1", "n2", "n3", "n4"} {
		if code, body, _ := get(t, h, "/api/gates/"+id); code != http.StatusInternalServerError || !strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", id, code, body)
		}
	}
}

// TestAnswersEndBeforeTheyAreTooLarge: some gates fewer than asked for, and next says where to go on.
func TestAnswersEndBeforeTheyAreTooLarge(t *testing.T) {
	const gates, each = 16, 400 << 10
	s := memory.New()
	for i := range gates {
		r := gate.Record{GateID: fmt.Sprintf("g%02d", i), Timeline: []gate.Moment{{Text: strings.Repeat("x", each)}}}
		save(t, s, r, noon().Add(-time.Duration(i)*time.Minute))
	}
	h, seen, parts := serve(s), "", 0
	for query := "?limit=500"; query != ""; parts++ {
		_, body, _ := get(t, h, "/api/gates"+query)
		if len(body) > 6_000_000 {
			t.Errorf("an answer of %d bytes", len(body))
		}
		got, a := gatesOf(t, h, query)
		seen += got + " "
		if query = ""; a.Next != "" {
			query = "?limit=500&after=" + a.Next
		}
	}
	if parts != 2 || len(strings.Fields(seen)) != gates || !strings.HasPrefix(seen, "g00 g01 ") || !strings.HasSuffix(seen, " g15 ") {
		t.Errorf("%d parts: %s", parts, seen)
	}
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
