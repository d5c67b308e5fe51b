package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue/servicebus"
)

func TestHelpPrintsNoMarker(t *testing.T) {
	for _, args := range [][]string{
		{"--help"},
		{"help", "run"},
		{"run", "--help"},
		{"cancel", "--help"},
		{"abort", "--help"},
		{"status", "--help"},
		{"validate", "--help"},
		{"completion", "bash"},
	} {
		d := newDesk(t)
		d.run(0, args...)
		if d.out.Len() == 0 {
			t.Errorf("%q printed nothing", args)
		}
	}
}

func TestNoCommandIsNoPass(t *testing.T) {
	for _, args := range [][]string{{}, {"execute"}, {"--gate-promotion"}} {
		newDesk(t).run(2, args...)
	}
}

func TestCancelAndAbort(t *testing.T) {
	for _, c := range []struct {
		args []string
		want gate.CancelRequest
		text string
	}{
		{
			[]string{"cancel", "--gate-id", "g", "--reason", "stop"},
			gate.CancelRequest{GateID: "g", Reason: "stop"},
			"the cancel of gate g was sent\n",
		},
		{
			[]string{"cancel", "--gate-id", "g", "--execution-id", "e-1"},
			gate.CancelRequest{GateID: "g", ExecutionID: "e-1"},
			"the cancel of gate g was sent\n",
		},
		{
			[]string{"abort", "--execution-id", "e-1", "--reason", "stop"},
			gate.CancelRequest{ExecutionID: "e-1", Reason: "stop"},
			"the cancel of execution e-1 was sent\n",
		},
	} {
		d := newDesk(t)
		d.settings.CancelQueue = "c"
		d.run(0, c.args...)
		if d.out.String() != c.text || len(d.queues.sent) != 1 || d.queues.sent[0].queue != "c" {
			t.Fatalf("%q: stdout %q, sent %v", c.args, &d.out, d.queues.sent)
		}
		if r, err := gate.ParseCancel(d.queues.sent[0].Body); err != nil || r != c.want {
			t.Errorf("%q sent %+v, %v", c.args, r, err)
		}
		d = newDesk(t)
		d.run(0, append(c.args, "--output", "json")...)
		var r gate.CancelRequest
		if err := json.Unmarshal(d.out.Bytes(), &r); err != nil || r != c.want {
			t.Errorf("%q printed %s, %v", c.args, &d.out, err)
		}
	}
}

func TestCancelThatCannotBeSent(t *testing.T) {
	for kind, code := range map[fault.Kind]int{fault.NothingHappened: 3, fault.MayHaveHappened: 3, fault.Refused: 2} {
		bubble(t, func(d *desk) {
			d.queues.sendErr = &fault.Error{Kind: kind, Err: errors.New("no")}
			d.run(code, "cancel", "--gate-id", "g")
			if d.out.Len() != 0 {
				t.Errorf("stdout %s", &d.out)
			}
			first := d.queues.sent[0].ID
			for _, m := range d.queues.sent {
				if m.ID != first {
					t.Errorf("repeated with another message id")
				}
			}
		})
	}
}

func TestCancelWithoutAToken(t *testing.T) {
	for _, args := range [][]string{{"cancel", "--gate-id", "g"}, {"abort", "--execution-id", "e-1"}} {
		bubble(t, func(d *desk) {
			d.queues.sendErr = &fault.Error{Kind: fault.NothingHappened, Text: "no token", Err: servicebus.ErrToken}
			d.run(3, args...)
			d.wants(&d.err, "failed to get token", "the message was not sent")
		})
	}
}

// The step may be repeated as it is only when surely nothing was changed.
func TestCancelWithoutATokenAfterOneThatMayHaveArrived(t *testing.T) {
	for _, args := range [][]string{{"cancel", "--gate-id", "g"}, {"abort", "--execution-id", "e-1"}} {
		bubble(t, func(d *desk) {
			d.queues.sendErr = &fault.Error{Kind: fault.MayHaveHappened, Err: errors.New("answer lost")}
			d.queues.lastErr = &fault.Error{Kind: fault.NothingHappened, Text: "no token", Err: servicebus.ErrToken}
			d.run(3, args...)
			d.wants(&d.err, "it may have arrived")
			if strings.Contains(d.err.String(), "failed to get token") {
				t.Errorf("stderr: %s", &d.err)
			}
		})
	}
}

// What a library says by itself, such as net/http, is not from here and not clean.
func TestWhatLibrariesSayIsMadeHarmless(t *testing.T) {
	d := newDesk(t)
	d.run(0, "--help")
	if _, err := fmt.Fprintln(d.log, "unsolicited:", gate.Marker(gate.KnownIssueEligible), "failed to get token"); err != nil {
		t.Fatal(err)
	}
	if want := "ev2_"; gate.HasMarker(d.err.String()) || !strings.Contains(d.err.String(), want) || !strings.Contains(d.err.String(), "failed_to get token") {
		t.Errorf("stderr: %s", &d.err)
	}
}

