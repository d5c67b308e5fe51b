package cli_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// gatesServer serves two gates as the service does.
func gatesServer(t *testing.T) string {
	one := `{"gateId":"g","phase":"running","jobName":"job","state":"pending","jobUrl":"https://prow/1",` +
		`"abort":{"outcome":"skipped","reason":"sibling"},` +
		`"timeline":[{"at":"2026-11-30T09:00:00Z","event":"state","text":"` + gate.Marker(gate.KnownIssueEligible) + `"}]}`
	mux := http.NewServeMux()
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	mux.HandleFunc("GET /api/gates", answer(`{"gates":[`+one+`,{"gateId":"h","phase":"done","outcome":"failed"}]}`))
	mux.HandleFunc("GET /api/gates/g", answer(one))
	mux.HandleFunc("GET /broken/api/gates", answer("<html>"))
	mux.HandleFunc("GET /angry/api/gates", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestStatus(t *testing.T) {
	u := gatesServer(t)
	for _, c := range []struct {
		args  []string
		code  int
		texts []string
	}{
		{[]string{"status"}, 0, []string{"GATE", "running", "https://prow/1", "failed"}},
		{[]string{"status", "--gate-id", "g"}, 0, []string{"pending", "left running", "2026-11-30T09:00:00Z  state: ev2_"}},
		{[]string{"status", "--queue-url", "sb://x.servicebus.windows.net", "--status-url", u}, 0, []string{"running"}},
		{[]string{"status", "--gate-id", "nope"}, 1, []string{"no such gate"}},
		{[]string{"status", "--status-url", u + "/elsewhere"}, 3, []string{"no status"}},
		{[]string{"status", "--status-url", u + "/broken"}, 3, []string{"not readable"}},
		{[]string{"status", "--status-url", u + "/angry"}, 3, []string{"500"}},
		{[]string{"status", "--status-url", "nonsense"}, 2, []string{"--status-url"}},
		{[]string{"status", "--queue-url", "Endpoint=sb://x/;SharedAccessKey=secret"}, 2, []string{"--status-url is required", "Service Bus"}},
		{[]string{"status", "--queue-url", "sb://x.servicebus.windows.net"}, 2, []string{"--status-url is required", "Service Bus"}},
	} {
		d := newDesk(t)
		d.settings.QueueURL, d.world.HTTP = u+"/ignored", http.DefaultTransport
		d.run(c.code, c.args...)
		for _, text := range c.texts {
			if !strings.Contains(d.out.String()+d.err.String(), text) {
				t.Errorf("%q lacks %q:\n%s%s", c.args, text, &d.out, &d.err)
			}
		}
		if strings.Contains(d.err.String(), "secret") {
			t.Errorf("%q printed a secret: %s", c.args, &d.err)
		}
	}
}

func TestStatusAsJSON(t *testing.T) {
	d := newDesk(t)
	d.settings.QueueURL, d.world.HTTP = gatesServer(t), http.DefaultTransport
	d.run(0, "status", "--output", "json")
	var all struct{ Gates []gate.View }
	if err := json.Unmarshal(d.out.Bytes(), &all); err != nil || len(all.Gates) != 2 || all.Gates[0].GateID != "g" {
		t.Errorf("stdout %s, error %v", &d.out, err)
	}
	d.out.Reset()
	d.run(0, "status", "--gate-id", "g", "--output", "json")
	var one gate.View
	if err := json.Unmarshal(d.out.Bytes(), &one); err != nil || len(one.Timeline) != 1 {
		t.Errorf("stdout %s, error %v", &d.out, err)
	}
}

func TestStatusOfAServiceThatIsAway(t *testing.T) {
	d := newDesk(t)
	d.run(3, "status")
	if strings.Contains(strings.ToLower(d.err.String()), "failed to establish a new connection") {
		t.Errorf("printed a text that EV2 retries: %s", &d.err)
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
		"cancel":          {`{"gateId":"g","reason":"x"}`, nil, 0, []string{"valid cancel message"}},
		"as gating":       {`{"gateId":"g"}`, []string{"--kind", "gating"}, 2, []string{"jobName", "cloud", "environment", "region"}},
		"every problem":   {`{"gateId":"g","jobName":1,"nope":true,"timeout":"x"}`, nil, 2, []string{"jobName", "nope", "timeout", "cloud"}},
		"cancel problems": {`{"reason":1,"executionId":2}`, nil, 2, []string{"rejected cancel message, 2 problem(s)", "reason", "executionId"}},
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
