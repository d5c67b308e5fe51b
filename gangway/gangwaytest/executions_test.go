package gangwaytest_test

import (
	"strings"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
)

// abort is the body of a bulk change from a state to aborted, with more fields.
func abort(from, more string) string {
	return `{"job_status_change":{"current":"` + from + `","desired":"ABORTED"}` + more + `}`
}

const second = `"2026-11-02T10:00:00Z"`

func TestListSelectsByLabel(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	long := strings.Repeat("b", 70)
	a, b := r.periodic("a"), r.periodic(long)
	c := r.periodic(long + "-other")
	for _, q := range []struct {
		query string
		want  []string
	}{
		{"job_name=a", []string{a}},
		{"jobName=a&status=TRIGGERED", []string{a}},
		{"job_name=a&status=1", []string{a}},
		{"job_name=a&status=PENDING", nil},
		{"job_name=" + long, nil},
		{"job_name=" + long[:63], []string{b, c}},
		{"", []string{a, b, c}},
	} {
		var ids []string
		for _, e := range r.list(q.query) {
			ids = append(ids, e.ID)
			if e.CreateTime != "" || e.JobURL != "" || e.JobType != "PERIODIC" {
				t.Errorf("%q: entry %+v", q.query, e)
			}
		}
		if strings.Join(ids, " ") != strings.Join(q.want, " ") {
			t.Errorf("%q: %v, want %v", q.query, ids, q.want)
		}
	}
	if code, _ := r.get("/v1/executions?status=DONE"); code != 400 {
		t.Errorf("unknown status: %d", code)
	}
}

func TestListThatFailsInsideIsEmpty(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	r.periodic("a")
	r.FailNext(gangwaytest.List, gangwaytest.Fault{Mode: gangwaytest.Lost})
	if code, answer := r.get("/v1/executions?job_name=a"); code != 200 || answer != "{}" {
		t.Errorf("%d %s", code, answer)
	}
	if n := len(r.list("job_name=a")); n != 1 {
		t.Errorf("then %d", n)
	}
}

func TestGet(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	if code, answer := r.get("/v1/executions/nope"); code != 500 || !strings.Contains(answer, `"code":2`) {
		t.Errorf("unknown id: %d %s", code, answer)
	}
	id := r.periodic("a")
	if e := r.execution(id); e.JobStatus != "TRIGGERED" || e.JobURL != "" || e.CompletionTime != "" {
		t.Errorf("at once: %+v", e)
	}
	if e := r.after(20 * time.Second).execution(id); e.JobStatus != "PENDING" || !strings.Contains(e.JobURL, "/view/gs/test-platform-results/logs/a/19") {
		t.Errorf("pending: %+v", e)
	}
	if e := r.after(time.Minute).execution(id); e.JobStatus != "SUCCESS" || e.CompletionTime != "2026-11-02T10:01:00Z" {
		t.Errorf("done: %+v", e)
	}
	r.after(24 * time.Hour)
	if code, _ := r.get("/v1/executions/" + id); code != 500 {
		t.Errorf("after a day: %d", code)
	}
}

// The zero of an enum is left out.
func TestUnknownStateIsNotShown(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Script{StartState: "paused"}))
	if got := r.execution(r.periodic("a")).JobStatus; got != "" {
		t.Error(got)
	}
}

func TestBulkChangeWorksLater(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	id := r.postsubmit("a")
	r.bulk(abort("PENDING", `,"job_type":"POSTSUBMIT",`+aroRefs+`,"started_before":`+second+`,"started_after":`+second))
	r.wantState(id, "pending")
	r.after(2*time.Second).wantState(id, "aborted")
	if e := r.execution(id); e.CompletionTime != "" {
		t.Errorf("completed at once: %+v", e)
	}
	if e := r.after(3 * time.Second).execution(id); e.JobStatus != "ABORTED" || e.CompletionTime == "" {
		t.Errorf("never completed: %+v", e)
	}
	changes := r.Jobs()[0].Changes
	if len(changes) != 1 || changes[0].Bulk != 1 || changes[0].From != prow.Pending {
		t.Errorf("changes: %+v", changes)
	}
}

