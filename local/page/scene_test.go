package page

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// scene is a host's page with what it shows.
type scene struct {
	store  *memory.Store
	broker *broker.Broker
	mux    *http.ServeMux
	clock  *clock
	log    *slog.Logger
}

// clock is a bit later whenever it is asked, so that nothing counts as looked at just now.
type clock struct{ asked atomic.Int64 }

func (c *clock) now() time.Time {
	return noon().Add(time.Duration(c.asked.Add(1)) * 1100 * time.Millisecond)
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{store: memory.New(), clock: &clock{}, mux: http.NewServeMux(), log: slog.New(slog.DiscardHandler)}
	s.broker = broker.New(broker.Config{Clock: noon, Queues: []broker.QueueConfig{
		{Name: "gate-submit", DuplicateWindow: time.Minute}, {Name: "gate-completion", Sessions: true},
	}})
	register(s.mux, Config{
		Records: s.store, Broker: s.broker, Queues: []string{"gate-submit", "gate-completion"},
		Clock: s.clock.now, Log: s.log,
	}, 50*time.Millisecond)
	return s
}

// serve returns the scene's address.
func (s *scene) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(s.mux)
	t.Cleanup(server.Close)
	return server.URL
}

// save stores a record in the place of what was there.
func (s *scene) save(t *testing.T, r gate.Record) {
	t.Helper()
	old, _, err := s.store.Load(t.Context(), r.Key())
	if err != nil {
		t.Fatal(err)
	}
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Save(t.Context(), store.Entry{Key: r.Key(), Version: old.Version, Body: body}); err != nil {
		t.Fatal(err)
	}
}

// bury makes a dead letter.
func (s *scene) bury(t *testing.T, id string, body []byte) {
	t.Helper()
	if err := s.broker.Send(t.Context(), "gate-submit", queue.Message{ID: id, Body: body, ContentType: "text/x", Trace: "t"}); err != nil {
		t.Fatal(err)
	}
	d, ok, err := s.broker.TryReceive(t.Context(), "gate-submit", "")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := s.broker.DeadLetter(t.Context(), "gate-submit", d, "MaxDeliveryCountExceeded", "the message was delivered 10 times without being completed"); err != nil {
		t.Fatal(err)
	}
}

const longJob = "branch-ci-Azure-ARO-HCP-main-e2e-integration-e2e-parallel"

func running(id string) gate.Record {
	at := func(s int) time.Time { return noon().Add(time.Duration(s-300) * time.Second) }
	return gate.Record{
		GateID: id, Phase: gate.PhaseRunning, State: prow.Pending, CreatedAt: at(0), SubmittedAt: at(9), StartedAt: at(9),
		ExecutionID: "9f1c1f2e-6a55-4d1c-8f0e-2b7f1f8f1a11", Turn: gate.Turn{Seq: 4, At: noon().Add(time.Hour)},
		Gating: gate.Gating{JobName: longJob, Region: "uksouth", Timeout: gate.Duration(4 * time.Hour)},
		JobURL: "https://prow.ci.openshift.org/view/gs/test-platform-results/logs/" + longJob + "/1993245367123456789",
		Timeline: []gate.Moment{
			{At: at(0), Event: "accepted", Text: longJob + " in uksouth"},
			{At: at(9), Event: "submitted", Text: "execution 9f1c1f2e-6a55-4d1c-8f0e-2b7f1f8f1a11"},
			{At: at(69), Event: "state", Text: "triggered"},
			{At: at(129), Event: "state", Text: "pending https://prow.ci.openshift.org/view/gs/test-platform-results/logs/" + longJob + "/1993245367123456789"},
		},
	}
}

// retryable failed with a known issue.
func retryable(id string) gate.Record {
	r := running(id)
	r.Phase, r.State, r.Gating.Region, r.CompletedAt = gate.PhaseDone, prow.Failure, "westus3", noon()
	r.Verdict = &gate.Notice{
		Kind: gate.KindCompletion, GateID: id, Outcome: gate.Failed, Retry: gate.KnownIssueEligible, SentAt: noon(),
		Error: "known issue: 2 failed tests, each may be retried", FailedTests: []string{"[sig-a] scales up", "[sig-b] rotates a key"},
	}
	r.Timeline = append(r.Timeline,
		gate.Moment{At: noon(), Event: "classification", Text: "known-issue-eligible: 2 failed tests, each labelled allow-retry"},
		gate.Moment{At: noon(), Event: "completion", Text: "failed: known issue"})
	return r
}

// waiting is cancelled, and its abort waits for a sibling.
func waiting(id string) gate.Record {
	r := running(id)
	r.Gating.Region = "eastus2"
	r.Cancel = &gate.Cancel{At: noon(), Reason: "the rollout was cancelled"}
	r.Abort = gate.Abort{State: gate.AbortWanted, Since: noon()}
	r.Timeline = append(r.Timeline,
		gate.Moment{At: noon(), Event: "cancel", Text: "the rollout was cancelled"},
		gate.Moment{At: noon(), Event: "abort", Text: "put off: job 77aa of branch-ci-Azure-ARO-HCP-main-images started in the same second and is pending"})
	return r
}

func passed(id string) gate.Record {
	r := running(id)
	r.Phase, r.State, r.CreatedAt = gate.PhaseDone, prow.Success, r.CreatedAt.Add(-time.Hour)
	r.Verdict = &gate.Notice{Kind: gate.KindCompletion, Outcome: gate.Succeeded, Passed: true, SentAt: noon().Add(-time.Minute)}
	return r
}

// hostile wants to be more than text, wherever it can.
func hostile(id string) gate.Record {
	evil := `"'><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>` + strings.ToUpper(gate.Marker(gate.KnownIssueEligible)) +
		strings.Repeat("unbroken", 40)
	r := running(id)
	r.Gating.JobName, r.Gating.Region, r.ExecutionID, r.State = "job"+evil, "region"+evil, "execution"+evil, prow.State("state"+evil)
	r.JobURL = "javascript:window.pwned=1//" + evil
	r.Timeline = nil
	for i := range 80 {
		r.Timeline = append(r.Timeline, gate.Moment{At: noon(), Event: "e" + evil, Text: fmt.Sprint(i, evil)})
	}
	return r
}
