package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// transport is a policy.Transporter made of a function.
type transport func(*http.Request) (*http.Response, error)

func (f transport) Do(req *http.Request) (*http.Response, error) { return f(req) }

var errCut = errors.New("connection reset by peer")

// refused is what the standard transport says when nobody listens.
func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// before fails each request instead of sending it.
func before(err error) transport {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// after has the service do the work, and loses its answer.
func after(t *testing.T, err error) transport {
	return func(req *http.Request) (*http.Response, error) {
		res, sendErr := http.DefaultClient.Do(req)
		if sendErr != nil {
			t.Errorf("send: %v", sendErr)
			return nil, sendErr
		}
		_ = res.Body.Close()
		return nil, err
	}
}

// cut has the service do the work, and ends its answer's body early.
func cut(t *testing.T) transport {
	return func(req *http.Request) (*http.Response, error) {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("send: %v", err)
			return nil, err
		}
		_ = res.Body.Close()
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"odata`), broken{}))
		return res, nil
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errCut }

func wantKind(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%s: %v, want a fault of kind %q", what, err, want)
	}
}

// change is a write, and what is stored after it.
type change struct {
	name string
	do   func(ctx context.Context, s *Store, version string) error
	done string // the body; empty when there is none
}

func changes() []change {
	return []change{
		{"insert", func(ctx context.Context, s *Store, _ string) error {
			_, err := s.Save(ctx, store.Entry{Key: "new", Body: []byte(`"new"`)})
			return err
		}, `"new"`},
		{"update", func(ctx context.Context, s *Store, version string) error {
			_, err := s.Save(ctx, store.Entry{Key: "old", Version: version, Body: []byte(`"changed"`)})
			return err
		}, `"changed"`},
		{"delete", func(ctx context.Context, s *Store, version string) error { return s.Delete(ctx, "old", version) }, ""},
	}
}

// TestWritesFailAtBothMoments fails each write before and after the work: what is stored and what is said
// have to agree. A lost answer to an insert must not look like somebody else's entry.
func TestWritesFailAtBothMoments(t *testing.T) {
	a := start(t)
	for _, c := range changes() {
		for _, m := range []struct {
			name string
			with policy.Transporter
			want fault.Kind
			done bool
		}{
			{"before, no connection", before(refused()), fault.NothingHappened, false},
			{"before, unclear", before(errCut), fault.MayHaveHappened, false},
			{"after, answer lost", after(t, errCut), fault.MayHaveHappened, true},
			{"after, time-out", after(t, context.DeadlineExceeded), fault.MayHaveHappened, true},
			{"after, answer cut", cut(t), fault.MayHaveHappened, true},
		} {
			if c.name != "insert" && m.name == "after, answer cut" {
				continue // these answers have no body
			}
			t.Run(c.name+"/"+m.name, func(t *testing.T) {
				s := a.open(t, nil)
				version, err := s.Save(t.Context(), store.Entry{Key: "old", Body: []byte(`"old"`)})
				if err != nil {
					t.Fatal(err)
				}
				err = c.do(t.Context(), a.again(t, m.with), version)
				wantKind(t, c.name, err, m.want)
				wantDone(t, s, c.name, c.done, m.done)
			})
		}
	}
}

// again returns a store in the table made last, over another transport.
func (a *account) again(t *testing.T, with policy.Transporter) *Store {
	t.Helper()
	return a.openMissing(t, fmt.Sprintf("records%d", a.tables.Load()), with)
}

func wantDone(t *testing.T, s *Store, change, body string, done bool) {
	t.Helper()
	key, undone := "old", `"old"`
	if change == "insert" {
		key, undone = "new", ""
	}
	if !done {
		body = undone
	}
	e, ok, err := s.Load(t.Context(), key)
	if err != nil || ok != (body != "") || string(e.Body) != body {
		t.Errorf("stored is %q (%v), error %v; want %q", e.Body, ok, err, body)
	}
}