// It makes no difference when somebody looks: the work is done at its own time, on the state of then.
func TestBulkChangeReadsStatesWhenItWorks(t *testing.T) {
	for _, look := range []bool{false, true} {
		o := anyJob(gangwaytest.Script{Steps: []gangwaytest.Step{{After: 5 * time.Second, State: prow.Pending}}})
		o.BulkDelay = 6 * time.Second
		r := newRig(t, o)
		id := r.periodic("a")
		r.bulk(abort("TRIGGERED", "")) // has moved on by then
		r.after(time.Second).bulk(abort("PENDING", ""))
		if look {
			r.after(500*time.Millisecond).wantState(id, "triggered")
			r.now = r.now.Add(-500 * time.Millisecond)
		}
		late := r.after(5500 * time.Millisecond)
		late.wantState(id, "pending")
		r.after(time.Hour).wantState(id, "aborted")
		if at := r.Jobs()[0].Changes[0].At; at.Second() != 7 {
			t.Errorf("changed at %v", at)
		}
	}
}

func TestBulkChangeSelection(t *testing.T) {
	extra := gangwaytest.Hanging()
	extra.ExtraRefs = []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}}
	for _, c := range []struct {
		name, more, hit string // hit: the names of the jobs it aborts
	}{
		{"type, org, repo, second", `,"job_type":"POSTSUBMIT",` + aroRefs + `,"started_after":` + second + `,"started_before":` + second, "a b"},
		{"not by base ref", `,"job_type":2,"refs":{"org":"Azure","repo":"ARO-HCP","base_ref":"other"},"started_before":` + second, "a b"},
		{"nothing set", "", "a b c d p x"},
		{"batch is no condition", `,"job_type":"BATCH"`, "a b c d p x"},
		{"org alone", `,"refs":{"org":"Azure"}`, "a b c d x"},
		{"periodic by its extra ref", `,"job_type":"PERIODIC",` + aroRefs, "x"},
		{"periodics", `,"job_type":"PERIODIC"`, "p x"},
		{"cluster", `,"cluster":"other"`, "d"},
		{"before is inclusive", `,"started_before":` + second, "a b d p x"},
		{"after is inclusive", `,"started_after":"2026-11-02T10:00:01Z"`, "c"},
		{"a fraction misses its second", `,"started_after":"2026-11-02T10:00:00.5Z","started_before":"2026-11-02T10:00:00.9Z"`, ""},
		{"lowerCamel", `,"jobType":"PERIODIC","startedAfter":"2026-11-02T10:00:01Z"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, anyJob(gangwaytest.Hanging()))
			r.SetScript("x", extra)
			for _, name := range []string{"a", "b"} {
				r.postsubmit(name)
			}
			r.periodic("p")
			r.periodic("x")
			r.AddForeign(gangwaytest.Foreign{JobName: "d", Type: prow.Presubmit, Refs: &prow.Refs{Org: "Azure", Repo: "z"}, Cluster: "other"})
			r.after(time.Second).postsubmit("c")
			r.after(time.Second).bulk(abort("PENDING", c.more))
			r.after(2 * time.Second)
			if got := strings.Join(aborted(r), " "); got != c.hit {
				t.Errorf("hits %q, want %q", got, c.hit)
			}
		})
	}
}

func aborted(r *rig) (names []string) {
	for _, want := range []string{"a", "b", "c", "d", "p", "x"} {
		for _, j := range r.Jobs() {
			if j.Name == want && j.State == prow.Aborted {
				names = append(names, want)
			}
		}
	}
	return names
}

func TestBulkChangeValidation(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	r.periodic("a")
	for _, body := range []string{
		`{}`, `nonsense`,
		`{"job_status_change":{"current":"PENDING"}}`,
		`{"job_status_change":{"desired":"ABORTED"}}`,
		`{"job_status_change":{"current":"RUNNING","desired":"ABORTED"}}`,
		abort("PENDING", `,"started_after":"yesterday"`),
		abort("PENDING", `,"job_name":"a"`),
	} {
		if code, answer := r.do("POST", "/v1/bulk-job-status-update", body); code != 400 {
			t.Errorf("%s: %d %s", body, code, answer)
		}
	}
	if r.after(time.Minute); len(aborted(r)) != 0 {
		t.Error("a refused change was made")
	}
}

func TestBulkChangeGoesWrongWithoutAWord(t *testing.T) {
	conflict, overwrite := gangwaytest.Hanging(), gangwaytest.Hanging()
	conflict.LostChanges, overwrite.OverwrittenChanges = 1, 1
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	r.SetScript("b", conflict)
	r.SetScript("c", overwrite)
	a, b, c := r.periodic("a"), r.periodic("b"), r.periodic("c")
	r.FailNext(gangwaytest.BulkChange, gangwaytest.Fault{Mode: gangwaytest.Lost}, gangwaytest.Fault{Delay: 10 * time.Second})

	r.bulk(abort("PENDING", ""))
	r.after(time.Minute).wantState(a, "pending") // the list failed

	r.bulk(abort("PENDING", ""))
	r.after(9*time.Second).wantState(a, "pending")
	r.after(time.Second).wantState(a, "aborted")
	r.wantState(b, "pending") // a conflict
	r.wantState(c, "aborted")
	r.after(2*time.Second).wantState(c, "pending") // overwritten
	if ch := r.Jobs()[1].Changes; len(ch) != 1 || !ch[0].Failed {
		t.Errorf("the conflict is not in the changes: %+v", ch)
	}

	r.bulk(abort("PENDING", ""))
	r.after(2*time.Second).wantState(b, "aborted")
	r.wantState(c, "aborted")
	r.after(time.Hour).wantState(c, "aborted")
}

func TestOverriddenLabelsSelectOneJob(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	r.postsubmit("a")
	mine := r.create(`{"job_name":"b","job_execution_type":2,` + aroRefs +
		`,"pod_spec_options":{"labels":{"prow.k8s.io/job":"gate-1","prow.k8s.io/refs.repo":"gate-1"}}}`)
	if l := r.list("job_name=gate-1"); len(l) != 1 || l[0].ID != mine || l[0].JobName != "b" {
		t.Errorf("listed by its label: %+v", l)
	}
	if l := r.list("job_name=b"); len(l) != 0 {
		t.Errorf("listed by its name: %+v", l)
	}
	r.bulk(abort("PENDING", `,"job_type":2,"refs":{"org":"Azure","repo":"gate-1"}`))
	r.after(2 * time.Second)
	if got := aborted(r); len(got) != 1 || got[0] != "b" {
		t.Errorf("hit %v", got)
	}
}

func TestAbortedWithoutCompletion(t *testing.T) {
	s := gangwaytest.Hanging()
	s.AbortedWithoutCompletion = true
	r := newRig(t, anyJob(s))
	id := r.periodic("a")
	r.bulk(abort("PENDING", ""))
	if e := r.after(48 * time.Hour).execution(id); e.JobStatus != "ABORTED" || e.CompletionTime != "" {
		t.Errorf("%+v", e)
	}
}

// Nobody looks between the work and the job's own end, which therefore never comes.
func TestBulkChangeFoundLate(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Passing(time.Minute)))
	id := r.periodic("a")
	r.after(20 * time.Second).bulk(abort("PENDING", ""))
	r.after(time.Hour).wantState(id, "aborted")
}

func TestBulkChangesWorkInOrderOfTime(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	id := r.periodic("a")
	r.FailNext(gangwaytest.BulkChange, gangwaytest.Fault{Delay: time.Minute})
	r.bulk(`{"job_status_change":{"current":"ABORTED","desired":"ERROR"}}`)
	r.bulk(abort("PENDING", ""))
	r.after(2*time.Second).wantState(id, "aborted")
	r.after(time.Hour).wantState(id, "error")
}
