package cli_test

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

const passes = `{"kind":"completion","outcome":"succeeded","passed":true,"retry":"not-eligible","error":"","marker":""}`

const sha = "0123456789abcdef0123456789abcdef01234567"

var least = []string{"run", "--job-name", "job", "--cloud", "public", "--environment", "int", "--region", "uksouth"}

func with(args ...string) []string { return append(append([]string{}, least...), args...) }

// submitted returns the one gating message, as sent and as the service reads it.
func (d *desk) submitted() (raw map[string]any, g gate.Gating) {
	d.t.Helper()
	if len(d.queues.sent) != 1 || d.queues.sent[0].queue != "gate-submit" {
		d.t.Fatalf("sent %+v\nstderr: %s", d.queues.sent, &d.err)
	}
	m := d.queues.sent[0]
	if err := json.Unmarshal(m.Body, &raw); err != nil {
		d.t.Fatal(err)
	}
	g, rejection, err := gate.ParseGating(m.Body)
	if err != nil || rejection != nil {
		d.t.Fatalf("%s is rejected: %+v, %v", m.Body, rejection, err)
	}
	if m.ContentType != "application/json" || len(m.ID) > 128 || !strings.HasPrefix(m.ID, g.GateID) {
		d.t.Errorf("message id %q, content type %q", m.ID, m.ContentType)
	}
	return raw, g
}

func TestOnlyWhatWasSetIsSent(t *testing.T) {
	bubble(t, func(d *desk) {
		d.queues.answer = passes
		d.run(0, with("--base-sha", "", "--org=")...)
		raw, _ := d.submitted()
		want := map[string]any{
			"gateId": "gate-11111111-2222-3333-4444-555555555555", "jobName": "job", "cloud": "public",
			"environment": "int", "region": "uksouth",
		}
		if diff := cmp.Diff(want, raw); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		d.wants(&d.err, "gate id: gate-11111111-2222-3333-4444-555555555555")
		if d.queues.session != want["gateId"] || d.queues.received != "gate-completion" || d.queues.done != 1 {
			t.Errorf("received %q in session %q, completed %d", d.queues.received, d.queues.session, d.queues.done)
		}
	})
}