// TestReadsFailAtBothMoments: whatever becomes of a read, it has changed nothing.
func TestReadsFailAtBothMoments(t *testing.T) {
	a := start(t)
	if _, err := a.open(t, nil).Save(t.Context(), store.Entry{Key: "k", Due: time.Unix(1, 0), Body: []byte(`1`)}); err != nil {
		t.Fatal(err)
	}
	for name, with := range map[string]transport{
		"before": before(errCut), "refused": before(refused()), "after": after(t, errCut), "cut": cut(t),
	} {
		s := a.again(t, with)
		_, _, err := s.Load(t.Context(), "k")
		wantKind(t, name+" load", err, fault.NothingHappened)
		_, err = s.List(t.Context(), "", "", 1)
		wantKind(t, name+" list", err, fault.NothingHappened)
		_, err = s.Due(t.Context(), time.Unix(2, 0), 1)
		wantKind(t, name+" due", err, fault.NothingHappened)
		if !errors.Is(err, errCut) && !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: the cause of %v is lost", name, err)
		}
	}
}

// TestMissingTable: a table that is not there is a fault, not a store without entries.
func TestMissingTable(t *testing.T) {
	s := start(t).openMissing(t, "missing", nil)
	for name, err := range callAll(t, s) {
		if !fault.Is(err, fault.Refused) || !strings.Contains(err.Error(), "the table does not exist") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func callAll(t *testing.T, s *Store) map[string]error {
	t.Helper()
	errs := map[string]error{}
	_, _, errs["load"] = s.Load(t.Context(), "k")
	_, errs["insert"] = s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`1`)})
	_, errs["save"] = s.Save(t.Context(), store.Entry{Key: "k", Version: `W/"datetime'2026-11-30T12%3A00%3A00.0000000Z'"`, Body: []byte(`1`)})
	errs["delete"] = s.Delete(t.Context(), "k", `W/"datetime'2026-11-30T12%3A00%3A00.0000000Z'"`)
	_, errs["due"] = s.Due(t.Context(), time.Unix(1, 0), 1)
	_, errs["list"] = s.List(t.Context(), "", "", 1)
	return errs
}

// TestNoListener reaches for a port where nobody listens, over the store's own transport.
func TestNoListener(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	a := &account{address: strings.TrimPrefix(server.URL, "http://")}
	for name, err := range callAll(t, a.openMissing(t, "records", nil)) {
		wantKind(t, name, err, fault.NothingHappened)
	}
}

// TestCutConnection has a server hang up after it has read the request, over the store's own transport. One
// request each: nothing is retried.
func TestCutConnection(t *testing.T) {
	requests := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		requests <- r.Method
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	defer server.Close()
	a := &account{address: strings.TrimPrefix(server.URL, "http://")}
	errs := callAll(t, a.openMissing(t, "records", nil))
	for name, err := range errs {
		want := fault.NothingHappened
		if name == "insert" || name == "save" || name == "delete" {
			want = fault.MayHaveHappened
		}
		wantKind(t, name, err, want)
	}
	if len(requests) != len(errs) {
		t.Errorf("%d requests for %d calls", len(requests), len(errs))
	}
}

