package functions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/functions"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// fake is an engine that notes what it was asked, and fails when it is told to.
type fake struct {
	err   error
	calls []any
}

func (f *fake) note(call any) error {
	f.calls = append(f.calls, call)
	return f.err
}

func (f *fake) Submit(_ context.Context, g gate.Gating) error        { return f.note(g.GateID) }
func (f *fake) Reject(_ context.Context, r gate.Rejection) error     { return f.note(r) }
func (f *fake) Poll(_ context.Context, t gate.Tick) error            { return f.note(t) }
func (f *fake) Cancel(_ context.Context, c gate.CancelRequest) error { return f.note(c) }
func (f *fake) Sweep(context.Context) error                          { return f.note("sweep") }

const gating = `{"gateId":"g-1","jobName":"job","cloud":"public","environment":"int","region":"uksouth"}`

// good are the bodies that reach the engine, with the call they become.
var good = []struct {
	function, body string
	call           any
}{
	{"submit", gating, "g-1"},
	{"poll", `{"gateId":"g-1","seq":7}`, gate.Tick{GateID: "g-1", Seq: 7}},
	{"poll", `{"executionId":"e-1","seq":1}`, gate.Tick{ExecutionID: "e-1", Seq: 1}},
	{"cancel", `{"gateId":"g-1","reason":"SIGTERM"}`, gate.CancelRequest{GateID: "g-1", Reason: "SIGTERM"}},
	{"cancel", `{"executionId":"e-1"}`, gate.CancelRequest{ExecutionID: "e-1"}},
	{"sweep", `{"IsPastDue":false}`, "sweep"},
	{"sweep", ``, "sweep"},
}

func TestGoodMessagesReachTheEngine(t *testing.T) {
	for _, c := range good {
		f := &fake{}
		if err := functions.Set(f)[c.function](t.Context(), []byte(c.body)); functions.Redeliver(err) {
			t.Errorf("%s %s: %v", c.function, c.body, err)
		}
		if diff := cmp.Diff([]any{c.call}, f.calls); diff != "" {
			t.Errorf("%s %s: %s", c.function, c.body, diff)
		}
	}
}

func TestEngineErrorsDeliverTheMessageAgain(t *testing.T) {
	away := errors.New("the store is away")
	for _, c := range good {
		f := &fake{err: away}
		err := functions.Set(f)[c.function](t.Context(), []byte(c.body))
		if !functions.Redeliver(err) || !errors.Is(err, away) || len(f.calls) != 1 {
			t.Errorf("%s %s: %v, %d calls", c.function, c.body, err, len(f.calls))
		}
	}
}

func TestRejectionIsAnsweredWithEveryProblem(t *testing.T) {
	body := strings.Replace(gating, `"job"`, `""`, 1)
	body = strings.Replace(body, `}`, `,"timeout":"soon","unknown":1}`, 1)
	f := &fake{}
	if err := functions.Set(f)["submit"](t.Context(), []byte(body)); err != nil {
		t.Fatal(err)
	}
	if len(f.calls) != 1 {
		t.Fatalf("calls: %v", f.calls)
	}
	r, ok := f.calls[0].(gate.Rejection)
	if !ok || r.GateID != "g-1" || len(r.Problems) < 3 {
		t.Errorf("%+v", f.calls[0])
	}
	f = &fake{err: errors.New("the queue is away")}
	if err := functions.Set(f)["submit"](t.Context(), []byte(body)); !functions.Redeliver(err) {
		t.Error("an answer that could not be sent must be tried again")
	}
}

func TestUnreadableMessagesFailAndTouchNothing(t *testing.T) {
	for _, c := range []struct{ function, body string }{
		{"submit", ``},
		{"submit", `null`},
		{"submit", `[]`},
		{"submit", `{"jobName":"job"}`},
		{"submit", `{"gateId":7}`},
		{"submit", `gateId`},
		{"poll", ``},
		{"poll", `{}`},
		{"poll", `{"gateId":"g","executionId":"e","seq":1}`},
		{"poll", `"gateId"`},
		{"cancel", ``},
		{"cancel", `{}`},
		{"cancel", `{"reason":"none"}`},
		{"cancel", `[{"gateId":"g-1"}]`},
	} {
		f := &fake{}
		err := functions.Set(f)[c.function](t.Context(), []byte(c.body))
		if !functions.Redeliver(err) || len(f.calls) != 0 {
			t.Errorf("%s %q: %v, calls %v", c.function, c.body, err, f.calls)
		}
	}
}

func TestUnreadableGatingKeepsItsReason(t *testing.T) {
	err := functions.Set(&fake{})["submit"](t.Context(), []byte(`{}`))
	if !errors.Is(err, gate.ErrNoGate) {
		t.Errorf("got %v", err)
	}
}

// Whoever is out of reach is given time, longer each time.
func TestHowLongAFailedMessageIsLeftAlone(t *testing.T) {
	for _, kind := range []fault.Kind{fault.NothingHappened, fault.MayHaveHappened, fault.Conflict, fault.Refused} { // a right may be granted yet
		away := fmt.Errorf("load: %w", &fault.Error{Kind: kind, Text: "the store is away"})
		for delivery, want := range map[int]time.Duration{
			0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second, 3: 40 * time.Second, 4: time.Minute, 100: time.Minute,
		} {
			if got := functions.Wait(away, delivery); got != want {
				t.Errorf("%v, delivery %d: %v, want %v", kind, delivery, got, want)
			}
		}
	}
}

// What is the message's own fault is put aside soon, and holds nobody up.
func TestWhatFailsForAReasonOfItsOwnDoesNotWait(t *testing.T) {
	_, broken := gate.DecodeRecord([]byte(`["no record"]`))
	for name, err := range map[string]error{
		"too large":      fmt.Errorf("save: %w", &fault.Error{Kind: fault.Refused, Text: "the record is too large", Err: fault.ErrContent}),
		"foreign record": &fault.Error{Kind: fault.NothingHappened, Text: "something else", Err: fmt.Errorf("an entity: %w", fault.ErrContent)},
		"no record":      broken,
		"panic":          errors.New("panic: nil map"),
		"unreadable":     errors.Join(gate.ErrUnreadable, &fault.Error{Kind: fault.MayHaveHappened}),
	} {
		if err == nil || functions.Wait(err, 3) != 0 {
			t.Errorf("%s: %v waits %v", name, err, functions.Wait(err, 3))
		}
	}
	for _, c := range []struct{ function, body string }{
		{"submit", `{}`}, {"submit", `x`}, {"poll", `{}`}, {"poll", `[]`}, {"cancel", `{}`}, {"cancel", `null`},
	} {
		err := functions.Set(&fake{})[c.function](t.Context(), []byte(c.body))
		if err == nil || functions.Wait(err, 1) != 0 {
			t.Errorf("%s %s: waits %v for %v", c.function, c.body, functions.Wait(err, 1), err)
		}
	}
}
