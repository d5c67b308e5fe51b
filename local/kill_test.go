package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue/depth"
)

// Submissions are two seconds apart, so most of the twenty gates watch a job that exists already.
const allGates, submittedGates = 20, 3

// survivesKill kills a host with twenty gates under way, some of them still waiting for their turn,
// and starts it again on the same file and address.
func survivesKill(t *testing.T, dist string) {
	binary := filepath.Join(t.TempDir(), "local")
	build(t, binary, "prowgate/local")
	data := filepath.Join(t.TempDir(), "host.db")
	first, stop := startProcess(t, binary, dist, data, "127.0.0.1:0")
	for i := range allGates {
		id, rest := fmt.Sprintf("g%d", i), ""
		if i >= submittedGates {
			rest = fmt.Sprintf(`,"executionId":%q`, first.createJob(t))
		}
		first.send(t, "gate-submit", "submit-"+id, gating(id, "branch-ci-x-pass", rest))
	}
	// A message says that a POST is over, and the next is two seconds away: a kill that hits one would
	// make its gate take the minutes that a claim and the look for its job need.
	for n := (gate.Notice{}); n.SubmittedAt == nil; {
		_, n = first.next(t, "g0")
	}
	if err := stop(t, os.Kill); err == nil {
		t.Error("the killed host ended well")
	}

	second, stop := startProcess(t, binary, dist, data, strings.TrimPrefix(first.base, "http://"))
	for i := range allGates {
		id := fmt.Sprintf("g%d", i)
		if _, n := second.verdict(t, id); n.Outcome != gate.Succeeded || !n.Passed {
			t.Errorf("%s: %+v", id, n)
		}
	}
	oneJobEach(t, second.jobs(t))
	if err := stop(t, os.Interrupt); err != nil {
		t.Errorf("end: %v", err)
	}
	nothingLeft(t, data)
}

// oneJobEach wants one job for each gate that was submitted, and no more than the adopted ones besides.
func oneJobEach(t *testing.T, jobs map[string]int) {
	t.Helper()
	want := map[string]int{"": allGates - submittedGates}
	for i := range submittedGates {
		want[fmt.Sprintf("g%d", i)] = 1
	}
	if !maps.Equal(jobs, want) {
		t.Errorf("jobs by gate: %v", jobs)
	}
}

// nothingLeft wants no second completion, and nothing that could still make one.
func nothingLeft(t *testing.T, file string) {
	t.Helper()
	d, err := openData(options{data: file}, settings{}.withQueues(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for _, q := range queueSettings {
		if c, err := d.broker.Counts(t.Context(), q.name); err != nil || c != (depth.Counts{}) {
			t.Errorf("%s holds %+v, %v", q.name, c, err)
		}
	}
}

// startProcess starts the built host; stop sends it a signal and waits for its end.
func startProcess(t *testing.T, binary, dist, data, listen string) (r running, stop func(*testing.T, os.Signal) error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "--listen", listen, "--data", data, "--package", dist, "--standin-job-time", "8s")
	cmd.Env, cmd.Stderr = environment(), t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.connect(t, out)
	return r, func(t *testing.T, with os.Signal) error {
		t.Helper()
		if err := cmd.Process.Signal(with); err != nil {
			t.Fatal(err)
		}
		return cmd.Wait()
	}
}

// createJob makes a job at the stand-in that no gate has submitted.
func (r *running) createJob(t *testing.T) string {
	t.Helper()
	body := strings.NewReader(`{"job_name":"branch-ci-x-pass","job_execution_type":"PERIODIC"}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+standInPath+"/v1/executions", body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	_, rest, ok := strings.Cut(string(text), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if err != nil || !ok || id == "" {
		t.Fatalf("create: %d %s, %v", res.StatusCode, text, err)
	}
	return id
}
