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

// Every setting that is the engine's gets there: where Prow is, the token, the queues, the budget, the labels.
func TestSettingsReachTheEngine(t *testing.T) {
	world := gangwaytest.New(gangwaytest.Options{Clock: clock, Token: "hush-hush", ScriptFor: gangwaytest.Demo(time.Minute)})
	server := httptest.NewServer(world)
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	sent := sender{}
	e := assemble.Engine(
		config.Settings{
			GangwayURL: address, ProwURL: address, ArtifactsURL: address,
			PollQueue: "ticks", CompletionQueue: "verdicts", RatePerMinute: 1, ExclusiveLabels: true,
		},
		assemble.Cloud{Token: secret.Fixed("hush-hush", clock, slog.New(slog.DiscardHandler)), Records: memory.New(), Sender: sent},
		clock, slog.New(slog.DiscardHandler), nil)
	submit := func(id string, dryRun bool) {
		g := gate.Gating{
			GateID: id, JobName: "e2e-pass", Cloud: "public", Environment: "int", Region: "westus3",
			PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(time.Hour), DryRun: dryRun,
		}
		if err := e.Submit(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	submit("g1", false)
	jobs := world.Jobs()
	if len(jobs) != 1 {
		t.Fatalf("%d jobs, want 1", len(jobs))
	}
	for _, label := range []string{prow.LabelJob, prow.LabelOrg, prow.LabelRepo} {
		if got := jobs[0].Labels[label]; got != "g1" {
			t.Errorf("label %s = %q, want the gate's own", label, got)
		}
	}
	if sent["ticks"].ID == "" || sent["verdicts"].SessionID != "g1" || len(sent) != 2 {
		t.Errorf("sent to %v", slices.Collect(maps.Keys(sent)))
	}
	submit("g2", false)
	if wait := sent["ticks"].ScheduledAt.Sub(start); len(world.Jobs()) != 1 || wait < 30*time.Second {
		t.Errorf("%d jobs, the second's turn after %v: the budget is not the one that was set", len(world.Jobs()), wait)
	}
	if err := e.Poll(t.Context(), gate.Tick{GateID: "g1", Seq: 2}); err != nil || world.Count(gangwaytest.DeckJob) != 1 {
		t.Errorf("%v; Deck was asked %d times, want once", err, world.Count(gangwaytest.DeckJob))
	}
	submit("g3", true)
	var n gate.Notice
	if err := json.Unmarshal(sent["verdicts"].Body, &n); err != nil || !strings.Contains(n.Error, `"prow.k8s.io/job":"g3"`) {
		t.Errorf("%v; the dry run shows other labels than a run would have: %s", err, n.Error)
	}
}
