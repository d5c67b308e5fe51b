package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
)

func createChecks() []check {
	return []check{
		{"create refuses", createRefuses},
		{"create answers with the request", createAnswers},
		{"create takes both spellings and numbers", createSpellings},
		{"create knows no idempotency", createTwice},
		{"created job carries what was passed", createCarries},
		{"labels of the server", serverLabels},
		{"labels of the caller win", callerLabels},
		{"start is a whole second", wholeSeconds},
	}
}

// refused is a create that makes no job.
type refused struct {
	name, body string
	status     int
	code       float64
	text       string // in the message
}

func options(o string) string {
	return `{"job_name":"nightly","job_execution_type":"PERIODIC","pod_spec_options":{` + o + `}}`
}

func withRefs(kind, refs string) string {
	return `{"job_name":"pinned","job_execution_type":"` + kind + `","refs":{` + refs + `}}`
}

func refusals() []refused {
	const bad, failed = http.StatusBadRequest, http.StatusInternalServerError
	return []refused{
		{"no body", ``, bad, 3, ""},
		{"no JSON", `nonsense`, bad, 3, ""},
		{"empty", `{}`, bad, 3, "job_name field cannot be empty"},
		{"no type", `{"job_name":"nightly"}`, bad, 3, "unsupported JobExecutionType: JOB_EXECUTION_TYPE_UNSPECIFIED"},
		{"unknown type", `{"job_name":"nightly","job_execution_type":"WEEKLY"}`, bad, 3, ""},
		{"unknown field", `{"job_name":"nightly","job_execution_typ":"PERIODIC"}`, bad, 3, ""},
		{"wrong JSON type", `{"job_name":7,"job_execution_type":"PERIODIC"}`, bad, 3, ""},
		{"type of an unknown number", `{"job_name":"nightly","job_execution_type":9,"refs":{"org":"o","repo":"r","base_ref":"b","base_sha":"s"}}`, failed, 2, "unsupported JobExecutionType type: 9"},
		{"periodic with refs", `{"job_name":"nightly","job_execution_type":"PERIODIC",` + refs("Azure", "ARO-HCP") + `}`, bad, 3, "periodic jobs cannot also have gitRefs"},
		{"periodic with empty refs", `{"job_name":"nightly","job_execution_type":"PERIODIC","refs":{}}`, bad, 3, "periodic jobs cannot also have gitRefs"},
		{"postsubmit without refs", `{"job_name":"pinned","job_execution_type":"POSTSUBMIT"}`, bad, 3, `gitRefs must be defined for "POSTSUBMIT"`},
		{"no org", withRefs("POSTSUBMIT", `"repo":"ARO-HCP","base_ref":"main","base_sha":"s"`), bad, 3, "gitRefs: failed to validate: gitRefs: Org cannot be empty"},
		{"no repo", withRefs("POSTSUBMIT", `"org":"Azure","base_ref":"main","base_sha":"s"`), bad, 3, "Repo cannot be empty"},
		{"no base_ref", withRefs("POSTSUBMIT", `"org":"Azure","repo":"ARO-HCP","base_sha":"s"`), bad, 3, "BaseRef cannot be empty"},
		{"no base_sha", withRefs("POSTSUBMIT", `"org":"Azure","repo":"ARO-HCP","base_ref":"main"`), bad, 3, "BaseSha cannot be empty"},
		{"pull with a sha of no form", withRefs("POSTSUBMIT", `"org":"Azure","repo":"ARO-HCP","base_ref":"main","base_sha":"s","pulls":[{"number":1,"sha":"zzz"}]`), bad, 3, `pull: invalid SHA: "zzz"`},
		{"unknown periodic", `{"job_name":"nope","job_execution_type":"PERIODIC"}`, failed, 2, `failed to find associated periodic job "nope"`},
		{"unknown postsubmit", `{"job_name":"nope","job_execution_type":"POSTSUBMIT",` + refs("Azure", "ARO-HCP") + `}`, failed, 2, `failed to find associated postsubmit job "nope" from orgRepo "Azure/ARO-HCP"`},
		{"wrong branch", withRefs("POSTSUBMIT", `"org":"Azure","repo":"ARO-HCP","base_ref":"dev","base_sha":"s"`), failed, 2, `failed to find associated postsubmit job "pinned"`},
		{"presubmit without pulls", withRefs("PRESUBMIT", `"org":"Azure","repo":"ARO-HCP","base_ref":"main","base_sha":"s"`), failed, 2, "at least 1 Pulls is required"},
		{"batch", withRefs("BATCH", `"org":"Azure","repo":"ARO-HCP","base_ref":"main","base_sha":"s"`), failed, 2, "unsupported JobExecutionType type: BATCH"},
		{"empty env", options(`"envs":{"A":""}`), bad, 3, `invalid environment variable key/value pair: "A", ""`},
		{"empty env name", options(`"envs":{"":"a"}`), bad, 3, `invalid environment variable key/value pair: "", "a"`},
		{"empty label", options(`"labels":{"a":""}`), bad, 3, `invalid label key/value pair: "a", ""`},
		{"bad label value", options(`"labels":{"a":"-x-"}`), bad, 3, "invalid label: the following errors found: "},
		{"long label value", options(`"labels":{"a":"` + strings.Repeat("x", 64) + `"}`), bad, 3, "invalid label: the following errors found: "},
		{"bad label key", options(`"labels":{"a b":"x"}`), failed, 2, " is invalid: metadata.labels: Invalid value: \"a b\": "},
		{"empty annotation", options(`"annotations":{"a":""}`), bad, 3, `invalid annotation key/value pair: "a", ""`},
		{"bad annotation key", options(`"annotations":{"a b":"x"}`), failed, 2, " is invalid: metadata.annotations: Invalid value: \"a b\": "},
		{"annotations over 256 KiB", options(`"annotations":{"a":"` + strings.Repeat("x", 256<<10) + `"}`), failed, 2, " is invalid: metadata.annotations: Too long: "},
	}
}