func TestEveryFlagLandsInItsField(t *testing.T) {
	bubble(t, func(d *desk) {
		d.queues.answer = passes
		d.run(0, with(
			"--gate-id", "g1", "--allowed-subscriptions", "s1,s2", "--ev2-rollout-version", "build.1.x.2",
			"--base-sha", sha, "--org", "o", "--repo", "r", "--base-ref", "b", "--execution-id", "e-1",
			"--label", "l1=1", "--label", "l2=2", "--annotation", "a=x y,z", "--environment-variable", "E=1,F=x=y",
			"--poll-interval", "90s", "--timeout", "2h30m", "--gate-promotion", "--allow-ev2-retry=true",
			"--max-ev2-auto-retry-failures", "5", "--abort-on-cancel=false", "--dry-run",
		)...)
		_, g := d.submitted()
		want := gate.Gating{
			GateID: "g1", JobName: "job", Cloud: "public", Environment: "int", Region: "uksouth",
			AllowedSubscriptions: "s1,s2", Labels: map[string]string{"l1": "1", "l2": "2"},
			Annotations: map[string]string{"a": "x y,z"}, Envs: map[string]string{"E": "1", "F": "x=y"},
			EV2RolloutVersion: "build.1.x.2", BaseSHA: sha, Org: "o", Repo: "r", BaseRef: "b", ExecutionID: "e-1",
			PollInterval: gate.Duration(90 * time.Second), Timeout: gate.Duration(150 * time.Minute),
			GatePromotion: true, AllowEV2Retry: true, MaxEV2AutoRetryFailures: 5, AbortOnCancel: false, DryRun: true,
		}
		if diff := cmp.Diff(want, g); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTheSameFlagsMakeTheSameMessage(t *testing.T) {
	bubble(t, func(d *desk) {
		d.queues.answer = passes
		args := with("--gate-id", "g", "--label", "a=1", "--label", "b=2", "--label", "c=3")
		d.run(0, args...)
		d.run(0, args...)
		d.run(0, append(args, "--dry-run")...)
		ids := d.queues.sent
		if ids[0].ID != ids[1].ID || ids[0].ID == ids[2].ID {
			t.Errorf("message ids %q %q %q", ids[0].ID, ids[1].ID, ids[2].ID)
		}
	})
}

func TestBadUsageOfRunSendsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		texts []string
	}{
		"required": {
			[]string{"run", "--timeout", "0s", "--label", "a b=c"},
			[]string{"--job-name: jobName: is required", "--cloud: ", "--environment: ", "--region: ", "--timeout: ", "--label: labels[a b]: "},
		},
		"pair":       {with("--label", "novalue"), []string{"--label", "novalue"}},
		"duration":   {with("--timeout", "soon"), []string{"--timeout"}},
		"number":     {with("--max-ev2-auto-retry-failures", "x"), []string{"--max-ev2-auto-retry-failures"}},
		"unknown":    {with("--nope"), []string{"--nope"}},
		"argument":   {with("true"), []string{"unknown command"}},
		"gate id":    {with("--gate-id", strings.Repeat("x", 200)), []string{"--gate-id: the message cannot be read: no gate id can be read", "gateId is longer than"}},
		"long id":    {with("--gate-id", strings.Repeat("x", 64)), []string{"--gate-id: gateId: must be no more than 63"}},
		"strange id": {with("--gate-id", "a/b"), []string{"--gate-id: gateId: "}},
		"every rule": {
			with("--timeout", "-1h", "--label", "prow.k8s.io/x=1", "--allow-ev2-retry", "--base-sha", "main"),
			[]string{"--timeout: timeout: must be greater than 0", "--label: labels[prow.k8s.io/x]: ", "--allow-ev2-retry: ", "--base-sha: "},
		},
		"wait":        {with("--wait", "0s"), []string{"--wait", "positive"}},
		"interval":    {with("--status-interval", "0s"), []string{"positive"}},
		"status":      {with("--status-url", "ftp://x"), []string{"--status-url must be"}},
		"SQS":         {with("--queue-url", "https://sqs.eu-west-1.amazonaws.com/123456789012"), []string{"--status-url or STATUS_URL is required"}},
		"grace":       {with("--cancel-grace", "0s"), []string{"positive"}},
		"output":      {with("--output", "yaml"), []string{"text or json"}},
		"log level":   {with("--log-level", "loud"), []string{"--log-level"}},
		"marker":      {with("--" + gate.Marker(gate.KnownIssueEligible)), []string{"ev2_"}},
		"marker pair": {with("--label", gate.Marker(gate.KnownIssueEligible)), []string{"ev2_"}},
		"marker id":   {with("--gate-id", gate.Marker(gate.KnownIssueEligible)), []string{"EV2 marker"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(d *desk) {
				d.run(2, c.args...)
				d.wants(&d.err, c.texts...)
				if len(d.queues.sent) != 0 || d.out.Len() != 0 {
					t.Errorf("sent %v, stdout %s", d.queues.sent, &d.out)
				}
			})
		})
	}
}

// A queue's name that cannot be read from is found out before anything is sent.
func TestNamesOfQueues(t *testing.T) {
	for _, name := range []string{"", "a b", "a/b", "-a"} {
		bubble(t, func(d *desk) {
			d.settings.SubmitQueue, d.settings.CancelQueue, d.settings.CompletionQueue = name, name, name
			d.run(2, least...)
			d.wants(&d.err, "SUBMIT_QUEUE: ", "CANCEL_QUEUE: ", "COMPLETION_QUEUE: ")
			d.run(2, "cancel", "--gate-id", "g")
			if d.queues.opened != "" {
				t.Error("the queues were opened")
			}
		})
	}
}

func TestRunWithoutQueue(t *testing.T) {
	bubble(t, func(d *desk) {
		d.settings.QueueURL = ""
		d.run(2, least...)
		d.wants(&d.err, "QUEUE_URL")
	})
}

func TestQueueNamesAndURLComeFromSettingsAndFlags(t *testing.T) {
	bubble(t, func(d *desk) {
		d.settings.SubmitQueue, d.settings.CompletionQueue = "s", "c"
		d.queues.answer = passes
		d.run(0, with("--queue-url", "http://other.example")...)
		if d.queues.opened != "http://other.example" || d.queues.sent[0].queue != "s" || d.queues.received != "c" {
			t.Errorf("opened %q, sent to %q, received from %q", d.queues.opened, d.queues.sent[0].queue, d.queues.received)
		}
	})
}

func TestRunExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		err    error
		code   int
		text   string
	}{
		"passed":      {answer: passes, code: 0},
		"not passed":  {answer: `{"kind":"completion","outcome":"failed","passed":false}`, code: 1},
		"rejected":    {answer: `{"kind":"completion","outcome":"rejected","passed":false}`, code: 2},
		"no answer":   {code: 3, text: "no verdict after 5h15m"},
		"unreachable": {err: &fault.Error{Kind: fault.NothingHappened, Err: errors.New("refused")}, code: 3, text: "nothing was submitted"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(d *desk) {
				d.queues.answer, d.queues.sendErr = c.answer, c.err
				d.run(c.code, least...)
				d.wants(&d.err, c.text)
			})
		})
	}
}

