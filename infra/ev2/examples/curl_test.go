package examples

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/httpqueue"
)

// host is the local host's queues.
type host struct {
	*broker.Broker
	url string
}

func startHost(t *testing.T) host {
	b := broker.New(broker.Config{Clock: time.Now, Queues: []broker.QueueConfig{
		{Name: "gate-submit", DuplicateWindow: 10 * time.Minute},
		{Name: "gate-cancel", DuplicateWindow: 10 * time.Minute},
		{Name: "gate-completion", Sessions: true},
	}})
	s := httptest.NewServer(httpqueue.Handler(b))
	t.Cleanup(s.Close)
	return host{b, s.URL}
}

// only returns the body of the one message in a queue.
func (h host) only(t *testing.T, name string) []byte {
	t.Helper()
	c, err := h.Counts(t.Context(), name)
	if err != nil || c.Active != 1 {
		t.Fatalf("%s holds %+v, %v", name, c, err)
	}
	d, _, err := h.ReceiveAndDelete(t.Context(), name, "", time.Second)
	if err != nil || d.ContentType != queue.ContentType {
		t.Errorf("content type %q, %v", d.ContentType, err)
	}
	return d.Body
}

// run runs a script and checks its exit code.
func run(t *testing.T, cmd *exec.Cmd, code int) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if got := exitCode(t, cmd.Run()); got != code {
		t.Errorf("%s: exit code %d, want %d\n%s%s", cmd.Args, got, code, &out, &err)
	}
	return out.String(), err.String()
}

func submitEnv(url string, more ...string) []string {
	return append([]string{"QUEUE_URL=" + url, "PROW_JOB_NAME=job", "CLOUD=public", "ENVIRONMENT=int", "REGION=uksouth"}, more...)
}

func TestSubmitWithCurl(t *testing.T) {
	need(t, "bash", "curl")
	h := startHost(t)
	env := submitEnv(h.url, "GATE_ID=g", "GATE_PROMOTION=true", "ALLOW_EV2_RETRY=true", "BASE_SHA=51f51a32c97c")
	for range 2 { // the second is a duplicate
		if out, _ := run(t, script(t, "curl/submit.sh", env...), 0); out != "g\n" {
			t.Errorf("printed %q", out)
		}
	}
	g, rejection, err := gate.ParseGating(h.only(t, "gate-submit"))
	if err != nil || rejection != nil || g.GateID != "g" || g.JobName != "job" || g.BaseSHA != "51f51a32c97c" || !g.AllowEV2Retry {
		t.Errorf("%+v, %+v, %v", g, rejection, err)
	}
}

func TestSubmitWithCurlMakesAnID(t *testing.T) {
	need(t, "bash", "curl")
	h := startHost(t)
	out, _ := run(t, script(t, "curl/submit.sh", submitEnv(h.url)...), 0)
	g, rejection, err := gate.ParseGating(h.only(t, "gate-submit"))
	if err != nil || rejection != nil || g.GateID+"\n" != out {
		t.Errorf("printed %q: %+v, %+v, %v", out, g, rejection, err)
	}
}

func TestSubmitWithCurlRefusesWhatWouldBreakTheMessage(t *testing.T) {
	need(t, "bash", "curl")
	h := startHost(t)
	for _, value := range []string{`a"b`, `a\b`, "a\nb"} {
		run(t, script(t, "curl/submit.sh", submitEnv(h.url, "REGION="+value)...), 2)
	}
	for _, pair := range []string{"GATE_PROMOTION=True", "ALLOW_EV2_RETRY=1", "DRY_RUN=yes", `DRY_RUN=true, "x": 1`} {
		name, _, _ := strings.Cut(pair, "=")
		if _, said := run(t, script(t, "curl/submit.sh", submitEnv(h.url, pair)...), 2); said != name+" must be true or false\n" {
			t.Errorf("%s: stderr %q", pair, said)
		}
	}
	if c, err := h.Counts(t.Context(), "gate-submit"); err != nil || c.Active != 0 {
		t.Errorf("sent %+v, %v", c, err)
	}
}

