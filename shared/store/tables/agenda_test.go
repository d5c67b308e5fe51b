package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

func hour(n int) time.Time { return time.Date(2026, 11, 30, n, 0, 0, 7000, time.UTC) }

// always is after every due time.
func always() time.Time { return hour(0).AddDate(10, 0, 0) }

// rows returns the rows of the agenda.
func rows(t *testing.T, s *Store) []string {
	t.Helper()
	var found []string
	err := s.query(t.Context(), "list the agenda", "PartitionKey eq '"+agenda+"'", mostPerPage, func(_ *call, raw []byte) (bool, error) {
		var e aztables.EDMEntity
		err := e.UnmarshalJSON(raw)
		found = append(found, e.RowKey)
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantAgenda checks that what is stored with a due time is due, once, and nothing else; and how many rows there are.
func wantAgenda(t *testing.T, s *Store, most int) {
	t.Helper()
	want := map[string]time.Time{}
	all, err := s.List(t.Context(), "", "", mostPerPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if !e.Due.IsZero() {
			want[e.Key] = e.Due
		}
	}
	due, err := s.Due(t.Context(), always(), mostPerPage)
	if err != nil || len(due) != len(want) {
		t.Errorf("%d entries are due, error %v, want %d", len(due), err, len(want))
	}
	got := map[string]time.Time{}
	for _, e := range due {
		got[e.Key] = e.Due
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("due (-stored +found):\n%s", diff)
	}
	if left := rows(t, s); len(left) > most {
		t.Errorf("the agenda has %d rows, want %d at most: %q", len(left), most, left)
	}
}

// fragile is a transport that fails the nth request, before or after the work.
func fragile(nth int, afterwards bool) transport {
	n := 0
	return func(req *http.Request) (*http.Response, error) {
		if n++; n == nth && !afterwards {
			return nil, errCut
		}
		res, err := http.DefaultClient.Do(req)
		if n == nth && err == nil {
			_ = res.Body.Close()
			return nil, errCut
		}
		return res, err
	}
}

// A process dies, or loses its connection, at any moment of a save or a delete: what is stored stays on the
// agenda, and who comes next can go on.
func TestAgendaHoldsAtEveryMoment(t *testing.T) {
	a := start(t)
	steps := map[string]func(ctx context.Context, s *Store, old store.Entry) error{
		"insert": func(ctx context.Context, s *Store, _ store.Entry) error {
			_, err := s.Save(ctx, store.Entry{Key: "new", Due: hour(1), Body: []byte(`1`)})
			return err
		},
		"later":  moved(hour(3)),
		"sooner": moved(hour(1)),
		"same":   moved(hour(2)),
		"never":  moved(time.Time{}),
		"delete": func(ctx context.Context, s *Store, old store.Entry) error { return s.Delete(ctx, old.Key, old.Version) },
	}
	for name, step := range steps {
		for nth := 1; nth <= 3; nth++ {
			for _, afterwards := range []bool{false, true} {
				t.Run(fmt.Sprint(name, "/", nth, "/", afterwards), func(t *testing.T) {
					s := a.open(t, nil)
					old := store.Entry{Key: "old", Due: hour(2), Body: []byte(`0`)}
					old.Version = mustSave(t, s, old)
					err := step(t.Context(), a.again(t, fragile(nth, afterwards)), old)
					if err != nil && !fault.Is(err, fault.MayHaveHappened) && !fault.Is(err, fault.NothingHappened) {
						t.Errorf("error %v", err)
					}
					wantAgenda(t, s, 3)
					for _, key := range []string{"old", "new"} {
						goOn(t, s, key)
					}
					wantAgenda(t, s, 4)
				})
			}
		}
	}
}

func moved(due time.Time) func(context.Context, *Store, store.Entry) error {
	return func(ctx context.Context, s *Store, old store.Entry) error {
		old.Due, old.Body = due, []byte(`1`)
		_, err := s.Save(ctx, old)
		return err
	}
}

func mustSave(t *testing.T, s *Store, e store.Entry) string {
	t.Helper()
	version, err := s.Save(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// goOn loads and saves, as whoever meets an error has to.
func goOn(t *testing.T, s *Store, key string) {
	t.Helper()
	e, _, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	e.Key, e.Due = key, hour(5)
	mustSave(t, s, e)
}

// What is left behind is removed when it is old, and not before.
func TestLeftRowsAreRemoved(t *testing.T) {
	a := start(t)
	s := a.open(t, nil)
	e := store.Entry{Key: "k", Due: hour(1), Body: []byte(`0`)}
	e.Version = mustSave(t, s, e)
	e.Due = hour(2)
	if _, err := a.again(t, fragile(3, false)).Save(t.Context(), e); err != nil {
		t.Errorf("a row that stays behind fails nothing: %v", err)
	}
	wantAgenda(t, s, 2)
	if left := rows(t, s); len(left) != 2 {
		t.Errorf("%d rows after a save that could not remove the old one", len(left))
	}
	s.outdated = -time.Hour // as if the hour had passed
	wantAgenda(t, s, 1)
}

// A sweep that comes in the middle of a save, after the row and before the entry, takes nothing away.
func TestSweepInTheMiddleOfASave(t *testing.T) {
	a := start(t)
	s := a.open(t, nil)
	n := 0
	saving := a.again(t, transport(func(req *http.Request) (*http.Response, error) {
		if n++; n == 2 {
			if due, err := s.Due(t.Context(), always(), 10); err != nil || len(due) != 0 || len(rows(t, s)) != 1 {
				t.Errorf("in the middle %d entries are due, error %v", len(due), err)
			}
		}
		return http.DefaultClient.Do(req)
	}))
	mustSave(t, saving, store.Entry{Key: "k", Due: hour(1), Body: []byte(`0`)})
	if n != 2 {
		t.Fatalf("%d requests", n)
	}
	wantAgenda(t, s, 1)
}

// A save that loses leaves nothing behind, and one that keeps the due time makes one request.
func TestRequestsOfASave(t *testing.T) {
	a := start(t)
	s := a.open(t, nil)
	e := store.Entry{Key: "k", Due: hour(1), Body: []byte(`0`)}
	stale := mustSave(t, s, e)
	e.Version = stale
	e.Version = mustSave(t, s, e)
	n := 0
	counting := a.again(t, transport(func(req *http.Request) (*http.Response, error) {
		n++
		return http.DefaultClient.Do(req)
	}))
	e.Version = mustSave(t, counting, e)
	if n != 1 {
		t.Errorf("%d requests for the same due time", n)
	}
	e.Version, e.Due = stale, hour(9)
	_, err := s.Save(t.Context(), e)
	wantKind(t, "save under an old version", err, fault.Conflict)
	_, err = s.Save(t.Context(), store.Entry{Key: "k", Due: hour(9)})
	wantKind(t, "insert of what is there", err, fault.Conflict)
	wantAgenda(t, s, 1)
}

// When nothing fails, the agenda has a row for each entry that will be due, and no other.
func TestAgendaIsTidy(t *testing.T) {
	s := start(t).open(t, nil)
	e := store.Entry{Key: "k", Body: []byte(`0`)}
	for i, c := range []struct {
		due  time.Time
		rows int
	}{{time.Time{}, 0}, {hour(1), 1}, {hour(2), 1}, {hour(1), 1}, {time.Time{}, 0}, {hour(3), 1}} {
		e.Due = c.due
		e.Version = mustSave(t, s, e)
		if got := rows(t, s); len(got) != c.rows {
			t.Errorf("after save %d the agenda has %q, want %d rows", i, got, c.rows)
		}
	}
	if err := s.Delete(t.Context(), e.Key, e.Version); err != nil || len(rows(t, s)) != 0 {
		t.Errorf("after the delete (%v) the agenda has %q", err, rows(t, s))
	}
}

// More is due, and more was left behind, than one page of an answer holds.
func TestDueOverPages(t *testing.T) {
	s := start(t).open(t, nil)
	for i := range 7 {
		e := store.Entry{Key: fmt.Sprint("k", i), Due: hour(i), Body: []byte(`0`)}
		mustSave(t, s, e)
		c, cancel, err := begin(t.Context(), "leave", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // left behind, in front of it
			if err := s.announce(c, agendaRow(e, ""), ""); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
	}
	due, err := s.Due(t.Context(), hour(5), 2)
	if err != nil || len(due) != 2 || due[0].Key != "k0" || due[1].Key != "k1" {
		t.Errorf("%+v, %v", due, err)
	}
	if due, err = s.Due(t.Context(), hour(5), 100); err != nil || len(due) != 6 {
		t.Errorf("%d entries are due, %v", len(due), err)
	}
}

// An entry or a row of somebody else's holds up nobody.
func TestForeignEntitiesArePassedOver(t *testing.T) {
	s := start(t).open(t, nil)
	for _, e := range []string{
		`{"PartitionKey":"agenda","RowKey":"0000-not ours"}`,
		`{"PartitionKey":"records","RowKey":"` + rowKey("broken") + `"}`,
		`{"PartitionKey":"records","RowKey":"` + rowKey("edited") + `","Body0":"text, edited by hand"}`,
		`{"PartitionKey":"records","RowKey":"no key"}`,
		`{"PartitionKey":"agenda","RowKey":"` + agendaRow(store.Entry{Key: "broken", Due: hour(0)}, "") + `"}`,
	} {
		if _, err := s.table.AddEntity(t.Context(), []byte(e), nil); err != nil {
			t.Fatal(err)
		}
	}
	mustSave(t, s, store.Entry{Key: "k", Due: hour(1), Body: []byte(`0`)})
	due, err := s.Due(t.Context(), hour(1), 10)
	if err != nil || len(due) != 1 || due[0].Key != "k" {
		t.Errorf("%+v, %v", due, err)
	}
	list, err := s.List(t.Context(), "", "", 1)
	if err != nil || len(list) != 1 || list[0].Key != "k" {
		t.Errorf("list: %+v, %v", list, err)
	}
	for _, key := range []string{"broken", "edited"} {
		_, _, err := s.Load(t.Context(), key)
		wantKind(t, "load "+key, err, fault.NothingHappened)
	}
}

// A list is not taken for an empty one because the service names no versions any more.
func TestListWithoutVersions(t *testing.T) {
	s, err := Open("AccountName=a;AccountKey="+key+";TableName=records", Config{Transport: transport(func(req *http.Request) (*http.Response, error) {
		row := `{"PartitionKey":"records","RowKey":"6b","Body0":"","Body0@odata.type":"Edm.Binary"}`
		return &http.Response{
			StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(`{"value":[` + row + `]}`)),
		}, nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.List(t.Context(), "", "", 9)
	wantKind(t, "list", err, fault.NothingHappened)
}

// The service refuses or throttles each request of a save in turn, and says nothing of what it did.
func TestThrottledAtEveryRequest(t *testing.T) {
	a := start(t)
	for status, kinds := range map[int][2]fault.Kind{
		http.StatusTooManyRequests:    {fault.NothingHappened, fault.NothingHappened},
		http.StatusServiceUnavailable: {fault.NothingHappened, fault.MayHaveHappened},
		http.StatusForbidden:          {fault.Refused, fault.Refused},
	} {
		for nth := 1; nth <= 3; nth++ {
			s := a.open(t, nil)
			e := store.Entry{Key: "k", Due: hour(1), Body: []byte(`0`)}
			e.Version = mustSave(t, s, e)
			n := 0
			throttled := a.again(t, transport(func(req *http.Request) (*http.Response, error) {
				if n++; n == nth {
					return answering(status, "ServerBusy")(req)
				}
				return http.DefaultClient.Do(req)
			}))
			e.Due = hour(2)
			_, err := throttled.Save(t.Context(), e)
			if nth == 3 && err != nil || nth < 3 && !fault.Is(err, kinds[nth-1]) {
				t.Errorf("%d at request %d: %v", status, nth, err)
			}
			wantAgenda(t, s, 2)
		}
	}
}

func TestVersionText(t *testing.T) {
	for _, v := range []version{{`W/"a"`, ""}, {`W/"datetime'2026-11-30T12%3A00%3A00.0000000Z'"`, "8-6b-R"}} {
		if got := parseVersion(v.String()); got != v {
			t.Errorf("%q became %+v", v, got)
		}
	}
	for _, bad := range []string{"", "*", "1", `W/""`, `W/"`, `W/"a`, ` W/"a"`, `"a"`} {
		if got := parseVersion(bad); got != (version{}) {
			t.Errorf("%q became %+v", bad, got)
		}
	}
}

func TestAgendaRows(t *testing.T) {
	longest := store.Entry{Key: strings.Repeat("é", 100), Due: hour(1)}
	row := agendaRow(longest, "")
	if key, err := agendaKey(row); err != nil || key != longest.Key || len(row) > 512 {
		t.Errorf("a row of %d characters for %q, %v", len(row), key, err)
	}
	for _, bad := range []string{"", "a-b", "a-zz-c", "a-6b-c-d"} {
		if _, err := agendaKey(bad); !errors.Is(err, errForeign) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	times := []time.Time{time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 0), hour(0), hour(1), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range times[1:] {
		if a, b := agendaTime(times[i]), agendaTime(times[i+1]); a >= b {
			t.Errorf("%v sorts after %v", times[i], times[i+1])
		}
	}
}
