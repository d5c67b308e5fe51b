package conformance

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
)

func bulkChecks() []check {
	return []check{
		{"bulk change refuses", bulkRefuses},
		{"bulk change selects by state, cluster and second", bulkSelects},
		{"bulk change selects by labels", bulkSelectsByLabels},
		{"bulk change hits one job by the caller's label", bulkOverridden},
		{"bulk change answers before it works", bulkAnswersFirst},
		{"bulk change looks at the jobs when it works", bulkLooksLater},
		{"bulk change takes any two states", bulkStates},
		{"bulk change goes wrong without a word", bulkSilent},
	}
}

// abort asks for a bulk change from a state to aborted, with more fields, and waits for its work. What is
// answered is for bulkAnswersFirst to look at.
func (s *server) abort(from, more string) {
	s.t.Helper()
	code, answer := s.do(http.MethodPost, "/v1/bulk-job-status-update", change(from, "ABORTED", more))
	if code != http.StatusOK {
		s.t.Fatalf("bulk change %s: %d %v", more, code, answer)
	}
	s.settle()
}

func change(from, to, more string) string {
	return `{"job_status_change":{"current":"` + from + `","desired":"` + to + `"}` + more + `}`
}

func bulkRefuses(s *server) {
	s.periodic(nightly)
	for _, c := range []struct{ body, text string }{
		{``, ""},
		{`{}`, "current status is unspecified"},
		{`{"job_status_change":{"desired":"ABORTED"}}`, "current status is unspecified"},
		{`{"job_status_change":{"current":0,"desired":"ABORTED"}}`, "current status is unspecified"},
		{`{"job_status_change":{"current":"TRIGGERED"}}`, "desired status is unspecified"},
		{change("RUNNING", "ABORTED", ""), ""},
		{change("TRIGGERED", "ABORTED", `,"started_after":"yesterday"`), ""},
		{change("TRIGGERED", "ABORTED", `,"started_after":"2026-11-02"`), ""},
		{change("TRIGGERED", "ABORTED", `,"job_name":"nightly"`), ""},
	} {
		code, answer := s.do(http.MethodPost, "/v1/bulk-job-status-update", c.body)
		message, _ := answer["message"].(string)
		if code != http.StatusBadRequest || answer["code"] != 3.0 || !strings.Contains(message, c.text) {
			s.t.Errorf("%s: %d %v, want %q", c.body, code, answer, c.text)
		}
	}
	if hit := s.aborted(); len(hit) > 0 {
		s.t.Errorf("a refused change was made: %v", hit)
	}
}

// aborted returns the names of the aborted jobs, sorted.
func (s *server) aborted() []string {
	var names []string
	for _, j := range s.truth() {
		if j.State == prow.Aborted {
			names = append(names, j.Name)
		}
	}
	slices.Sort(names)
	return names
}

// selection is a bulk change of triggered jobs and the jobs that it hits, of one of each name that all
// started in the same second. $n in its fields stands for that second plus n halves of one.
type selection struct {
	name, more string
	hits       []string
}

func (s *server) hit(selections []selection) {
	for _, c := range selections {
		fresh := s.again()
		start := fresh.population()
		times := strings.NewReplacer(
			"$-1", stamp(start.Add(-500*time.Millisecond)), "$0", stamp(start),
			"$1", stamp(start.Add(500*time.Millisecond)), "$2", stamp(start.Add(time.Second)),
		)
		fresh.abort("TRIGGERED", times.Replace(c.more))
		if d := cmp.Diff(c.hits, fresh.aborted()); d != "" {
			s.t.Errorf("%s: %s (-want +got):\n%s", c.name, c.more, d)
		}
	}
}

func stamp(t time.Time) string { return `"` + t.UTC().Format(time.RFC3339Nano) + `"` }

// population makes one job of each name, gives them one start second and returns it.
func (s *server) population() time.Time {
	s.periodic(nightly)
	s.periodic(withExtra)
	s.postsubmit(pinned, "ARO-HCP")
	s.postsubmit(pinnedToo, "ARO-HCP")
	s.postsubmit(elsewhere, "other")
	s.move(s.periodic(nightlyToo), prow.Pending)
	start := s.truth()[0].Start
	for _, j := range s.truth() {
		s.restart(j.ID, start)
	}
	return start
}

func bulkSelects(s *server) {
	all := []string{elsewhere, nightly, pinned, pinnedToo, withExtra}
	s.hit([]selection{
		{"nothing set selects every job of the state", ``, all},
		{"cluster", `,"cluster":"` + otherCluster + `"`, []string{pinnedToo}},
		{"another cluster", `,"cluster":"build01"`, nil},
		{"the second itself", `,"started_after":$0,"started_before":$0`, all},
		{"before is inclusive", `,"started_before":$0`, all},
		{"a moment before", `,"started_before":$-1`, nil},
		{"after is inclusive", `,"started_after":$0`, all},
		{"a fraction in started_after misses the second", `,"started_after":$1,"started_before":$2`, nil},
		{"a window around", `,"startedAfter":$-1,"startedBefore":$1`, all},
		{"empty refs", `,"refs":{}`, all},
		{"a type that is unset", `,"job_type":0`, all},
	})
}

