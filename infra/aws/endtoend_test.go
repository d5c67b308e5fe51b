package aws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/infra/aws/lambdatest"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// story is one gate: what it asks for and how it has to end.
type story struct {
	id, job, fields string
	outcome         gate.Outcome
	retry           gate.Retry
	passed          bool
	abort           gate.AbortOutcome
	state           prow.State // of its job in the end
}

// stories are of every kind that the pipeline tells apart. The first is cancelled when the others have ended.
func stories() []story {
	const retrying = `,"gatePromotion":true,"allowEv2Retry":true`
	return []story{
		{"g-cancel", "e2e-hang", `,"gatePromotion":true,"baseSha":"0123456789abcdef0123456789abcdef01234567"`, gate.Cancelled, gate.NotEligible, false, gate.AbortDone, prow.Aborted},
		{"g-pass", "e2e-pass", `,"gatePromotion":true`, gate.Succeeded, gate.NotEligible, true, "", prow.Success},
		{"g-fail", "e2e-fail", retrying, gate.Failed, gate.NotEligible, false, "", prow.Failure},
		{"g-flaky", "e2e-flaky", retrying, gate.Failed, gate.KnownIssueEligible, false, "", prow.Failure},
		{"g-infra", "e2e-infra", retrying, gate.Failed, gate.InfraPreconditionEligible, false, "", prow.Failure},
	}
}

func (s story) message() string {
	return fmt.Sprintf(`{"gateId":%q,"jobName":%q,"cloud":"public","environment":"int","region":"westus3","pollInterval":"1s"%s}`, s.id, s.job, s.fields)
}

// Gating and cancel messages are sent twice, every third message of all is delivered twice, late and out of order,
// and the process that polls is killed in the middle of its work.
func TestGatesThroughLambda(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what builds and runs the real program")
	}
	st := newStage(t)
	stop := st.run(t)
	defer stop()
	for _, s := range stories() {
		st.send(t, "gate-submit", s.message())
		st.send(t, "gate-submit", s.message())
	}
	got := map[string]gate.Notice{}
	st.completions(t, got, len(stories())-1)
	st.send(t, "gate-cancel", `{"gateId":"g-cancel","reason":"the rollout was cancelled"}`)
	st.send(t, "gate-cancel", `{"gateId":"g-cancel","reason":"the rollout was cancelled"}`)
	st.completions(t, got, len(stories()))
	for _, s := range stories() {
		s.check(t, got[s.id])
		if face := st.completion(t, s.id); face.Outcome != s.outcome || face.Error != got[s.id].Error || !face.SentAt.Equal(got[s.id].SentAt) {
			t.Errorf("%s: the status face tells another completion: %+v", s.id, face)
		}
	}
	st.checkNothingFollows(t, got, stop)
	st.checkJobs(t)
	st.checkNothingPutAside(t)
	if n := st.poll.Starts(); n < 3 {
		t.Errorf("the polling program was started %d times: it was not killed", n)
	}
	if answer, err := st.sweep.Invoke(t.Context(), []byte(`{"source":"aws.events","detail-type":"Scheduled Event"}`), time.Minute); err != nil || string(answer) != "{}" {
		t.Errorf("sweep: %s, %v", answer, err)
	}
	st.report(t)
}

func (s story) check(t *testing.T, n gate.Notice) {
	t.Helper()
	marker := gate.Marker(s.retry)
	if n.Outcome != s.outcome || n.Retry != s.retry || n.Passed != s.passed || n.Marker != marker {
		t.Errorf("%s: %+v", s.id, n)
	}
	if !strings.HasPrefix(n.Error, marker) || marker == "" && gate.HasMarker(n.Error) {
		t.Errorf("%s: error %q", s.id, n.Error)
	}
	if (n.Abort == nil) != (s.abort == "") || n.Abort != nil && n.Abort.Outcome != s.abort {
		t.Errorf("%s: abort %+v, want %s", s.id, n.Abort, s.abort)
	}
}

// completions receives until so many gates have one. A copy may come, another completion may not.
func (st *stage) completions(t *testing.T, got map[string]gate.Notice, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for len(got) < want {
		d, ok, err := st.queues.Receive(ctx, "gate-completion", "", 20*time.Second)
		if err != nil {
			t.Fatalf("%d completions of %d: %v", len(got), want, err)
		}
		if ok {
			st.take(t, got, d)
		}
	}
}

