package gate

import (
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
)

var guardStart = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func guardTarget() prow.Job {
	return prow.Job{
		ID: "e1", Name: "e2e", Type: prow.Postsubmit, State: prow.Pending, StartTime: guardStart,
		Refs: &prow.Refs{Org: "Azure", Repo: "ARO-HCP"},
	}
}

func renamed() prow.Job {
	j := guardTarget()
	j.Name = "another"
	return j
}

func TestGuardAgainstOtherJobs(t *testing.T) {
	tests := []struct {
		name   string
		change func(*prow.Job)
		stops  bool
	}{
		{"same second", func(*prow.Job) {}, true},
		{"another name", func(j *prow.Job) { j.Name = "other" }, true},
		{"scheduling", func(j *prow.Job) { j.State = prow.Scheduling }, true},
		{"triggered", func(j *prow.Job) { j.State = prow.Triggered }, true},
		{"unknown state", func(j *prow.Job) { j.State = "" }, true},
		{"another cluster", func(j *prow.Job) { j.Cluster = "build02" }, true},
		{"another branch", func(j *prow.Job) { j.Refs.BaseRef = "release" }, true},
		{"within the second", func(j *prow.Job) { j.StartTime = guardStart.Add(999 * time.Millisecond) }, true},
		{"ended", func(j *prow.Job) { j.State = prow.Success }, false},
		{"aborted", func(j *prow.Job) { j.State = prow.Aborted }, false},
		{"a second later", func(j *prow.Job) { j.StartTime = guardStart.Add(time.Second) }, false},
		{"a second earlier", func(j *prow.Job) { j.StartTime = guardStart.Add(-time.Second) }, false},
		{"another type", func(j *prow.Job) { j.Type = prow.Presubmit }, false},
		{"another repo", func(j *prow.Job) { j.Refs.Repo = "x" }, false},
		{"another org", func(j *prow.Job) { j.Refs.Org = "x" }, false},
		{"another repo by label", func(j *prow.Job) { j.Labels = map[string]string{prow.LabelRepo: "x"} }, false},
		{"the repo by label alone", func(j *prow.Job) {
			j.Refs = nil
			j.Labels = map[string]string{prow.LabelRepo: "ARO-HCP", prow.LabelOrg: "Azure"}
		}, true},
		{"a periodic's extra refs", func(j *prow.Job) {
			j.ExtraRefs, j.Refs = []prow.Refs{*j.Refs}, nil
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := guardTarget()
			other.ID = "e2"
			tt.change(&other)
			listing := prow.Listing{At: guardStart.Add(time.Minute), Jobs: []prow.Job{guardTarget(), other}}
			if why := guard(guardTarget(), listing); (why != "") != tt.stops {
				t.Errorf("guard says %q", why)
			}
		})
	}
}

func TestGuardBelievesOnlyAProvenListing(t *testing.T) {
	tests := []struct {
		name    string
		listing prow.Listing
		want    string
	}{
		{"empty", prow.Listing{At: guardStart.Add(time.Minute)}, "does not show the job itself"},
		{"without a date", prow.Listing{Jobs: []prow.Job{guardTarget()}}, "has no date"},
		{"too early", prow.Listing{At: guardStart.Add(44 * time.Second), Jobs: []prow.Job{guardTarget()}}, "less than 45s after"},
		{"the job under another name", prow.Listing{At: guardStart.Add(time.Minute), Jobs: []prow.Job{renamed()}}, "shows the job itself otherwise"},
		{"the job twice", prow.Listing{At: guardStart.Add(time.Minute), Jobs: []prow.Job{guardTarget(), renamed()}}, "shows the job itself otherwise"},
		{"just right", prow.Listing{At: guardStart.Add(45 * time.Second), Jobs: []prow.Job{guardTarget()}}, ""},
	}
	for _, tt := range tests {
		if why := guard(guardTarget(), tt.listing); why != tt.want && (tt.want == "" || !strings.Contains(why, tt.want)) {
			t.Errorf("%s: %q, want %q", tt.name, why, tt.want)
		}
	}
}

func TestNever(t *testing.T) {
	tests := []struct {
		name   string
		change func(*prow.Job)
		want   string
	}{
		{"complete", func(*prow.Job) {}, ""},
		{"no type", func(j *prow.Job) { j.Type = "" }, "no type"},
		{"no refs", func(j *prow.Job) { j.Refs = nil }, "no refs"},
		{"no repo", func(j *prow.Job) { j.Refs.Repo = "" }, "no refs"},
		{"no start", func(j *prow.Job) { j.StartTime = time.Time{} }, "no start time"},
	}
	for _, tt := range tests {
		j := guardTarget()
		tt.change(&j)
		if got := never(j); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAbortIsAsNarrowAsItCanBe(t *testing.T) {
	j := guardTarget()
	j.Cluster = "build01"
	j.StartTime = guardStart.Add(300 * time.Millisecond)
	want := prow.Abort{Current: prow.Pending, Type: prow.Postsubmit, Org: "Azure", Repo: "ARO-HCP", Cluster: "build01", Start: guardStart}
	if got := abortOf(j); got != want {
		t.Errorf("%+v", got)
	}
}
