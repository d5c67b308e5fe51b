package cli_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"prowgate/shared/gate"
)

// gatesServer serves two gates as the service does.
func gatesServer(t *testing.T) string {
	one := `{"gateId":"g","phase":"running","jobName":"job","state":"pending","jobUrl":"https://prow/1",` +
		`"abort":{"outcome":"skipped","reason":"sibling"},` +
		`"timeline":[{"at":"2026-11-30T09:00:00Z","event":"state","text":"` + gate.Marker(gate.KnownIssueEligible) + `"}]}`
	abort := `{"gateId":"","executionId":"e7","phase":"done","outcome":"cancelled","state":"aborted","abort":{"outcome":"aborted","reason":"seen"},"timeline":[]}`
	mux := http.NewServeMux()
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	mux.HandleFunc("GET /api/gates", answer(`{"gates":[`+one+`,{"gateId":"h","phase":"done","outcome":"failed"},`+abort+`]}`))
	mux.HandleFunc("GET /api/gates/g", answer(one))
	mux.HandleFunc("GET /api/gates/e7", answer(abort))
	mux.HandleFunc("GET /api/gates/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":"no"}`))
	})
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
		{[]string{"status"}, 0, []string{"\nabort of e7  done     cancelled  aborted"}},
		{[]string{"status", "--execution-id", "e7"}, 0, []string{"of a job that no gate owns", "execution  e7", "the job was aborted"}},
		{[]string{"status", "--execution-id", "e7", "--output", "json"}, 0, []string{`"gateId": ""`, `"executionId": "e7"`}},
		{[]string{"status", "--execution-id", "e8"}, 1, []string{"no abort of such an execution"}},
		{[]string{"status", "--execution-id", ""}, 2, []string{"--execution-id must be"}},
		{[]string{"status", "--execution-id", "e7", "--gate-id", "g"}, 2, []string{"exclude each other"}},
		{[]string{"status", "--execution-id", "g"}, 1, []string{"the id of a gate"}},
		{[]string{"status", "--gate-id", "e7"}, 1, []string{"no such gate"}},
		{[]string{"status", "--gate-id", "nope"}, 1, []string{"no such gate"}},
		{[]string{"status", "--status-url", u + "/elsewhere"}, 3, []string{"no status"}},
		{[]string{"status", "--status-url", u + "/broken"}, 3, []string{"not readable"}},
		{[]string{"status", "--status-url", u + "/angry"}, 3, []string{"500"}},
		{[]string{"status", "--status-url", "nonsense"}, 2, []string{"--status-url"}},
		{[]string{"status", "--gate-id", ""}, 2, []string{"--gate-id must be", "1-63 characters"}},
		{[]string{"status", "--gate-id", ".."}, 2, []string{"--gate-id must be"}},
		{[]string{"status", "--gate-id", "g/../g?x#y"}, 1, []string{"no such gate"}},
		{[]string{"status", "--queue-url", "https://sqs.eu-west-1.amazonaws.com/123456789012"}, 2, []string{"--status-url is required", "SQS"}},
		{[]string{"status", "--status-url", "https://user:secret@host"}, 2, []string{"without user"}},
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

// Odd names widen no column, and are whole as JSON. Requests go to the URL's own host, once.
func TestStatusCutsLongNames(t *testing.T) {
	long := strings.Repeat("x", 500)
	one := gate.View{GateID: long, Phase: gate.Phase(long), Outcome: "a\nb\x1b[31m", State: long, Region: long, JobName: long, JobURL: "https://prow/" + long}
	body, err := json.Marshal(map[string][]gate.View{"gates": {one}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	defer s.Close()
	d := newDesk(t)
	d.settings.QueueURL, d.settings.StatusURL, d.world.HTTP = "sb://x.servicebus.windows.net", s.URL, http.DefaultTransport
	d.run(0, "status")
	lines := strings.Split(strings.TrimSuffix(d.out.String(), "\n"), "\n")
	if len(lines) != 2 || len(lines[1]) > 500 || strings.Contains(d.out.String(), "\x1b") {
		t.Errorf("%d lines: %s", len(lines), &d.out)
	}
	d.out.Reset()
	d.run(0, "status", "--output", "json")
	var all struct{ Gates []gate.View }
	if err := json.Unmarshal(d.out.Bytes(), &all); err != nil || len(all.Gates) != 1 || all.Gates[0].JobName != long {
		t.Errorf("%v: %s", err, &d.out)
	}
}

// A request is signed for a Lambda function's URL, and wherever the queues are of SQS.
func TestWhichRequestsAreSigned(t *testing.T) {
	for _, c := range []struct {
		queueURL, statusURL string
		signed              bool
	}{
		{"http://queues.example", "", false},
		{"sb://x.servicebus.windows.net", "https://face.example", false},
		{"sb://x.servicebus.windows.net", "https://abc.lambda-url.eu-west-1.on.aws/", true},
		{"", "https://abc.lambda-url.eu-west-1.on.aws/", true},
		{"https://sqs.eu-west-1.amazonaws.com/123456789012", "https://face.example", true},
		{"sqs:http://127.0.0.1:1/000000000000", "http://127.0.0.1:2", true},
	} {
		d := newDesk(t)
		d.settings.QueueURL, d.settings.StatusURL = c.queueURL, c.statusURL
		d.world.HTTP, d.world.Signed = says("not signed"), says("signed")
		d.run(3, "status")
		if got := !strings.Contains(d.err.String(), "not signed"); got != c.signed {
			t.Errorf("%s, %s: signed %t: %s", c.queueURL, c.statusURL, got, &d.err)
		}
	}
}

// says is a transport that fails with that text.
type says string

func (s says) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New(string(s)) }

func TestStatusAsJSON(t *testing.T) {
	d := newDesk(t)
	d.settings.QueueURL, d.world.HTTP = gatesServer(t), http.DefaultTransport
	d.run(0, "status", "--output", "json")
	var all struct{ Gates []gate.View }
	if err := json.Unmarshal(d.out.Bytes(), &all); err != nil || len(all.Gates) != 3 || all.Gates[0].GateID != "g" || all.Gates[2].ExecutionID != "e7" {
		t.Errorf("stdout %s, error %v", &d.out, err)
	}
	d.out.Reset()
	d.run(0, "status", "--gate-id", "g", "--output", "json")
	var one gate.View
	if err := json.Unmarshal(d.out.Bytes(), &one); err != nil || len(one.Timeline) != 1 {
		t.Errorf("stdout %s, error %v", &d.out, err)
	}
}

func TestStatusOfNoGatesIsAnEmptyList(t *testing.T) {
	for _, body := range []string{`{"gates":[]}`, `{"gates":null}`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		d := newDesk(t)
		d.settings.QueueURL, d.world.HTTP = s.URL, http.DefaultTransport
		d.run(0, "status", "--output", "json")
		if got := strings.Join(strings.Fields(d.out.String()), ""); got != `{"gates":[]}` {
			t.Errorf("%s: printed %s", body, got)
		}
		s.Close()
	}
}

func TestStatusOfAServiceThatIsAway(t *testing.T) {
	d := newDesk(t)
	d.run(3, "status")
	if strings.Contains(strings.ToLower(d.err.String()), "failed to establish a new connection") {
		t.Errorf("printed a text that EV2 retries: %s", &d.err)
	}
}