func createRefuses(s *server) {
	for _, c := range refusals() {
		code, answer := s.do(http.MethodPost, "/v1/executions", c.body)
		message, _ := answer["message"].(string)
		if code != c.status || answer["code"] != c.code || !strings.Contains(message, c.text) {
			s.t.Errorf("%s: %d %v, want %d with code %v and %q", c.name, code, answer, c.status, c.code, c.text)
		}
	}
	if jobs := s.truth(); len(jobs) > 0 {
		s.t.Errorf("jobs were made: %+v", jobs)
	}
}

func createAnswers(s *server) {
	pulls := `"pulls":[{"number":7,"author":"a","sha":"` + strings.Repeat("0f", 20) + `","commit_link":"l"}]`
	for _, c := range []struct {
		body string
		want map[string]any
	}{
		{`{"job_name":"nightly","job_execution_type":"PERIODIC"}`, map[string]any{"jobName": nightly, "jobType": "PERIODIC"}},
		{options(``), map[string]any{"jobName": nightly, "jobType": "PERIODIC", "podSpecOptions": map[string]any{}}},
		{options(`"envs":{"A":"b"},"labels":{"a/b":"x"},"annotations":{"a":"x y"}`), map[string]any{
			"jobName": nightly, "jobType": "PERIODIC", "podSpecOptions": map[string]any{
				"envs": map[string]any{"A": "b"}, "labels": map[string]any{"a/b": "x"}, "annotations": map[string]any{"a": "x y"},
			},
		}},
		{withRefs("POSTSUBMIT", `"org":"Azure","repo":"ARO-HCP","base_ref":"main","base_sha":"any form","clone_depth":1,"skip_submodules":true,`+pulls), map[string]any{
			"jobName": pinned, "jobType": "POSTSUBMIT", "refs": map[string]any{
				"org": "Azure", "repo": "ARO-HCP", "baseRef": "main", "baseSha": "any form", "cloneDepth": 1.0, "skipSubmodules": true,
				"pulls": []any{map[string]any{"number": 7.0, "author": "a", "sha": strings.Repeat("0f", 20), "commitLink": "l"}},
			},
		}},
	} {
		code, answer := s.do(http.MethodPost, "/v1/executions", c.body)
		id, _ := answer["id"].(string)
		delete(answer, "id")
		c.want["jobStatus"] = "TRIGGERED"
		if d := cmp.Diff(c.want, answer); code != http.StatusOK || id == "" || d != "" {
			s.t.Errorf("%s: %d, id %q (-want +got):\n%s", c.body, code, id, d)
		}
	}
}

func createSpellings(s *server) {
	for _, body := range []string{
		`{"job_name":"pinned","job_execution_type":"POSTSUBMIT","refs":{"org":"Azure","repo":"ARO-HCP","base_ref":"main","base_sha":"s"},"pod_spec_options":{"labels":{"a_b":"c"}}}`,
		`{"jobName":"pinned","jobExecutionType":2,"refs":{"org":"Azure","repo":"ARO-HCP","baseRef":"main","baseSha":"s"},"podSpecOptions":{"labels":{"a_b":"c"}}}`,
		`{"job_name":"pinned","jobExecutionType":2,"refs":{"org":"Azure","repo":"ARO-HCP","baseRef":"main","base_sha":"s","pulls":null},"podSpecOptions":{"labels":{"a_b":"c"},"envs":null}}`,
	} {
		j := s.job(s.create(body))
		if j.Name != pinned || j.Type != prow.Postsubmit || j.Labels["a_b"] != "c" || j.Labels[prow.LabelRepo] != "ARO-HCP" {
			s.t.Errorf("%s makes %+v", body, j)
		}
	}
}

