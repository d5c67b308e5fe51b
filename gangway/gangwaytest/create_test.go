package gangwaytest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
)

func TestCreateValidation(t *testing.T) {
	r := newRig(t, gangwaytest.Options{})
	r.SetScript("known", gangwaytest.Script{Branches: []string{"main"}})
	options := func(o string) string {
		return `{"job_name":"known","job_execution_type":"PERIODIC","pod_spec_options":{` + o + `}}`
	}
	refs := func(kind, refs string) string {
		return `{"job_name":"known","job_execution_type":"` + kind + `","refs":{` + refs + `}}`
	}
	for _, c := range []struct {
		name, body string
		want       int
		text       string
	}{
		{"no body", "", 400, ""},
		{"no name", `{"job_execution_type":"PERIODIC"}`, 400, "job_name"},
		{"no type", `{"job_name":"known"}`, 400, "unsupported JobExecutionType"},
		{"unknown type name", `{"job_name":"known","job_execution_type":"WEEKLY"}`, 400, "WEEKLY"},
		{"unknown field", `{"job_name":"known","job_execution_typ":"PERIODIC"}`, 400, "jobExecutionTyp"},
		{"periodic with refs", refs("PERIODIC", ``), 400, "periodic jobs cannot"},
		{"postsubmit without refs", `{"job_name":"known","job_execution_type":"POSTSUBMIT"}`, 400, "gitRefs must be defined"},
		{"no org", refs("POSTSUBMIT", `"repo":"r","base_ref":"main","base_sha":"s"`), 400, "Org"},
		{"no sha", refs("POSTSUBMIT", `"org":"o","repo":"r","base_ref":"main"`), 400, "BaseSha"},
		{"sha of no form", refs("POSTSUBMIT", `"org":"o","repo":"r","base_ref":"main","base_sha":"zzz"`), 200, ""},
		{"wrong branch", refs("POSTSUBMIT", `"org":"o","repo":"r","base_ref":"dev","base_sha":"s"`), 500, "failed to find associated postsubmit"},
		{"presubmit without pulls", refs("PRESUBMIT", `"org":"o","repo":"r","base_ref":"main","base_sha":"s"`), 500, "Pulls"},
		{"batch", refs("BATCH", `"org":"o","repo":"r","base_ref":"main","base_sha":"s"`), 500, "unsupported"},
		{"pull with a sha of no form", refs("POSTSUBMIT", `"org":"o","repo":"r","base_ref":"main","base_sha":"s","pulls":[{"number":1,"sha":"zzz"}]`), 400, `pull: invalid SHA: \"zzz\"`},
		{"pull", refs("POSTSUBMIT", `"org":"o","repo":"r","base_ref":"main","base_sha":"s","pulls":[{"number":1,"sha":"`+strings.Repeat("0f", 20)+`","commit_link":"l"}]`), 200, `"commitLink":"l"`},
		{"unknown job", `{"job_name":"nope","job_execution_type":"PERIODIC"}`, 500, `"code":2,"details":[],"message":"failed to find associated periodic job`},
		{"empty env", options(`"envs":{"A":""}`), 400, "environment variable"},
		{"empty label", options(`"labels":{"a":""}`), 400, "label"},
		{"bad label value", options(`"labels":{"a":"-x-"}`), 400, "invalid label"},
		{"bad label key", options(`"labels":{"a b":"x"}`), 500, "metadata.labels"},
		{"empty annotation", options(`"annotations":{"a":""}`), 400, "annotation"},
		{"bad annotation key", options(`"annotations":{"a b":"x"}`), 500, "metadata.annotations"},
		{"large annotations", options(`"annotations":{"a":"` + strings.Repeat("x", 256<<10) + `"}`), 500, "Too long"},
		{"all well", options(`"envs":{"A":"b"},"labels":{"a/b":"x"},"annotations":{"a":"x y"}`), 200, "TRIGGERED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(r.Jobs())
			code, answer := r.do("POST", "/v1/executions", c.body)
			if code != c.want || !strings.Contains(answer, c.text) {
				t.Errorf("%d %s, want %d with %q", code, answer, c.want, c.text)
			}
			if made := len(r.Jobs()) - before; (made == 1) != (c.want == 200) {
				t.Errorf("%d jobs made", made)
			}
		})
	}
}

func TestCreateAcceptsBothSpellingsAndNumbers(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	for _, body := range []string{
		`{"job_name":"j","job_execution_type":"POSTSUBMIT","refs":{"org":"o","repo":"r","base_ref":"main","base_sha":"s"},"pod_spec_options":{"labels":{"a_b":"c"}}}`,
		`{"jobName":"j","jobExecutionType":2,"refs":{"org":"o","repo":"r","baseRef":"main","baseSha":"s"},"podSpecOptions":{"labels":{"a_b":"c"}}}`,
	} {
		code, answer := r.do("POST", "/v1/executions", body)
		want := fmt.Sprintf(`{"id":"id-%d","jobName":"j","jobType":"POSTSUBMIT","jobStatus":"TRIGGERED",`+
			`"refs":{"org":"o","repo":"r","baseRef":"main","baseSha":"s"},"podSpecOptions":{"labels":{"a_b":"c"}}}`, r.ids)
		if code != 200 || answer != want {
			t.Errorf("%d %s\nwant %s", code, answer, want)
		}
	}
}

