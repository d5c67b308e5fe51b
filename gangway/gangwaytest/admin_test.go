package gangwaytest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
)

func TestAdminSurface(t *testing.T) {
	changes := 0
	o := gangwaytest.Options{Changed: func() { changes++ }}
	r := newRig(t, o)
	var none struct{}
	r.ok("PUT", "/admin/scripts/j", `{"steps":[{"after":"0s","state":"pending"}]}`, &none)
	id := r.periodic("j")
	code, answer := r.do("POST", "/admin/jobs", `{"jobName":"sibling","type":"postsubmit","refs":{"org":"Azure","repo":"ARO-HCP"},"start":"2026-11-02T09:59:58Z"}`)
	if code != 201 || answer != `{"id":"id-2"}` {
		t.Errorf("%d %s", code, answer)
	}
	r.ok("POST", "/admin/jobs/"+id, `{"state":"failure","description":"by hand"}`, &none)
	if changes != 4 {
		t.Errorf("Changed was called %d times", changes)
	}
	var all struct {
		Jobs []struct {
			ID, JobName, State, Description, Start string
			Labels                                 map[string]string
			Foreign                                bool
			Changes                                []gangwaytest.Change
		}
	}
	r.ok("GET", "/admin/jobs", "", &all)
	mine, sibling := all.Jobs[0], all.Jobs[1]
	if mine.State != "failure" || mine.Description != "by hand" || mine.Foreign || len(mine.Changes) != 1 || mine.Changes[0].Bulk != 0 {
		t.Errorf("%+v", mine)
	}
	if !sibling.Foreign || sibling.Start != "2026-11-02T09:59:58Z" || sibling.Labels[prow.LabelRepo] != "ARO-HCP" || sibling.State != "pending" {
		t.Errorf("%+v", sibling)
	}
	if changes != 4 {
		t.Error("reading is reported as a change")
	}
}

func TestAdminRefusals(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	id := r.periodic("a")
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/admin/jobs", `{"jobName":"x"}`, 400},
		{"POST", "/admin/jobs", `{"name":"x"}`, 400},
		{"POST", "/admin/jobs/" + id, `{}`, 400},
		{"POST", "/admin/jobs/" + id, `nonsense`, 400},
		{"POST", "/admin/jobs/nope", `{"state":"success"}`, 404},
		{"PUT", "/admin/scripts/a", `{"step":[]}`, 400},
		{"PUT", "/admin/scripts/", `{}`, 404},
		{"DELETE", "/admin/jobs", "", 404},
		{"DELETE", "/v1/executions", "", 404},
		{"GET", "/", "", 404},
	} {
		if code, answer := r.do(c.method, c.path, c.body); code != c.want {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, code, answer)
		}
	}
	if err := r.Move("nope", prow.Success, ""); err == nil {
		t.Error("moved a job that is not there")
	}
}

func TestForeignJobAppearsAtItsStart(t *testing.T) {
	r := newRig(t, gangwaytest.Options{})
	start := r.now.Add(time.Minute).Truncate(time.Second)
	id := r.AddForeign(gangwaytest.Foreign{JobName: "f", Type: prow.Periodic, Start: start})
	if code, _ := r.get("/prowjob?prowjob=" + id); code != 404 {
		t.Errorf("before: %d", code)
	}
	r.now = start
	if s := r.deckJob(id).Status; s.StartTime != "2026-11-02T10:01:00Z" || s.State != "pending" {
		t.Errorf("%+v", s)
	}
}

// everything is what all surfaces say, in one string.
func everything(r *rig) string {
	r.t.Helper()
	var all strings.Builder
	for _, path := range []string{"/admin/jobs", "/prowjobs.js", "/v1/executions", "/storage/v1/b/" + gangwaytest.Bucket + "/o"} {
		_, text := r.get(path)
		all.WriteString(path + "\n" + text + "\n")
	}
	return all.String()
}

func TestRestartLosesNothing(t *testing.T) {
	revived := gangwaytest.Failing(time.Minute, []string{"x"}, nil)
	revived.Steps = append(revived.Steps, gangwaytest.Step{After: 30 * time.Second, Revive: true})
	revived.OverwrittenChanges = 1
	o := anyJob(gangwaytest.Hanging())
	o.RatePerMinute, o.Burst = 60, 5
	r := newRig(t, o)
	r.SetScript("r", revived)
	r.periodic("r")
	r.periodic("a")
	r.AddForeign(gangwaytest.Foreign{JobName: "f", Type: prow.Periodic, Start: r.now.Add(time.Minute)})
	if err := r.after(20*time.Second).Move("id-2", prow.Triggered, "back"); err != nil {
		t.Fatal(err)
	}
	r.bulk(abort("PENDING", "")) // still to be done
	r.after(500 * time.Millisecond)

	raw, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	s := newRig(t, o)
	s.now = r.now
	if err := s.Restore(raw); err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{0, time.Second, time.Second, 20 * time.Second, time.Minute, 24 * time.Hour} {
		was, is := everything(r.after(d)), everything(s.after(d))
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("after %v: %s", d, diff)
		}
		if r.state("id-1") == "" || r.state("id-2") == "" {
			t.Error("no state")
		}
	}
	if len(r.Jobs()[0].Changes) != 1 {
		t.Errorf("the bulk change hit nothing: %+v", r.Jobs()[0])
	}
	if code, _ := s.do("POST", "/v1/executions", `{"job_name":"r","job_execution_type":1}`); code != 200 {
		t.Errorf("the script is lost: %d", code)
	}
}

func TestRestoreRefusesNonsense(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	r.periodic("a")
	for _, raw := range []string{"", "[]", `{"Jobs":[null]}`} {
		if err := r.Restore([]byte(raw)); err == nil {
			t.Errorf("%q is taken", raw)
		}
	}
	if len(r.Jobs()) != 1 {
		t.Error("a failed restore changed the world")
	}
	if err := r.Restore([]byte(`{}`)); err != nil || len(r.Jobs()) != 0 {
		t.Errorf("an empty world: %v", err)
	}
	r.SetScript("b", gangwaytest.Script{})
}