func createTwice(s *server) {
	a, b := s.periodic(nightly), s.periodic(nightly)
	if n := len(s.truth()); a == b || n != 2 {
		s.t.Errorf("ids %q and %q, %d jobs", a, b, n)
	}
}

func createCarries(s *server) {
	j := s.job(s.create(options(`"envs":{"A":"b"},"labels":{"ev2.rollout/gate-id":"g-1"},"annotations":{"ev2.rollout/region":"west europe"}`)))
	if j.Envs["A"] != "b" || j.Labels["ev2.rollout/gate-id"] != "g-1" || j.Annotations["ev2.rollout/region"] != "west europe" {
		s.t.Errorf("%+v", j)
	}
	if j.State != prow.Triggered || j.Cluster != buildCluster {
		s.t.Errorf("state %q on cluster %q", j.State, j.Cluster)
	}
}

func serverLabels(s *server) {
	for _, c := range []struct {
		id                  string
		labels, annotations map[string]string
	}{
		{s.periodic(nightly), map[string]string{
			"created-by-prow": "true", "prow.k8s.io/context": "", "prow.k8s.io/job": nightly, "prow.k8s.io/type": "periodic",
		}, map[string]string{"prow.k8s.io/context": "", "prow.k8s.io/job": nightly}},
		{s.periodic(withExtra), map[string]string{
			"created-by-prow": "true", "prow.k8s.io/context": "", "prow.k8s.io/job": withExtra, "prow.k8s.io/type": "periodic",
			"prow.k8s.io/refs.org": "Azure", "prow.k8s.io/refs.repo": "ARO-HCP", "prow.k8s.io/refs.base_ref": "4.1",
		}, map[string]string{"prow.k8s.io/context": "", "prow.k8s.io/job": withExtra}},
		{s.periodic(longName()), map[string]string{
			"created-by-prow": "true", "prow.k8s.io/context": "", "prow.k8s.io/job": cutName(), "prow.k8s.io/type": "periodic",
		}, map[string]string{"prow.k8s.io/context": "", "prow.k8s.io/job": longName()}},
		{s.postsubmit(pinned, "ARO-HCP"), map[string]string{
			"created-by-prow": "true", "prow.k8s.io/context": pinned, "prow.k8s.io/job": pinned, "prow.k8s.io/type": "postsubmit",
			"prow.k8s.io/refs.org": "Azure", "prow.k8s.io/refs.repo": "ARO-HCP", "prow.k8s.io/refs.base_ref": "main",
		}, map[string]string{"prow.k8s.io/context": pinned, "prow.k8s.io/job": pinned}},
	} {
		j := s.job(c.id)
		if d := cmp.Diff(c.labels, j.Labels); d != "" {
			s.t.Errorf("labels of %s (-want +got):\n%s", j.Name, d)
		}
		if d := cmp.Diff(c.annotations, j.Annotations); d != "" {
			s.t.Errorf("annotations of %s (-want +got):\n%s", j.Name, d)
		}
	}
}

func callerLabels(s *server) {
	mine := map[string]string{
		"prow.k8s.io/job": "gate-1", "prow.k8s.io/refs.org": "gate-1", "prow.k8s.io/refs.repo": "gate-1", "prow.k8s.io/type": "batch",
	}
	var pairs []string
	for k, v := range mine {
		pairs = append(pairs, fmt.Sprintf("%q:%q", k, v))
	}
	body := `{"job_name":"pinned","job_execution_type":2,` + refs("Azure", "ARO-HCP") + `,"pod_spec_options":{"labels":{` + strings.Join(pairs, ",") + `}}}`
	j := s.job(s.create(body))
	for k, v := range mine {
		if j.Labels[k] != v {
			s.t.Errorf("label %s is %q", k, j.Labels[k])
		}
	}
	if j.Name != pinned || j.Type != prow.Postsubmit || j.Annotations[prow.LabelJob] != pinned {
		s.t.Errorf("the job itself has changed: %+v", j)
	}
}

func wholeSeconds(s *server) {
	if start := s.job(s.periodic(nightly)).Start; start.IsZero() || start != start.Truncate(time.Second) {
		s.t.Errorf("start %v", start)
	}
}
