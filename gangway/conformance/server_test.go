package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	prowcrd "sigs.k8s.io/prow/pkg/apis/prowjobs/v1"

	"prowgate/gangway/conformance/upstream"
	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
)

// server is one of the two, started for one check.
type server struct {
	t      *testing.T
	url    string
	client string // path of the program, for the checks that use it

	again        func() *server // another one, with the same jobs configured and none started
	truth        func() []job   // ordered by id
	move         func(id string, state prow.State)
	restart      func(id string, start time.Time) // gives the job another start second
	hold         func()                           // keeps bulk changes that were answered from their work, until settle
	settle       func()                           // until the oldest bulk change has done its work
	failNextList func()                           // of those that clients ask for
	failNextWork func()                           // of the lists that bulk changes begin with
	conflictNext func()                           // lets the first change of the jobs created from now on lose its race
	lacks        func(upstream.Ability) bool
}

// job is what is stored of an execution.
type job struct {
	ID, Name, Cluster         string
	Type                      prow.JobType
	State                     prow.State
	Labels, Annotations, Envs map[string]string
	Start                     time.Time
}

// The jobs that both servers know.
const (
	nightly    = "nightly"    // periodic
	nightlyToo = "nightlytoo" // periodic
	withExtra  = "with-extra" // periodic whose first extra ref is of Azure/ARO-HCP
	pinned     = "pinned"     // postsubmit of Azure/ARO-HCP, on main only
	pinnedToo  = "pinned-too" // postsubmit of Azure/ARO-HCP, on another cluster
	elsewhere  = "elsewhere"  // postsubmit of Azure/other
)

const (
	buildCluster = "build05"
	otherCluster = "build09"
)

// Two names that are the same when cut to 63 characters and trimmed.
func longName() string    { return strings.Repeat("n", 60) + ".-_" + "tail" }
func longNameToo() string { return strings.Repeat("n", 60) + ".-_" + "other" }
func cutName() string     { return strings.Repeat("n", 60) }

func catalog() upstream.Catalog {
	return upstream.Catalog{Jobs: []upstream.Job{
		{Name: nightly, Cluster: buildCluster},
		{Name: nightlyToo, Cluster: buildCluster},
		{Name: longName(), Cluster: buildCluster},
		{Name: longNameToo(), Cluster: buildCluster},
		{Name: withExtra, Cluster: buildCluster, ExtraRef: &prowcrd.Refs{Org: "Azure", Repo: "ARO-HCP", BaseRef: "release/4.1"}},
		{Name: pinned, OrgRepo: "Azure/ARO-HCP", Branches: []string{"^main$"}, Cluster: buildCluster},
		{Name: pinnedToo, OrgRepo: "Azure/ARO-HCP", Branches: []string{"^main$"}, Cluster: otherCluster},
		{Name: elsewhere, OrgRepo: "Azure/other", Cluster: buildCluster},
	}}
}

// startUpstream starts Prow's own server.
func startUpstream(t *testing.T, c upstream.Catalog) *server {
	t.Helper()
	up, err := upstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		t: t, lacks: up.Lacks, failNextList: up.FailNextList, failNextWork: up.FailNextList, conflictNext: up.ConflictNextUpdate,
		hold:  up.HoldWork,
		again: func() *server { return startUpstream(t, c) },
		restart: func(id string, start time.Time) {
			if err := up.Edit(id, func(pj *prowcrd.ProwJob) { pj.Status.StartTime = metav1.NewTime(start) }); err != nil {
				t.Fatal(err)
			}
		},
		truth: func() (jobs []job) {
			for _, pj := range up.ProwJobs() {
				jobs = append(jobs, fromProwJob(pj))
			}
			return jobs
		},
		move: func(id string, state prow.State) {
			if err := up.Edit(id, func(pj *prowcrd.ProwJob) { pj.Status.State = prowcrd.ProwJobState(state) }); err != nil {
				t.Fatal(err)
			}
		},
		settle: func() {
			if err := up.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	}
	s.listen(up)
	return s
}

func fromProwJob(pj prowcrd.ProwJob) job {
	j := job{
		ID: pj.Name, Name: pj.Spec.Job, Cluster: pj.Spec.Cluster, Type: prow.JobType(pj.Spec.Type),
		State: prow.State(pj.Status.State), Labels: pj.Labels, Annotations: pj.Annotations, Start: pj.Status.StartTime.Time,
	}
	for _, e := range pj.Spec.PodSpec.Containers[0].Env {
		if j.Envs == nil {
			j.Envs = map[string]string{}
		}
		j.Envs[e.Name] = e.Value
	}
	return j
}

