package conformance

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/conformance/upstream"
	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

func clientChecks() []check {
	return []check{
		{"client creates and gets", clientCreates},
		{"client is refused", clientRefused},
		{"client reads details", clientDetails},
		{"client lists a long name", clientLists},
		{"client aborts", clientAborts},
	}
}

func TestClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "client")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./client").CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, out)
	}
	onBoth(t, catalog(), clientChecks(), func(s *server) { s.client = path })
}

// answer is what the client program prints.
type answer struct {
	ID          string
	Jobs        []prow.Job
	Kind, Error string
}

// call lets the client make one call to the server.
func (s *server) call(name string, arguments any) (a answer) {
	s.t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), s.client, s.url, name)
	cmd.Stdin = bytes.NewReader(raw)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("client %s: %v", name, err)
	}
	if err := json.Unmarshal(out, &a); err != nil {
		s.t.Fatalf("client %s: %v in %s", name, err, out)
	}
	return a
}

func submission(name string) prow.Submission {
	return prow.Submission{
		JobName: name, Type: prow.Postsubmit,
		Refs:        &prow.Refs{Org: "Azure", Repo: "ARO-HCP", BaseRef: "main", BaseSHA: "abc"},
		Labels:      map[string]string{"ev2.rollout/gate-id": "g-1"},
		Annotations: map[string]string{"ev2.rollout/gate-id": "g-1"},
		Envs:        map[string]string{"MULTISTAGE_PARAM_OVERRIDE_LOCATION": "westeurope"},
	}
}

func clientCreates(s *server) {
	for _, want := range []prow.Submission{submission(pinned), {JobName: nightly, Type: prow.Periodic, Envs: map[string]string{"A": "b"}}} {
		a := s.call("create", want)
		if a.Error != "" {
			s.t.Fatal(a.Error)
		}
		j := s.job(a.ID)
		got := prow.Submission{JobName: j.Name, Type: j.Type, Refs: want.Refs, Envs: j.Envs}
		if want.Labels != nil {
			got.Labels = map[string]string{"ev2.rollout/gate-id": j.Labels["ev2.rollout/gate-id"]}
			got.Annotations = map[string]string{"ev2.rollout/gate-id": j.Annotations["ev2.rollout/gate-id"]}
		}
		if d := cmp.Diff(want, got); d != "" {
			s.t.Errorf("(-want +got):\n%s", d)
		}
		if a := s.call("get", a.ID); a.Error != "" || a.Jobs[0].ID != j.ID || a.Jobs[0].State != prow.Triggered {
			s.t.Errorf("get: %+v", a)
		}
	}
}

// What the server says no to must come out as refused: for any other kind a gate would look for a job that
// cannot exist, or submit again.
func clientRefused(s *server) {
	spoilt := func(spoil func(*prow.Submission)) prow.Submission {
		sub := submission(pinned)
		spoil(&sub)
		return sub
	}
	for name, sub := range map[string]prow.Submission{
		"unknown job":        submission("nope"),
		"unknown periodic":   {JobName: "nope", Type: prow.Periodic},
		"wrong branch":       spoilt(func(s *prow.Submission) { s.Refs.BaseRef = "dev" }),
		"no base sha":        spoilt(func(s *prow.Submission) { s.Refs.BaseSHA = "" }),
		"periodic with refs": spoilt(func(s *prow.Submission) { s.Type = prow.Periodic }),
		"no refs":            spoilt(func(s *prow.Submission) { s.Refs = nil }),
		"batch":              spoilt(func(s *prow.Submission) { s.Type = prow.Batch }),
		"empty env":          spoilt(func(s *prow.Submission) { s.Envs["A"] = "" }),
		"bad label value":    spoilt(func(s *prow.Submission) { s.Labels["a"] = "-x-" }),
		"bad label key":      spoilt(func(s *prow.Submission) { s.Labels["a b"] = "x" }),
		"bad annotation key": spoilt(func(s *prow.Submission) { s.Annotations["a b"] = "x" }),
		"annotations too large": spoilt(func(s *prow.Submission) {
			s.Annotations["a"], s.Annotations["b"], s.Annotations["c"] = third(), third(), third()
		}),
	} {
		if a := s.call("create", sub); a.Kind != fault.Refused.String() {
			s.t.Errorf("%s: %+v", name, a)
		}
	}
	if a := s.call("get", "00000000-0000-0000-0000-000000000000"); a.Kind != fault.Refused.String() {
		s.t.Errorf("get of an unknown id: %+v", a)
	}
	if jobs := s.truth(); len(jobs) > 0 {
		s.t.Errorf("jobs were made: %+v", jobs)
	}
}

// third is a little more than a third of what annotations may hold.
func third() string { return strings.Repeat("x", 96<<10) }

func clientDetails(s *server) {
	s.needs(upstream.TellsDetails)
	id := s.call("create", submission(pinned)).ID
	want := []prow.Job{{ID: id, Name: pinned, Type: prow.Postsubmit, State: prow.Triggered, StartTime: s.job(id).Start.UTC()}}
	if d := cmp.Diff(want, s.call("get", id).Jobs); d != "" {
		s.t.Errorf("(-want +got):\n%s", d)
	}
}

func clientLists(s *server) {
	id := s.call("create", prow.Submission{JobName: longName(), Type: prow.Periodic}).ID
	s.periodic(longNameToo())
	want := []prow.Job{{ID: id, Name: longName(), Type: prow.Periodic, State: prow.Triggered}}
	if d := cmp.Diff(want, s.call("list", longName()).Jobs); d != "" {
		s.t.Errorf("(-want +got):\n%s", d)
	}
}

func clientAborts(s *server) {
	id := s.call("create", submission(pinned)).ID
	other := s.postsubmit(elsewhere, "other")
	j := s.job(id)
	abort := prow.Abort{Current: prow.Triggered, Type: j.Type, Org: "Azure", Repo: "ARO-HCP", Start: j.Start.Add(time.Nanosecond)}
	if a := s.call("abort", abort); a.Error != "" {
		s.t.Fatal(a.Error)
	}
	s.settle()
	if s.job(id).State != prow.Aborted || s.job(other).State != prow.Triggered {
		s.t.Errorf("the job is %s, another one %s", s.job(id).State, s.job(other).State)
	}
}
