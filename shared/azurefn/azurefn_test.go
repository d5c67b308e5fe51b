package azurefn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/azurefn"
	"prowgate/shared/gate"
)

func TestWhatTheHostSends(t *testing.T) {
	message := fixture(t, "message")
	enqueued := time.Date(2026, 11, 30, 8, 57, 3, 0, time.UTC)
	usual := azurefn.Invocation{
		Function: "submit", ID: invocationID, MessageID: "build-4711-uksouth-e2e-1",
		SessionID: "s-1", DeliveryCount: 1, EnqueuedAt: enqueued, Body: message,
	}
	with := func(change func(*azurefn.Invocation)) azurefn.Invocation {
		in := usual
		change(&in)
		return in
	}
	cases := []struct {
		fixture string
		want    azurefn.Invocation
	}{
		{"body-string-in-string", usual},
		{"body-string", usual},
		{"body-base64", usual},
		{"body-object", usual},
		{"body-plain-text", with(func(in *azurefn.Invocation) { in.Body = []byte("hello") })},
		{"body-none", with(func(in *azurefn.Invocation) { in.Body = nil })},
		{"metadata-bare", with(func(in *azurefn.Invocation) {
			in.MessageID, in.SessionID, in.DeliveryCount = "abc", "", 3
			in.EnqueuedAt = time.Date(2026, 11, 30, 7, 57, 3, 250_000_000, time.UTC)
		})},
		{"metadata-broken", azurefn.Invocation{Function: "submit", ID: invocationID, Body: message}},
	}
	for _, c := range cases {
		t.Run(c.fixture, func(t *testing.T) {
			var got azurefn.Invocation
			h := newHost(t, func(_ context.Context, in azurefn.Invocation) error { got = in; return nil })
			if status, a := h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, c.fixture))); status != http.StatusOK {
				t.Fatalf("status %d: %s", status, a.Error)
			}
			if diff := cmp.Diff(compacted(c.want), compacted(got)); diff != "" {
				t.Error(diff)
			}
			if got.EnqueuedAt.Location() != time.UTC {
				t.Errorf("enqueued at %v, want UTC", got.EnqueuedAt)
			}
			h.alive()
		})
	}
}

// compacted makes a body that came as an object comparable with the text it was made of.
func compacted(in azurefn.Invocation) azurefn.Invocation {
	var buf bytes.Buffer
	if json.Compact(&buf, in.Body) == nil {
		in.Body = buf.Bytes()
	}
	return in
}

// A body that its sender encoded twice stays encoded once: only the host's own wrapping comes off.
func TestPeelsNoFurtherThanTheHostWraps(t *testing.T) {
	var got []byte
	h := newHost(t, func(_ context.Context, in azurefn.Invocation) error { got = in.Body; return nil })
	h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, "body-twice-by-sender")))
	var inner string
	if err := json.Unmarshal(got, &inner); err != nil || inner != string(fixture(t, "message")) {
		t.Errorf("got %s (%v)", got, err)
	}
}

func TestTimer(t *testing.T) {
	var got azurefn.Invocation
	h := newHost(t, func(_ context.Context, in azurefn.Invocation) error { got = in; return nil })
	status, _ := h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, "timer")))
	if status != http.StatusOK || !bytes.Contains(got.Body, []byte(`"IsPastDue": false`)) || got.MessageID != "" {
		t.Errorf("status %d, got %+v", status, got)
	}
}

func TestWhatIsNoInvocation(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "bad-*.json"))
	if err != nil || len(files) < 15 {
		t.Fatalf("fixtures: %v, %v", files, err)
	}
	h := newHost(t, func(context.Context, azurefn.Invocation) error {
		t.Error("the function was called")
		return nil
	})
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		status, a := h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, name)))
		if status != http.StatusBadRequest || a.Error == "" {
			t.Errorf("%s: %d %q", name, status, a.Error)
		}
		h.alive()
	}
}

func TestPathsAndMethods(t *testing.T) {
	called := 0
	h := newHost(t, func(context.Context, azurefn.Invocation) error { called++; return nil })
	good := fixture(t, "body-string-in-string")
	cases := []struct {
		method, path string
		status       int
	}{
		{http.MethodPost, "/nothing", http.StatusNotFound},
		{http.MethodGet, "/nothing", http.StatusNotFound},
		{http.MethodPost, "/submit/", http.StatusNotFound},
		{http.MethodPost, "/Submit", http.StatusNotFound},
		{http.MethodPost, "/", http.StatusNotFound},
		{http.MethodGet, "/submit", http.StatusBadRequest},
		{http.MethodPut, "/submit", http.StatusBadRequest},
		{http.MethodDelete, "/", http.StatusBadRequest},
	}
	for _, c := range cases {
		if status, a := h.call(c.method, c.path, bytes.NewReader(good)); status != c.status || a.Error == "" {
			t.Errorf("%s %s: %d %q, want %d", c.method, c.path, status, a.Error, c.status)
		}
		h.alive()
	}
	if called != 0 {
		t.Errorf("the function was called %d times", called)
	}
}