// TestStatuses has the service answer with each status; the code it gives decides where a status has two
// meanings. No text repeats the body or the URL.
func TestStatuses(t *testing.T) {
	for _, c := range []struct {
		status             int
		code               string
		load, save, remove fault.Kind
	}{
		{400, "InvalidInput", fault.Refused, fault.Refused, fault.Refused},
		{401, "", fault.Refused, fault.Refused, fault.Refused},
		{403, "AuthorizationPermissionMismatch", fault.Refused, fault.Refused, fault.Refused},
		{404, "TableNotFound", fault.Refused, fault.Refused, fault.Refused},
		{404, "", fault.Refused, fault.Refused, fault.Refused},
		{302, "", fault.Refused, fault.Refused, fault.Refused},
		{408, "", fault.NothingHappened, fault.MayHaveHappened, fault.MayHaveHappened},
		{409, "EntityAlreadyExists", fault.Refused, fault.Conflict, fault.Conflict},
		{409, "TableBeingDeleted", fault.Refused, fault.Refused, fault.Refused},
		{412, "UpdateConditionNotSatisfied", fault.Refused, fault.Conflict, fault.Conflict},
		{429, "", fault.NothingHappened, fault.NothingHappened, fault.NothingHappened},
		{500, "OperationTimedOut", fault.NothingHappened, fault.MayHaveHappened, fault.MayHaveHappened},
		{503, "ServerBusy", fault.NothingHappened, fault.MayHaveHappened, fault.MayHaveHappened},
	} {
		s := (&account{address: "127.0.0.1:1"}).openMissing(t, "records", answering(c.status, c.code))
		name := fmt.Sprintf("%d %s", c.status, c.code)
		_, _, err := s.Load(t.Context(), "k")
		wantKind(t, name+" load", err, c.load)
		_, err = s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`1`)})
		wantKind(t, name+" save", err, c.save)
		if err = s.Delete(t.Context(), "k", `W/"1"`); strings.Contains(err.Error(), "in the body") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: the error tells the body or the URL: %v", name, err)
		}
		wantKind(t, name+" delete", err, c.remove)
		var cause *azcore.ResponseError
		if !errors.As(err, &cause) || cause.StatusCode != c.status {
			t.Errorf("%s: the cause of %v is lost", name, err)
		}
	}
}

func answering(status int, code string) transport {
	return func(req *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("x-ms-error-code", code)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"odata.error":{"message":{"value":"in the body"}}}`)
		res := w.Result()
		res.Request = req
		return res, nil
	}
}

// TestAnswerWithoutAVersion: a write that was done, but that no later one can build on.
func TestAnswerWithoutAVersion(t *testing.T) {
	s := (&account{address: "127.0.0.1:1"}).openMissing(t, "records", answering(http.StatusNoContent, ""))
	_, err := s.Save(t.Context(), store.Entry{Key: "k", Version: `W/"1"`, Body: []byte(`1`)})
	wantKind(t, "save", err, fault.MayHaveHappened)
}

// TestForeignEntities: what another program wrote into the table is a fault for who asks for it, and no entry.
func TestForeignEntities(t *testing.T) {
	s := start(t).open(t, nil)
	for _, row := range []string{
		`{"PartitionKey":"records","RowKey":"6b"}`,
		`{"PartitionKey":"records","RowKey":"6b","Body0":"text"}`,
	} {
		if _, err := s.table.UpsertEntity(t.Context(), []byte(row), nil); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Load(t.Context(), "k")
		wantKind(t, row, err, fault.NothingHappened)
		if list, err := s.List(t.Context(), "", "", 9); err != nil || len(list) > 0 {
			t.Errorf("%s: list %+v, %v", row, list, err)
		}
	}
}

// TestOwnDeadline: a service that never answers does not hold a call for ever.
func TestOwnDeadline(t *testing.T) {
	silent := transport(func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	synctest.Test(t, func(t *testing.T) {
		s := (&account{address: "127.0.0.1:1"}).openMissing(t, "records", silent)
		began := time.Now()
		_, err := s.Save(t.Context(), store.Entry{Key: "k", Body: []byte(`1`)})
		wantKind(t, "save", err, fault.MayHaveHappened)
		if took := time.Since(began); took != entryTimeout {
			t.Errorf("save took %v", took)
		}
		_, err = s.Due(t.Context(), began, 1)
		wantKind(t, "due", err, fault.NothingHappened)
		if took := time.Since(began); took != entryTimeout+queryTimeout {
			t.Errorf("save and due took %v", took)
		}
	})
}
