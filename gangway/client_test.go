package gangway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// recorded is a request as the server saw it.
type recorded struct {
	Method, Target string
	Body           any
}

// record answers every request and keeps the last.
func record(t *testing.T, last *recorded, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*last = recorded{Method: r.Method, Target: r.URL.String()}
		raw, err := io.ReadAll(r.Body)
		check(t, err)
		if len(raw) > 0 {
			check(t, json.Unmarshal(raw, &last.Body))
		}
		answer(200, "application/json", body)(w, r)
	}
}

func TestCreateSends(t *testing.T) {
	var got recorded
	client := NewClient(serve(t, record(t, &got, `{"id":"5f1c-a","jobStatus":"SOME_NEW_STATE","newField":{"x":[1]}}`)))
	s := prow.Submission{
		JobName: "branch-ci-e2e", Type: prow.Postsubmit,
		Refs:        &prow.Refs{Org: "Azure", Repo: "ARO-HCP", BaseRef: "main", BaseSHA: "abc"},
		Labels:      map[string]string{"l": "1"},
		Annotations: map[string]string{"a": "2"},
		Envs:        map[string]string{"E": "3"},
	}
	id, err := client.Create(t.Context(), s)
	if err != nil || id != "5f1c-a" {
		t.Fatalf("id %q, error %v", id, err)
	}
	want := recorded{"POST", "/v1/executions", map[string]any{
		"job_name": "branch-ci-e2e", "job_execution_type": "POSTSUBMIT",
		"refs": map[string]any{"org": "Azure", "repo": "ARO-HCP", "base_ref": "main", "base_sha": "abc"},
		"pod_spec_options": map[string]any{
			"labels": map[string]any{"l": "1"}, "annotations": map[string]any{"a": "2"}, "envs": map[string]any{"E": "3"},
		},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A periodic job must have no refs at all, not even empty ones.
func TestCreatePeriodicHasNoRefs(t *testing.T) {
	var got recorded
	_, err := NewClient(serve(t, record(t, &got, `{"id":"a"}`))).Create(t.Context(), aSubmission())
	check(t, err)
	body, _ := got.Body.(map[string]any)
	if _, ok := body["refs"]; ok || body["job_execution_type"] != "PERIODIC" {
		t.Errorf("sent %v", body)
	}
}

func TestCreateRefusedHere(t *testing.T) {
	client := NewClient(configOf(t, "http://gangway.invalid"))
	for _, s := range []prow.Submission{
		{JobName: "x"},
		{JobName: "x", Type: "nightly"},
		{Type: prow.Periodic},
		{JobName: "x", Type: prow.Periodic, Labels: map[string]string{"l": "\xff"}},
	} {
		_, err := client.Create(t.Context(), s)
		wantFault(t, err, fault.Refused, "create execution")
	}
}

func TestGet(t *testing.T) {
	var got recorded
	client := NewClient(serve(t, record(t, &got, `{"id":"a-1","jobName":"j","jobType":"PERIODIC","job_status":"PENDING",
		"createTime":"2026-11-03T09:00:00Z","jobUrl":"https://deck/view/gs/b/p","futureField":1}`)))
	j, err := client.Get(t.Context(), "a-1")
	check(t, err)
	want := prow.Job{
		ID: "a-1", Name: "j", Type: prow.Periodic, State: prow.Pending,
		StartTime: time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC), URL: "https://deck/view/gs/b/p",
	}
	if d := cmp.Diff(want, j); d != "" {
		t.Error(d)
	}
	if got.Target != "/v1/executions/a-1" {
		t.Error(got.Target)
	}
	_, err = client.Get(t.Context(), "a-2")
	wantFault(t, err, fault.MayHaveHappened, "another execution")
	_, err = client.Get(t.Context(), "../v1")
	wantFault(t, err, fault.Refused, "not an execution id")
}

func TestGetUnknown(t *testing.T) {
	c := serve(t, answer(500, "application/json", `{"code":2,"message":"prowjobs.prow.k8s.io \"a\" not found"}`))
	_, err := NewClient(c).Get(t.Context(), "a")
	wantFault(t, err, fault.Refused, "not found")
}

func TestStatesOfAnswers(t *testing.T) {
	tests := map[string]prow.State{
		`"SCHEDULING"`: prow.Scheduling, `"TRIGGERED"`: prow.Triggered, `"PENDING"`: prow.Pending, `"SUCCESS"`: prow.Success,
		`"FAILURE"`: prow.Failure, `"ABORTED"`: prow.Aborted, `"ERROR"`: prow.Errored, `7`: prow.Scheduling,
		`"JOB_EXECUTION_STATUS_UNSPECIFIED"`: "", `"BRAND_NEW"`: "", `99`: "",
	}
	for word, want := range tests {
		j, err := NewClient(serve(t, answer(200, "application/json", `{"id":"a","jobStatus":`+word+`,"jobType":77}`))).Get(t.Context(), "a")
		if err != nil || j.State != want || j.Type != "" {
			t.Errorf("%s: state %q, type %q, error %v", word, j.State, j.Type, err)
		}
	}
}

func TestList(t *testing.T) {
	name := strings.Repeat("n", 60) + "._-long"
	var got recorded
	client := NewClient(serve(t, record(t, &got, `{"jobExecution":[
		{"id":"1","jobName":"`+name+`","jobStatus":"TRIGGERED"},
		{"id":"2","jobName":"`+name[:63]+`-other"},
		{"id":"3","jobName":"`+name+`"}]}`)))
	jobs, err := client.List(t.Context(), name, prow.Triggered)
	check(t, err)
	if len(jobs) != 2 || jobs[0].ID != "1" || jobs[1].ID != "3" {
		t.Errorf("jobs %+v", jobs)
	}
	if want := "/v1/executions?job_name=" + strings.Repeat("n", 60) + "&status=TRIGGERED"; got.Target != want {
		t.Errorf("asked %s, want %s", got.Target, want)
	}
	_, err = client.List(t.Context(), "short", "")
	check(t, err)
	if got.Target != "/v1/executions?job_name=short" {
		t.Error(got.Target)
	}
	_, err = client.List(t.Context(), "short", "sleeping")
	wantFault(t, err, fault.Refused, "sleeping")
}

func anAbort() prow.Abort {
	return prow.Abort{
		Current: prow.Pending, Type: prow.Postsubmit, Org: "Azure", Repo: "ARO-HCP", Cluster: "build05",
		Start: time.Date(2026, 11, 3, 9, 0, 0, 700, time.FixedZone("CET", 3600)),
	}
}

func TestAbortSends(t *testing.T) {
	var got recorded
	check(t, NewClient(serve(t, record(t, &got, `{}`))).Abort(t.Context(), anAbort()))
	want := recorded{"POST", "/v1/bulk-job-status-update", map[string]any{
		"job_status_change": map[string]any{"current": "PENDING", "desired": "ABORTED"},
		"cluster":           "build05",
		"started_before":    "2026-11-03T08:00:00Z",
		"started_after":     "2026-11-03T08:00:00Z",
		"job_type":          "POSTSUBMIT",
		"refs":              map[string]any{"org": "Azure", "repo": "ARO-HCP"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Every open side of the selection would let the server abort the jobs of others.
func TestAbortOfTooMuch(t *testing.T) {
	client := NewClient(configOf(t, "http://gangway.invalid"))
	widen := map[string]func(*prow.Abort){
		"no type":      func(a *prow.Abort) { a.Type = "" },
		"unknown type": func(a *prow.Abort) { a.Type = "nightly" },
		"batch":        func(a *prow.Abort) { a.Type = prow.Batch },
		"no org":       func(a *prow.Abort) { a.Org = "" },
		"no repo":      func(a *prow.Abort) { a.Repo = "" },
		"no start":     func(a *prow.Abort) { a.Start = time.Time{} },
		"no state":     func(a *prow.Abort) { a.Current = "" },
		"new state":    func(a *prow.Abort) { a.Current = "sleeping" },
		"ended":        func(a *prow.Abort) { a.Current = prow.Success },
		"aborted":      func(a *prow.Abort) { a.Current = prow.Aborted },
	}
	for name, change := range widen {
		a := anAbort()
		change(&a)
		t.Run(name, func(t *testing.T) {
			wantFault(t, client.Abort(t.Context(), a), fault.Refused, "abort execution: ")
		})
	}
}

func TestAbortAnswers(t *testing.T) {
	tests := []struct {
		status     int
		kind, body string
		want       fault.Kind
	}{
		{403, "text/html", "<html>", fault.Refused},
		{200, "text/html", "<html>", fault.MayHaveHappened},
		{200, "application/json", "", fault.MayHaveHappened},
		{429, "text/html", "<html>", fault.NothingHappened},
		{500, "application/json", `{"message":"failed to find associated"}`, fault.MayHaveHappened},
	}
	for _, tt := range tests {
		err := NewClient(serve(t, answer(tt.status, tt.kind, tt.body))).Abort(t.Context(), anAbort())
		wantFault(t, err, tt.want, "abort execution: ")
	}
	check(t, NewClient(serve(t, answer(200, "application/json", `{"future":true}`))).Abort(t.Context(), anAbort()))
}

func TestBasePath(t *testing.T) {
	var got recorded
	c := serve(t, record(t, &got, `{"id":"a"}`))
	c.GangwayURL = c.GangwayURL.JoinPath("prow/gangway/")
	_, err := NewClient(c).Create(t.Context(), aSubmission())
	check(t, err)
	if got.Target != "/prow/gangway/v1/executions" {
		t.Error(got.Target)
	}
}

func TestCreateAnsweredAboutAnotherJob(t *testing.T) {
	c := serve(t, answer(http.StatusOK, "application/json", `{"id":"theirs","jobName":"their-job"}`))
	_, err := NewClient(c).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.MayHaveHappened, "about another job")
}

// A token that is a word of a good answer does not spoil it.
func TestAShortTokenSpoilsNoAnswer(t *testing.T) {
	c := serve(t, answer(200, "application/json", `{"id":"dev-1"}`))
	c.Token = func(context.Context) (string, error) { return "dev", nil }
	if id, err := NewClient(c).Create(t.Context(), aSubmission()); err != nil || id != "dev-1" {
		t.Errorf("%q, %v", id, err)
	}
}