// startStandIn starts the stand-in with the same jobs. Its clock stands still but for settle.
func startStandIn(t *testing.T, c upstream.Catalog) *server {
	t.Helper()
	now := time.Date(2026, 11, 2, 10, 0, 0, 300e6, time.UTC)
	w := gangwaytest.New(gangwaytest.Options{Clock: func() time.Time { return now }})
	for _, j := range c.Jobs {
		w.SetScript(j.Name, script(c, j))
	}
	s := &server{
		t:            t,
		lacks:        func(upstream.Ability) bool { return false },
		again:        func() *server { return startStandIn(t, c) },
		failNextList: func() { w.FailNext(gangwaytest.List, gangwaytest.Fault{Mode: gangwaytest.Lost}) },
		failNextWork: func() { w.FailNext(gangwaytest.BulkChange, gangwaytest.Fault{Mode: gangwaytest.Lost}) },
		conflictNext: func() {
			for _, j := range c.Jobs {
				s := script(c, j)
				s.LostChanges = 1
				w.SetScript(j.Name, s)
			}
		},
		restart: func(string, time.Time) {}, // its clock stands still while jobs are made
		hold:    func() {},                  // nor does any work begin before it moves
		settle:  func() { now = now.Add(5 * time.Second) },
		move: func(id string, state prow.State) {
			if err := w.Move(id, state, ""); err != nil {
				t.Fatal(err)
			}
		},
		truth: func() (jobs []job) {
			for _, j := range w.Jobs() {
				jobs = append(jobs, job{
					ID: j.ID, Name: j.Name, Cluster: j.Cluster, Type: j.Type, State: j.State,
					Labels: j.Labels, Annotations: j.Annotations, Envs: j.Envs, Start: j.StartTime,
				})
			}
			slices.SortFunc(jobs, func(a, b job) int { return strings.Compare(a.ID, b.ID) })
			return jobs
		},
	}
	s.listen(w)
	return s
}

// script is a job that does nothing by itself.
func script(c upstream.Catalog, j upstream.Job) gangwaytest.Script {
	s := gangwaytest.Script{Cluster: j.Cluster}
	if len(j.Branches) > 0 {
		s.Branches = []string{"main"}
	}
	if c.Scheduling {
		s.StartState = prow.Scheduling
	}
	if r := j.ExtraRef; r != nil {
		s.ExtraRefs = []prow.Refs{{Org: r.Org, Repo: r.Repo, BaseRef: r.BaseRef}}
	}
	return s
}

func (s *server) listen(h http.Handler) {
	l := httptest.NewServer(h)
	s.t.Cleanup(l.Close)
	s.url = l.URL
}

// needs skips the check where the version of Prow in go.mod is too old for it.
func (s *server) needs(abilities ...upstream.Ability) {
	s.t.Helper()
	for _, a := range abilities {
		if s.lacks(a) {
			s.t.Skipf("the version of Prow in go.mod is too old to %s", a)
		}
	}
}

// do sends a request and returns the status and the answer, which must be a JSON object.
func (s *server) do(method, path, body string) (int, map[string]any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(raw, &answer); err != nil {
		s.t.Fatalf("%s %s: %d, %v in %s", method, path, resp.StatusCode, err, raw)
	}
	if kind := resp.Header.Get("Content-Type"); kind != "application/json" {
		s.t.Errorf("%s %s: content type %q", method, path, kind)
	}
	return resp.StatusCode, answer
}

func (s *server) get(path string) (int, map[string]any) {
	s.t.Helper()
	return s.do(http.MethodGet, path, "")
}

// create makes a job and returns its id.
func (s *server) create(body string) string {
	s.t.Helper()
	code, answer := s.do(http.MethodPost, "/v1/executions", body)
	id, _ := answer["id"].(string)
	if code != http.StatusOK || id == "" {
		s.t.Fatalf("create %s: %d %v", body, code, answer)
	}
	return id
}

func (s *server) periodic(name string) string {
	s.t.Helper()
	return s.create(`{"job_name":"` + name + `","job_execution_type":"PERIODIC"}`)
}

func (s *server) postsubmit(name, repo string) string {
	s.t.Helper()
	return s.create(`{"job_name":"` + name + `","job_execution_type":"POSTSUBMIT",` + refs("Azure", repo) + `}`)
}

func refs(org, repo string) string {
	return `"refs":{"org":"` + org + `","repo":"` + repo + `","base_ref":"main","base_sha":"abc"}`
}

func (s *server) job(id string) job {
	s.t.Helper()
	for _, j := range s.truth() {
		if j.ID == id {
			return j
		}
	}
	s.t.Fatalf("no job %q", id)
	return job{}
}