func TestCreateHasNoIdempotencyKey(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	if a, b := r.periodic("j"), r.periodic("j"); a == b || len(r.Jobs()) != 2 {
		t.Errorf("ids %q and %q, %d jobs", a, b, len(r.Jobs()))
	}
}

func TestCreateAnswersTriggeredThoughScheduling(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Script{
		StartState: prow.Scheduling, Steps: []gangwaytest.Step{{After: time.Second, State: prow.Triggered}},
	}))
	var e execution
	r.ok("POST", "/v1/executions", `{"job_name":"j","job_execution_type":1}`, &e)
	if e.JobStatus != "TRIGGERED" {
		t.Errorf("answer says %s", e.JobStatus)
	}
	if got := r.execution(e.ID).JobStatus; got != "SCHEDULING" {
		t.Errorf("the job is %s", got)
	}
	if n := len(r.list("job_name=j&status=TRIGGERED")); n != 0 {
		t.Errorf("a listing of triggered jobs shows %d", n)
	}
}

func TestStartIsCreationInWholeSeconds(t *testing.T) {
	r := newRig(t, anyJob(gangwaytest.Hanging()))
	if got := r.execution(r.periodic("j")).CreateTime; got != "2026-11-02T10:00:00Z" {
		t.Errorf("create time %s", got)
	}
}

func TestLabels(t *testing.T) {
	long := strings.Repeat("a", 60) + ".-_" + "tail"
	r := newRig(t, anyJob(gangwaytest.Script{ExtraRefs: []prow.Refs{{Org: "o", Repo: "r", BaseRef: "release/4.1"}, {Org: "x", Repo: "y"}}}))
	r.SetScript("plain", gangwaytest.Hanging())
	for _, c := range []struct {
		name, body string
		want       map[string]string // "" means: not there
	}{
		{"periodic", `{"job_name":"plain","job_execution_type":1}`, map[string]string{
			"prow.k8s.io/job": "plain", "prow.k8s.io/type": "periodic", "prow.k8s.io/refs.org": "", "prow.k8s.io/refs.repo": "", "created-by-prow": "true",
		}},
		{"periodic with extra refs", `{"job_name":"other","job_execution_type":1}`, map[string]string{
			"prow.k8s.io/refs.org": "o", "prow.k8s.io/refs.repo": "r", "prow.k8s.io/refs.base_ref": "4.1",
		}},
		{"postsubmit", `{"job_name":"other","job_execution_type":2,` + aroRefs + `}`, map[string]string{
			"prow.k8s.io/type": "postsubmit", "prow.k8s.io/refs.org": "Azure", "prow.k8s.io/refs.repo": "ARO-HCP",
		}},
		{"long name", `{"job_name":"` + long + `","job_execution_type":1}`, map[string]string{"prow.k8s.io/job": strings.Repeat("a", 60)}},
		{
			"the caller's win",
			`{"job_name":"plain","job_execution_type":1,"pod_spec_options":{"labels":{"prow.k8s.io/job":"mine","prow.k8s.io/refs.repo":"mine","ev2.rollout/gate-id":"g"}}}`,
			map[string]string{"prow.k8s.io/job": "mine", "prow.k8s.io/refs.repo": "mine", "ev2.rollout/gate-id": "g", "prow.k8s.io/type": "periodic"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.create(c.body)
			jobs := r.Jobs()
			got := jobs[len(jobs)-1].Labels
			for k, v := range c.want {
				if value, ok := got[k]; value != v || ok != (v != "") {
					t.Errorf("label %s: %q, want %q", k, value, v)
				}
			}
		})
	}
}

func TestToken(t *testing.T) {
	o := anyJob(gangwaytest.Hanging())
	o.Token, o.BulkForbidden = "secret", true
	r := newRig(t, o)
	if code, page := r.do("POST", "/v1/executions", `{"job_name":"j","job_execution_type":1}`); code != 403 || !strings.Contains(page, "<html>") {
		t.Errorf("without a token: %d %s", code, page)
	}
	if len(r.Jobs()) != 0 {
		t.Error("a job was made without a token")
	}
	r.token = "secret"
	id := r.periodic("j")
	if code, _ := r.do("POST", "/v1/bulk-job-status-update", abort("TRIGGERED", "")); code != 403 {
		t.Errorf("bulk path without the right: %d", code)
	}
	r.token = ""
	if code, _ := r.get("/prowjob?prowjob=" + id); code != 200 {
		t.Errorf("Deck wants a token: %d", code)
	}
}