func TestWaitIsTheGatesTimeoutAndAMargin(t *testing.T) {
	for _, c := range []struct {
		args []string
		wait time.Duration
	}{
		{nil, 5*time.Hour + 15*time.Minute},
		{[]string{"--timeout", "1h"}, 2*time.Hour + 15*time.Minute},
		{[]string{"--timeout", "1h", "--wait", "10m"}, 10 * time.Minute},
		{[]string{"--timeout", "", "--wait="}, 5*time.Hour + 15*time.Minute},
	} {
		bubble(t, func(d *desk) {
			began := time.Now()
			d.run(3, with(c.args...)...)
			if got := time.Since(began); got != c.wait {
				t.Errorf("%q: waited %s, want %s", c.args, got, c.wait)
			}
		})
	}
}

// As long as a duration can be: no limit, and not one that has passed.
func TestWaitOfTheLongestTimeout(t *testing.T) {
	bubble(t, func(d *desk) {
		began := time.Now()
		time.AfterFunc(100*time.Hour, func() { d.signals <- syscall.SIGTERM })
		d.run(143, with("--timeout", "2562047h")...)
		if got := time.Since(began); got < 100*time.Hour {
			t.Errorf("ended after %s\n%s", got, &d.err)
		}
	})
}

func TestAnEmptyTextCountsAsNotGiven(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"run", "--gate-id", ""}} {
		bubble(t, func(d *desk) {
			d.queues.answer = passes
			for _, name := range []string{
				"label", "annotation", "environment-variable", "poll-interval", "timeout", "gate-promotion", "allow-ev2-retry",
				"abort-on-cancel", "dry-run", "max-ev2-auto-retry-failures", "base-ref", "execution-id", "cancel-grace",
				"connect-timeout", "wait", "status-url", "status-interval", "output", "queue-url", "log-level", "gangway-url",
			} {
				args = append(args, "--"+name+"=")
			}
			d.run(0, append(args, least[1:]...)...)
			if raw, _ := d.submitted(); len(raw) != 5 {
				t.Errorf("sent %v", raw)
			}
			if strings.Contains(d.err.String(), "ignored") {
				t.Errorf("stderr: %s", &d.err)
			}
		})
	}
}

func TestHelpNamesNoDefaultThatIsNone(t *testing.T) {
	d := newDesk(t)
	d.run(0, "run", "--help")
	for _, text := range []string{"default 0", "default []", "default false"} {
		if strings.Contains(d.out.String(), text) {
			t.Errorf("the help says %q:\n%s", text, &d.out)
		}
	}
	d.wants(&d.out, "(default 20s)", `(default "text")`)
}

func TestRunCancelledBySignal(t *testing.T) {
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		bubble(t, func(d *desk) {
			time.AfterFunc(time.Hour, func() { d.signals <- sig })
			began := time.Now()
			d.run(code, with("--gate-id", "g", "--cancel-grace", "7s")...)
			if got := time.Since(began); got != time.Hour+7*time.Second {
				t.Errorf("ended after %s", got)
			}
			last := d.queues.sent[len(d.queues.sent)-1]
			r, err := gate.ParseCancel(last.Body)
			if last.queue != "gate-cancel" || err != nil || r.GateID != "g" {
				t.Errorf("last message to %s: %s, %v", last.queue, last.Body, err)
			}
		})
	}
}

func TestRunPrintsTheCompletionAsJSON(t *testing.T) {
	bubble(t, func(d *desk) {
		d.queues.answer = passes
		d.run(0, with("--output", "json")...)
		var n gate.Notice
		if err := json.Unmarshal(d.out.Bytes(), &n); err != nil || n.Outcome != gate.Succeeded || !n.Passed {
			t.Errorf("stdout %s, error %v", &d.out, err)
		}
	})
}

func TestFlagsOfTheFormerCommandAreIgnored(t *testing.T) {
	bubble(t, func(d *desk) {
		d.queues.answer = passes
		d.run(0, with("--prow-token-keyvault-uri", "https://kv", "--prow-token-keyvault-secret", "name", "--gangway-url=x", "--prow-url=y")...)
		if raw, _ := d.submitted(); len(raw) != 5 {
			t.Errorf("sent %v", raw)
		}
		d.wants(&d.err, "ignored, because the service has its own: --prow-token-keyvault-uri, --prow-token-keyvault-secret, --gangway-url, --prow-url")
	})
}