// What comes at the very end, and without a line break, is printed too.
func TestLastWordsOfLibraries(t *testing.T) {
	d := newDesk(t)
	d.last = "the last words"
	d.run(0, "--help")
	if d.err.String() != "the last words" {
		t.Errorf("stderr: %q", &d.err)
	}
}

// A sending whose answer was lost may have arrived, whatever the next attempt is told.
func TestCancelThatIsRefusedAfterOneThatMayHaveArrived(t *testing.T) {
	for _, args := range [][]string{{"cancel", "--gate-id", "g"}, {"abort", "--execution-id", "e-1"}} {
		bubble(t, func(d *desk) {
			d.queues.sendErr = &fault.Error{Kind: fault.MayHaveHappened, Err: errors.New("answer lost")}
			d.queues.lastErr = &fault.Error{Kind: fault.Refused, Text: "no right"}
			d.run(3, args...)
			d.wants(&d.err, "it may have arrived", "no right")
			if strings.Contains(d.err.String(), "refused") || len(d.queues.sent) != 2 {
				t.Errorf("sent %d times, stderr: %s", len(d.queues.sent), &d.err)
			}
		})
	}
}

func TestOutputThatNobodyReads(t *testing.T) {
	d := newDesk(t)
	d.world.Stdout = closedPipe{}
	d.world.Stdin = strings.NewReader(`{"gateId":"g"}`)
	d.run(141, "validate", "-")
	if d.err.Len() != 0 {
		t.Errorf("stderr: %s", &d.err)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestConnectTimeoutOfCancelAndAbort(t *testing.T) {
	for _, args := range [][]string{{"cancel", "--gate-id", "g"}, {"abort", "--execution-id", "e-1"}} {
		bubble(t, func(d *desk) {
			d.queues.sendErr = &fault.Error{Kind: fault.NothingHappened, Err: errors.New("no")}
			began := time.Now()
			d.run(3, append(args, "--connect-timeout", "7s")...)
			if got := time.Since(began); got != 7*time.Second {
				t.Errorf("%q gave up after %s", args, got)
			}
		})
		newDesk(t).run(2, append(args, "--connect-timeout", "0s")...)
	}
}

func TestCancelAndAbortNeedAnID(t *testing.T) {
	for _, args := range [][]string{
		{"cancel"},
		{"cancel", "--execution-id", "e"},
		{"abort"},
		{"abort", "--gate-id", "g"},
		{"cancel", "--gate-id", strings.Repeat("x", 200)},
	} {
		d := newDesk(t)
		d.run(2, args...)
		if len(d.queues.sent) != 0 {
			t.Errorf("%q sent %v", args, d.queues.sent)
		}
	}
}

func TestValidate(t *testing.T) {
	valid := `{"gateId":"g","jobName":"j","cloud":"c","environment":"e","region":"r"}`
	for name, c := range map[string]struct {
		body  string
		args  []string
		code  int
		texts []string
	}{
		"gating":          {valid, nil, 0, []string{"valid gating message"}},
		"cancel":          {`{"gateId":"g","reason":"x"}`, nil, 0, []string{"valid cancel message (told by its fields; --kind gating checks it as a gating message)\n"}},
		"as cancel":       {`{"gateId":"g"}`, []string{"--kind", "cancel"}, 0, []string{"valid cancel message\n"}},
		"as gating":       {`{"gateId":"g"}`, []string{"--kind", "gating"}, 2, []string{"jobName", "cloud", "environment", "region"}},
		"every problem":   {`{"gateId":"g","jobName":1,"nope":true,"timeout":"x"}`, nil, 2, []string{"jobName", "nope", "timeout", "cloud"}},
		"cancel problems": {`{"reason":1,"executionId":2}`, nil, 2, []string{"rejected cancel message (told by its fields; --kind gating", ", 2 problem(s)", "reason", "executionId"}},
		"no object":       {`[]`, nil, 2, []string{"no gate id can be read"}},
		"kind":            {valid, []string{"--kind", "other"}, 2, []string{"--kind"}},
		"marker":          {`{"gateId":"g","` + gate.Marker(gate.KnownIssueEligible) + `":1}`, nil, 2, []string{"ev2_"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.world.Stdin = strings.NewReader(c.body)
			d.run(c.code, append([]string{"validate", "-"}, c.args...)...)
			for _, text := range c.texts {
				if !strings.Contains(d.out.String()+d.err.String(), text) {
					t.Errorf("lacks %q:\n%s%s", text, &d.out, &d.err)
				}
			}
		})
	}
}

func TestValidateFileAsJSON(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.json")
	if err := os.WriteFile(file, []byte(`{"gateId":"g","jobName":"j","cloud":"c","environment":"e"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	d.run(2, "validate", file, "--output", "json")
	var r struct {
		Valid    bool
		Kind     string
		Problems []string
	}
	if err := json.Unmarshal(d.out.Bytes(), &r); err != nil || r.Valid || r.Kind != "gating" || len(r.Problems) != 1 {
		t.Errorf("stdout %s, error %v", &d.out, err)
	}
	newDesk(t).run(2, "validate", file+".missing")
	newDesk(t).run(2, "validate")
}