// take takes note of a message of the completion queue.
func (st *stage) take(t *testing.T, got map[string]gate.Notice, d queue.Delivery) {
	t.Helper()
	if err := st.queues.Complete(t.Context(), "gate-completion", d); err != nil {
		t.Fatal(err)
	}
	var n gate.Notice
	if err := json.Unmarshal(d.Body, &n); err != nil || d.SessionID != n.GateID {
		t.Fatalf("%s %s: %v", d.SessionID, d.Body, err)
	}
	if n.Kind != gate.KindCompletion {
		return
	}
	if before, ok := got[n.GateID]; ok && !cmp.Equal(before, n) || d.ID != n.GateID+".completion" {
		t.Errorf("%s: completion %s %+v after %+v", n.GateID, d.ID, n, before)
	}
	got[n.GateID] = n
}

// checkNothingFollows lets the copies that are left come, and wants no verdict that is not a copy of one there is.
func (st *stage) checkNothingFollows(t *testing.T, got map[string]gate.Notice, stop func()) {
	t.Helper()
	stop()
	for name, s := range st.sources {
		for n, turns := 1, 0; n > 0 && turns < 50; turns++ {
			var err error
			if n, err = s.Turn(t.Context(), 0); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if t.Logf("%s: %d messages came twice", name, s.Repeated()); s.Repeated() == 0 {
			t.Errorf("%s: no message came twice", name)
		}
	}
	for {
		d, ok, err := st.queues.Receive(t.Context(), "gate-completion", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return
		}
		st.take(t, got, d)
	}
}

func (st *stage) checkJobs(t *testing.T) {
	t.Helper()
	byGate := map[string]prow.State{}
	for _, j := range st.world.Jobs() {
		id := j.Labels[gate.KeyGateID]
		if _, second := byGate[id]; second {
			t.Errorf("%s has two jobs", id)
		}
		byGate[id] = j.State
	}
	for _, s := range stories() {
		if byGate[s.id] != s.state {
			t.Errorf("%s: its job is %q, want %q", s.id, byGate[s.id], s.state)
		}
	}
	if len(byGate) != len(stories()) {
		t.Errorf("jobs: %v", byGate)
	}
}

// completion asks the status face.
func (st *stage) completion(t *testing.T, id string) gate.Notice {
	t.Helper()
	request := fmt.Sprintf(`{"version":"2.0","rawPath":"/api/gates/%s/completion","requestContext":{"http":{"method":"GET"}}}`, id)
	raw, err := st.face.Invoke(t.Context(), []byte(request), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		StatusCode int
		Body       string
	}
	var n gate.Notice
	if err := errors.Join(json.Unmarshal(raw, &answer), json.Unmarshal([]byte(answer.Body), &n)); err != nil || answer.StatusCode != 200 {
		t.Fatalf("%s: %s, %v", id, raw, err)
	}
	return n
}

// report tells what a deployment wants to know of the program.
func (st *stage) report(t *testing.T) {
	t.Helper()
	info, err := os.Stat(st.exe)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", st.poll.PID()))
	_, rss, _ := strings.Cut(string(status), "VmRSS:")
	rss, _, _ = strings.Cut(rss, "\n")
	t.Logf("program %.1f MiB; cold start to first answer %v (sweep), %v (status); resident after polling%s (%v)",
		float64(info.Size())/(1<<20), st.sweep.Cold(), st.face.Cold(), rss, err)
	if info.Size() > 25<<20 {
		t.Error("the program is larger than 25 MiB")
	}
}

// What the runtime does with a program that ends, fails or takes too long.
func TestPlayedRuntime(t *testing.T) {
	exe := buildHelper(t)
	var out bytes.Buffer
	f := lambdatest.New(t, exe, nil, &out)
	for _, c := range []struct {
		event string
		want  error
	}{
		{`"echo"`, nil}, {`"exit"`, lambdatest.ErrExited}, {`"echo"`, nil}, {`"hang"`, lambdatest.ErrTimedOut}, {`"echo"`, nil},
	} {
		limit := 20 * time.Second
		if errors.Is(c.want, lambdatest.ErrTimedOut) {
			limit = 200 * time.Millisecond
		}
		answer, err := f.Invoke(t.Context(), []byte(c.event), limit)
		if !errors.Is(err, c.want) || c.want == nil && string(answer) != c.event {
			t.Errorf("%s: %s, %v", c.event, answer, err)
		}
	}
	var failed *lambdatest.FunctionError
	if _, err := f.Invoke(t.Context(), []byte(`"fail"`), 20*time.Second); !errors.As(err, &failed) || failed.Message != "it failed" {
		t.Errorf("got %v", err)
	}
	if f.Starts() != 3 || f.Cold() <= 0 {
		t.Errorf("%d starts, cold %v", f.Starts(), f.Cold())
	}
}