// Each call arrives, also soon after another: who asks again for an abort has to be heard.
func TestCancelWithCurl(t *testing.T) {
	need(t, "bash", "curl")
	h := startHost(t)
	for _, c := range []struct{ env, reason string }{{"REASON=stop", "stop"}, {"REASON=stop", "stop"}, {"REASON=", "cancel event"}} {
		run(t, script(t, "curl/cancel.sh", "QUEUE_URL="+h.url, "GATE_ID=g", c.env), 0)
		if r, err := gate.ParseCancel(h.only(t, "gate-cancel")); err != nil || r != (gate.CancelRequest{GateID: "g", Reason: c.reason}) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// One call repeats itself with one message id.
func TestCancelWithCurlThatIsRepeated(t *testing.T) {
	need(t, "bash", "curl")
	var said []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said = append(said, r.Header.Get("BrokerProperties"))
		if len(said) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer s.Close()
	run(t, script(t, "curl/cancel.sh", "QUEUE_URL="+s.URL, "GATE_ID=g"), 0)
	if len(said) != 2 || said[0] != said[1] || !strings.Contains(said[0], `"MessageId": "cancel-`) {
		t.Errorf("%q", said)
	}
}

func TestScriptsNeedAGateID(t *testing.T) {
	need(t, "bash", "curl")
	h := startHost(t)
	for _, name := range []string{"curl/cancel.sh", "curl/wait.sh"} {
		for _, env := range [][]string{{"QUEUE_URL=" + h.url}, {"QUEUE_URL=" + h.url, "GATE_ID="}} {
			if _, said := run(t, script(t, name, env...), 2); said != "GATE_ID is not set\n" {
				t.Errorf("%s: stderr %q", name, said)
			}
		}
	}
}

func TestWaitWithCurl(t *testing.T) {
	need(t, "bash", "curl")
	h := startHost(t)
	for _, c := range []struct {
		passed bool
		code   int
	}{{true, 0}, {false, 1}} {
		for _, n := range []gate.Notice{
			{Kind: gate.KindProgress, GateID: "g", Text: `"kind":"completion","passed":true`},
			{Kind: gate.KindCompletion, GateID: "g", Outcome: gate.Failed, Passed: c.passed, Error: `"passed":true`},
		} {
			body, err := json.Marshal(n)
			if err == nil {
				err = h.Send(t.Context(), "gate-completion", queue.Message{SessionID: "g", Body: body})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		out, _ := run(t, script(t, "curl/wait.sh", "QUEUE_URL="+h.url, "GATE_ID=g"), c.code)
		var n gate.Notice
		if err := json.Unmarshal([]byte(out), &n); err != nil || n.Kind != gate.KindCompletion {
			t.Errorf("printed %q: %v", out, err)
		}
	}
	run(t, script(t, "curl/wait.sh", "QUEUE_URL=sb://gates.servicebus.windows.net", "GATE_ID=g"), 2)
}

// withCurl returns the environment in which another program is curl.
func withCurl(t *testing.T, body string) string {
	t.Helper()
	return "PATH=" + filepath.Dir(standIn(t, "curl", body)) + ":" + os.Getenv("PATH")
}

func TestTokenForServiceBus(t *testing.T) {
	need(t, "bash")
	log := filepath.Join(t.TempDir(), "log")
	path := withCurl(t, `
if [[ "$*" == *Metadata:true* ]]; then
  echo "token $*" >>`+log+`
  echo '{"access_token":"se.cr.et","client_id":"x","resource":"y"}'
  exit
fi
echo "post $*" >>`+log+`
echo "config $(cat)" >>`+log)
	env := append(submitEnv("sb://gates.servicebus.windows.net", "GATE_ID=g", "AZURE_CLIENT_ID=me"), path)
	run(t, script(t, "curl/submit.sh", env...), 0)
	lines := strings.SplitN(read(t, log), "\npost ", 2)
	if len(lines) != 2 {
		t.Fatalf("%q", lines)
	}
	args, config, _ := strings.Cut(lines[1], "\nconfig ")
	for _, want := range []string{"resource=https://servicebus.azure.net/", "client_id=me", "http://169.254.169.254/metadata/identity/oauth2/token"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the request for a token lacks %s: %s", want, lines[0])
		}
	}
	if !strings.Contains(args, " https://gates.servicebus.windows.net/gate-submit/messages ") || strings.Contains(args, "se.cr.et") {
		t.Errorf("arguments: %s", args)
	}
	if config != "header = \"Authorization: Bearer se.cr.et\"\n" {
		t.Errorf("configuration: %q", config)
	}
}

func TestNoTokenForServiceBusIsForEV2ToRetry(t *testing.T) {
	need(t, "bash")
	for _, body := range []string{"exit 7\n", "echo '{}'\n"} {
		env := append(submitEnv("sb://gates.servicebus.windows.net"), withCurl(t, body))
		out, err := run(t, script(t, "curl/submit.sh", env...), 3)
		if out != "" || !strings.Contains(err, "failed to get token") {
			t.Errorf("stdout %q, stderr %q", out, err)
		}
	}
}