func bulkSelectsByLabels(s *server) {
	s.hit([]selection{
		{"type", `,"job_type":"POSTSUBMIT"`, []string{elsewhere, pinned, pinnedToo}},
		{"type by number", `,"jobType":1`, []string{nightly, withExtra}},
		{"presubmits", `,"job_type":"PRESUBMIT"`, nil},
		{"batch selects every type", `,"job_type":"BATCH"`, []string{elsewhere, nightly, pinned, pinnedToo, withExtra}},
		{"org", `,"refs":{"org":"Azure"}`, []string{elsewhere, pinned, pinnedToo, withExtra}},
		{"org and repo", `,"refs":{"org":"Azure","repo":"ARO-HCP"}`, []string{pinned, pinnedToo, withExtra}},
		{"type, org, repo and second", `,"job_type":"POSTSUBMIT","refs":{"org":"Azure","repo":"ARO-HCP"},"started_after":$0,"started_before":$0`, []string{pinned, pinnedToo}},
		{"a periodic by its first extra ref", `,"job_type":"PERIODIC","refs":{"org":"Azure","repo":"ARO-HCP"}`, []string{withExtra}},
		{"not by base ref or sha", `,"job_type":"POSTSUBMIT","refs":{"org":"Azure","repo":"ARO-HCP","base_ref":"other","base_sha":"other"}`, []string{pinned, pinnedToo}},
		{"another repo", `,"refs":{"org":"Azure","repo":"third"}`, nil},
	})
}

func bulkOverridden(s *server) {
	s.postsubmit(pinned, "ARO-HCP")
	mine := s.create(`{"job_name":"pinned","job_execution_type":2,` + refs("Azure", "ARO-HCP") +
		`,"pod_spec_options":{"labels":{"prow.k8s.io/refs.repo":"gate-1"}}}`)
	s.abort("TRIGGERED", `,"job_type":"POSTSUBMIT","refs":{"org":"Azure","repo":"gate-1"}`)
	if hit := s.aborted(); len(hit) != 1 || s.job(mine).State != prow.Aborted {
		s.t.Errorf("hit %v", hit)
	}
}

func bulkAnswersFirst(s *server) {
	id := s.periodic(nightly)
	s.hold()
	code, answer := s.do(http.MethodPost, "/v1/bulk-job-status-update", change("TRIGGERED", "ABORTED", ""))
	if state := s.job(id).State; code != http.StatusOK || len(answer) > 0 || state != prow.Triggered {
		s.t.Errorf("%d %v, and the job is %s", code, answer, state)
	}
	s.settle()
	if state := s.job(id).State; state != prow.Aborted {
		s.t.Errorf("then the job is %s", state)
	}
}

// What a caller saw before its request says nothing: a job that has left the state by the time of the work
// is spared, one that has come into it is hit, and so is one that was not there yet.
func bulkLooksLater(s *server) {
	went, came := s.postsubmit(pinned, "ARO-HCP"), s.postsubmit(pinned, "ARO-HCP")
	start := s.job(went).Start
	s.move(came, prow.Pending)
	s.hold()
	window := `,"started_after":` + stamp(start) + `,"started_before":` + stamp(start)
	body := change("TRIGGERED", "ABORTED", `,"job_type":"POSTSUBMIT","refs":{"org":"Azure","repo":"ARO-HCP"}`+window)
	if code, answer := s.do(http.MethodPost, "/v1/bulk-job-status-update", body); code != http.StatusOK {
		s.t.Fatalf("%d %v", code, answer)
	}
	s.move(went, prow.Pending)
	s.move(came, prow.Triggered)
	late := s.postsubmit(pinnedToo, "ARO-HCP")
	s.restart(came, start)
	s.restart(late, start)
	s.settle()
	for id, want := range map[string]prow.State{went: prow.Pending, came: prow.Aborted, late: prow.Aborted} {
		if j := s.job(id); j.State != want {
			s.t.Errorf("%s is %s, want %s", j.Name, j.State, want)
		}
	}
}

// Neither has to make sense: a finished job can be changed, and changed back.
func bulkStates(s *server) {
	id := s.periodic(nightly)
	for _, c := range []struct{ from, to prow.State }{
		{prow.Triggered, prow.Pending},
		{prow.Pending, prow.Failure},
		{prow.Failure, prow.Success},
		{prow.Success, prow.Aborted},
		{prow.Aborted, prow.Errored},
		{prow.Errored, prow.Triggered},
	} {
		_, _ = s.do(http.MethodPost, "/v1/bulk-job-status-update",
			change(strings.ToUpper(string(c.from)), strings.ToUpper(string(c.to)), ""))
		s.settle()
		if state := s.job(id).State; state != c.to {
			s.t.Errorf("%s to %s: the job is %s", c.from, c.to, state)
		}
	}
}

func bulkSilent(s *server) {
	s.conflictNext()
	id := s.periodic(nightly)
	s.failNextWork()
	for _, failure := range []string{"a failed list", "an update conflict"} {
		s.abort("TRIGGERED", "")
		if state := s.job(id).State; state != prow.Triggered {
			s.t.Errorf("after %s the job is %s", failure, state)
		}
	}
	s.abort("TRIGGERED", "")
	if state := s.job(id).State; state != prow.Aborted {
		s.t.Errorf("then the job is %s", state)
	}
}
