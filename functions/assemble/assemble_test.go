package assemble_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"prowgate/functions/assemble"
	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
	"prowgate/shared/config"
	"prowgate/shared/engine"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/secret"
	"prowgate/shared/store/memory"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return start }

// sender keeps the last message of each queue.
type sender map[string]queue.Message

func (s sender) Send(_ context.Context, name string, m queue.Message) error {
	s[name] = m
	return nil
}

// rig is an engine of the settings, between a stand-in for Prow and a sender, at a time that the test moves.
type rig struct {
	*engine.Engine
	t     *testing.T
	now   time.Time
	world *gangwaytest.World
	sent  sender
}

func newRig(t *testing.T, s config.Settings, read func(context.Context) (string, error)) *rig {
	t.Helper()
	r := &rig{t: t, now: start, sent: sender{}}
	clock, log := func() time.Time { return r.now }, slog.New(slog.DiscardHandler)
	r.world = gangwaytest.New(gangwaytest.Options{Clock: clock, Token: "hush-hush", ScriptFor: gangwaytest.Demo(time.Minute)})
	server := httptest.NewServer(r.world)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.GangwayURL, s.ProwURL, s.ArtifactsURL, s.PollQueue, s.CompletionQueue = address, address, address, "ticks", "verdicts"
	token := secret.New(read, clock, log)
	r.Engine = assemble.Engine(s, assemble.Cloud{Token: token, Records: memory.New(), Sender: r.sent}, clock, log, nil)
	return r
}

func good(context.Context) (string, error) { return "hush-hush", nil }

// submit takes a gating message, and returns the last message that the gate's pipeline got then.
func (r *rig) submit(id string, dryRun bool) (n gate.Notice) {
	r.t.Helper()
	g := gate.Gating{
		GateID: id, JobName: "e2e-pass", Cloud: "public", Environment: "int", Region: "westus3",
		PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(time.Hour), DryRun: dryRun,
	}
	if err := r.Submit(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal(r.sent["verdicts"].Body, &n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// Every setting that is the engine's gets there: where Prow is, the token, the queues, the labels.
func TestSettingsReachTheEngine(t *testing.T) {
	r := newRig(t, config.Settings{RatePerMinute: 9, ExclusiveLabels: true}, good)
	r.submit("g1", false)
	jobs := r.world.Jobs()
	if len(jobs) != 1 {
		t.Fatalf("%d jobs, want 1", len(jobs))
	}
	for _, label := range []string{prow.LabelJob, prow.LabelOrg, prow.LabelRepo} {
		if got := jobs[0].Labels[label]; got != "g1" {
			t.Errorf("label %s = %q, want the gate's own", label, got)
		}
	}
	if r.sent["ticks"].ID == "" || r.sent["verdicts"].SessionID != "g1" || len(r.sent) != 2 {
		t.Errorf("sent to %v", slices.Collect(maps.Keys(r.sent)))
	}
	if err := r.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}); err != nil || r.world.Count(gangwaytest.DeckJob) != 1 {
		t.Errorf("%v; Deck was asked %d times, want once", err, r.world.Count(gangwaytest.DeckJob))
	}
	if n := r.submit("g2", true); !strings.Contains(n.Error, `"prow.k8s.io/job":"g2"`) {
		t.Errorf("the dry run shows other labels than a run would have: %s", n.Error)
	}
}

func TestTheBudgetIsTheOneThatWasSet(t *testing.T) {
	for burst, want := range map[int]time.Duration{0: time.Minute, 3: 2 * time.Second} {
		r := newRig(t, config.Settings{RatePerMinute: 1, Burst: burst}, good)
		r.submit("g1", false)
		r.submit("g2", false)
		if wait := r.sent["ticks"].ScheduledAt.Sub(start); len(r.world.Jobs()) != 1 || wait != want {
			t.Errorf("burst %d: %d jobs, the second's turn after %v, want %v", burst, len(r.world.Jobs()), wait, want)
		}
	}
}

// A token that Gangway refuses is read again, and the gate goes on with the new one.
func TestARenewedTokenNeedsNoRestart(t *testing.T) {
	reads := 0
	r := newRig(t, config.Settings{RatePerMinute: 9, Burst: 5}, func(context.Context) (string, error) {
		if reads++; reads == 1 {
			return "old", nil
		}
		return "hush-hush", nil
	})
	if n := r.submit("g1", false); n.Outcome != gate.SubmissionFailed || reads != 1 { // within a minute it is not read again
		t.Fatalf("%d reads; %+v", reads, n)
	}
	r.now = start.Add(2 * time.Minute)
	if n := r.submit("g2", false); n.Kind != gate.KindProgress || reads != 2 {
		t.Errorf("%d reads; %s: %s", reads, n.Outcome, n.Error)
	}
	var tick gate.Tick
	if err := json.Unmarshal(r.sent["ticks"].Body, &tick); err != nil {
		t.Fatal(err)
	}
	r.now = start.Add(5 * time.Minute)
	if err := r.Poll(t.Context(), tick); err != nil || len(r.world.Jobs()) != 1 {
		t.Errorf("%v; %d jobs by the new token", err, len(r.world.Jobs()))
	}
}
