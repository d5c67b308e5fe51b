package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/queue/httpqueue"
)

// TestHost runs the built package: once in this process, once as a process that is killed.
func TestHost(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what builds and runs the real package")
	}
	dist := buildPackage(t)
	t.Run("gate passes", func(t *testing.T) { t.Parallel(); gatePasses(t, dist) })
	t.Run("poison is dead-lettered", func(t *testing.T) { t.Parallel(); poison(t, dist) })
	t.Run("survives kill -9", func(t *testing.T) { t.Parallel(); survivesKill(t, dist) })
}

// buildPackage lays out the deployable folder as `make package` does.
func buildPackage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	copyFile(t, "../host.json", filepath.Join(dir, "host.json"))
	for _, name := range []string{"submit", "poll", "cancel", "sweep", "page"} {
		copyFile(t, "../functions/"+name+"/function.json", filepath.Join(dir, name, "function.json"))
	}
	build(t, filepath.Join(dir, "handler"), "prowgate/functions/azure")
	return dir
}

func build(t *testing.T, out, pkg string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	body, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// environment is what this process has, without any setting of the service, and a rate limit that
// tests need not wait for.
func environment() []string {
	env := []string{"GANGWAY_RATE_PER_MINUTE=6000", "GANGWAY_BURST=100"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		env = append(env, name+"="+os.Getenv(name))
	}
	return env
}

// running is a host as a client sees it.
type running struct {
	base  string
	queue *httpqueue.Client
	end   func() error
}

// start runs a host in this process and waits until it is ready.
func start(t *testing.T, args ...string) running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, environment(), in, t.Output())
		_ = in.Close() // always nil
		ended <- err
	}()
	r := running{end: func() error { stop(); return <-ended }}
	r.connect(t, out)
	return r
}

// connect reads the one line that a host says.
func (r *running) connect(t *testing.T, out io.Reader) {
	t.Helper()
	line, err := bufio.NewReader(out).ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "ready ")
	if err != nil || !ok {
		t.Fatalf("the host said %q, %v", line, err)
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	r.base, r.queue = base, httpqueue.New(u, http.DefaultTransport)
}

func (r *running) send(t *testing.T, name, id, body string) {
	t.Helper()
	if err := r.queue.Send(t.Context(), name, queue.Message{ID: id, Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// next takes the next message of a gate's session.
func (r *running) next(t *testing.T, gateID string) (string, gate.Notice) {
	t.Helper()
	d, ok, err := r.queue.ReceiveAndDelete(t.Context(), "gate-completion", gateID, 4*time.Minute)
	if err != nil || !ok {
		t.Fatalf("gate %s: message %v, %v", gateID, ok, err)
	}
	var n gate.Notice
	if err := json.Unmarshal(d.Body, &n); err != nil {
		t.Fatal(err)
	}
	return d.ID, n
}

// verdict takes messages until the completion has come.
func (r *running) verdict(t *testing.T, gateID string) (string, gate.Notice) {
	t.Helper()
	for {
		if id, n := r.next(t, gateID); n.Kind == gate.KindCompletion {
			return id, n
		}
	}
}

func (r *running) get(t *testing.T, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
}

func (r *running) page(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%s: %d %v, %v", path, res.StatusCode, res.Header, err)
	}
	return string(text)
}

// jobs are the jobs at the stand-in, by the gate id that each carries.
func (r *running) jobs(t *testing.T) map[string]int {
	t.Helper()
	var got struct {
		Jobs []struct{ Labels map[string]string }
	}
	r.get(t, standInPath+"/admin/jobs", &got)
	found := map[string]int{}
	for _, j := range got.Jobs {
		found[j.Labels["ev2.rollout/gate-id"]]++
	}
	return found
}

func gating(id, job, rest string) string {
	return fmt.Sprintf(`{"gateId":%q,"jobName":%q,"cloud":"public","environment":"int","region":"uksouth",`+
		`"gatePromotion":true,"pollInterval":"500ms"%s}`, id, job, rest)
}

func gatePasses(t *testing.T, dist string) {
	r := start(t, "--listen", "127.0.0.1:0", "--data", "memory", "--package", dist, "--standin-job-time", "1s")
	r.send(t, "gate-submit", "m1", gating("g1", "branch-ci-x-pass", ""))
	r.send(t, "gate-submit", "m1", gating("g1", "branch-ci-x-pass", "")) // a duplicate
	if _, n := r.verdict(t, "g1"); n.Outcome != gate.Succeeded || !n.Passed || !strings.HasPrefix(n.JobURL, r.base+standInPath+"/view/gs/") {
		t.Errorf("verdict %+v", n)
	}
	var v gate.View
	if r.get(t, "/api/gates/g1", &v); v.Phase != gate.PhaseDone || v.Outcome != gate.Succeeded || len(v.Timeline) == 0 {
		t.Errorf("view %+v", v)
	}
	if page := r.page(t, "/api/page?open=gate-g1"); !strings.Contains(page, "Azure Functions") || !strings.Contains(page, "<b>completion</b>") {
		t.Errorf("the handler's page: %s", page)
	}
	if page := r.page(t, "/?open=gate-g1"); !strings.Contains(page, "local host") || !strings.Contains(page, "<b>completion</b>") {
		t.Errorf("the host's page: %s", page)
	}
	if jobs := r.jobs(t); len(jobs) != 1 || jobs["g1"] != 1 {
		t.Errorf("jobs %v", jobs)
	}
	r.abortsWithoutGate(t)
	if err := r.end(); err != nil {
		t.Errorf("end: %v", err)
	}
}

// abortsWithoutGate asks for the abort of a job that no gate owns, whose outcome has to be seen where gates are.
func (r *running) abortsWithoutGate(t *testing.T) {
	t.Helper()
	id := r.createJob(t)
	r.send(t, "gate-cancel", "abort-1", fmt.Sprintf(`{"executionId":%q,"reason":"by hand"}`, id))
	r.verdict(t, id)
	var v gate.View
	if r.get(t, "/api/gates/"+id, &v); v.GateID != "" || v.ExecutionID != id || v.Phase != gate.PhaseDone || v.Abort == nil {
		t.Errorf("view %+v", v)
	}
	if page := r.page(t, "/?open=abort-"+id); !strings.Contains(page, "a job that no gate owns") || !strings.Contains(page, "<b>abort</b>") {
		t.Errorf("the host's page: %s", page)
	}
}

// poison sends a body that names no gate, which nobody can be told about.
func poison(t *testing.T, dist string) {
	r := start(t, "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "host.db"), "--package", dist, "--quiet")
	const body = `{"jobName":"x"}`
	r.send(t, "gate-submit", "m1", body)
	d, ok, err := r.queue.ReceiveAndDelete(t.Context(), "gate-submit"+queue.DeadLetter, "", time.Minute)
	if err != nil || !ok || string(d.Body) != body || d.DeadReason != "MaxDeliveryCountExceeded" {
		t.Errorf("dead-lettered %v: %s %q, %v", ok, d.Body, d.DeadReason, err)
	}
	if err := r.end(); err != nil {
		t.Errorf("end: %v", err)
	}
}