func TestSizes(t *testing.T) {
	var size int
	h := newHost(t, func(_ context.Context, in azurefn.Invocation) error { size = len(in.Body); return nil })

	// Half of it are quotation marks, each of which the host makes four bytes of.
	text := `{"gateId":"g"` + strings.Repeat(`,"k":"v"`, 1<<17) + `}`
	if status, a := h.call(http.MethodPost, "/submit", bytes.NewReader(twice(t, text))); status != http.StatusOK || size != len(text) {
		t.Errorf("1 MiB: %d %q, %d bytes arrived", status, a.Error, size)
	}
	h.alive()

	size = 0
	blank := make([]byte, azurefn.MaxBody+1)
	for name, body := range map[string]io.Reader{
		"with a length": bytes.NewReader(blank),
		"in chunks":     io.MultiReader(bytes.NewReader(blank)),
	} {
		if status, a := h.call(http.MethodPost, "/submit", body); status != http.StatusRequestEntityTooLarge || a.Error == "" {
			t.Errorf("too much %s: %d %q", name, status, a.Error)
		}
		h.alive()
	}
	if size != 0 {
		t.Error("the function was called")
	}
}

// The host sends all of a request before it looks for the answer.
func TestLargeBodyIsReadToItsEnd(t *testing.T) {
	body := bytes.NewReader(make([]byte, 3*azurefn.MaxBody))
	h := azurefn.New(azurefn.Config{Functions: map[string]azurefn.Handler{"submit": nil}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, direct(t, body))
	if w.Code != http.StatusRequestEntityTooLarge || body.Len() != 0 {
		t.Errorf("%d, %d bytes are left", w.Code, body.Len())
	}
}

// A request that breaks off is no message.
func TestCutBody(t *testing.T) {
	called := false
	handle := func(context.Context, azurefn.Invocation) error { called = true; return nil }
	h := azurefn.New(azurefn.Config{Functions: map[string]azurefn.Handler{"submit": handle}})
	for _, read := range []int{10, 2 * azurefn.MaxBody} {
		body := io.MultiReader(bytes.NewReader(make([]byte, read)), iotest.ErrReader(io.ErrUnexpectedEOF))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, direct(t, body))
		if w.Code < 400 || w.Code >= 500 || !json.Valid(w.Body.Bytes()) || called {
			t.Errorf("cut after %d: %d %s", read, w.Code, w.Body)
		}
	}
}

func TestFailureIs500AndIsLogged(t *testing.T) {
	h := newHost(t, func(context.Context, azurefn.Invocation) error { return errors.New("the store is away") })
	status, a := h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, "body-string-in-string")))
	if status != http.StatusInternalServerError || a.Error != "the store is away" {
		t.Errorf("%d %+v", status, a)
	}
	for _, want := range []string{"the store is away", invocationID, "build-4711-uksouth-e2e-1", `"function":"submit"`} {
		if !strings.Contains(h.out.String(), want) {
			t.Errorf("stdout lacks %q: %s", want, h.out)
		}
	}
	h.alive()
}

func TestPanicIs500AndTheProcessLivesOn(t *testing.T) {
	for _, value := range []any{"boom", errors.New("boom"), http.ErrAbortHandler} {
		h := newHost(t, func(context.Context, azurefn.Invocation) error { panic(value) })
		status, a := h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, "body-string-in-string")))
		if status != http.StatusInternalServerError || !strings.HasPrefix(a.Error, "panic: ") {
			t.Errorf("%d %+v", status, a)
		}
		if out := h.out.String(); !strings.Contains(out, "azurefn_test.go") || strings.Count(out, "\n") != 1 {
			t.Errorf("want one line with the stack, got %s", out)
		}
		h.alive()
	}
}

func TestNoMarkerInAnyAnswer(t *testing.T) {
	for _, r := range []gate.Retry{gate.KnownIssueEligible, gate.InfraPreconditionEligible} {
		text := "upstream said " + strings.ToUpper(gate.Marker(r))
		for _, handle := range []azurefn.Handler{
			func(context.Context, azurefn.Invocation) error { return errors.New(text) },
			func(context.Context, azurefn.Invocation) error { panic(text) },
		} {
			h := newHost(t, handle)
			_, raw := h.send(http.MethodPost, "/submit", bytes.NewReader(fixture(t, "body-string-in-string")))
			if gate.HasMarker(string(raw)) || gate.HasMarker(h.out.String()) {
				t.Errorf("a marker got out: %s\n%s", raw, h.out)
			}
			if !strings.Contains(string(raw), "upstream said") {
				t.Errorf("the rest of the text is gone: %s", raw)
			}
		}
	}
}

func TestTimeoutEndsTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := azurefn.New(azurefn.Config{
			Timeout: time.Minute,
			Functions: map[string]azurefn.Handler{"submit": func(ctx context.Context, _ azurefn.Invocation) error {
				<-ctx.Done()
				return ctx.Err()
			}},
		})
		start, w := time.Now(), httptest.NewRecorder()
		body := bytes.NewReader([]byte(`{"Data":{"timer":{}}}`))
		handler.ServeHTTP(w, direct(t, body))
		if w.Code != http.StatusInternalServerError || time.Since(start) != time.Minute {
			t.Errorf("%d after %v", w.Code, time.Since(start))
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	h := newHost(t, func(_ context.Context, in azurefn.Invocation) error {
		if bytes.Contains(in.Body, []byte("fail")) {
			panic("fail")
		}
		return nil
	})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			text, want := "pass", http.StatusOK
			if i%2 == 0 {
				text, want = "fail", http.StatusInternalServerError
			}
			if status, _ := h.call(http.MethodPost, "/submit", bytes.NewReader(twice(t, text))); status != want {
				t.Errorf("%s: %d", text, status)
			}
		})
	}
	wg.Wait()
	h.alive()
}
