package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/conformance/upstream"
	"prowgate/gangway/prow"
)

func readChecks() []check {
	return []check{
		{"get of an unknown id", getUnknown},
		{"get tells the state", getState},
		{"get and list have no word for some states", unnamedStates},
		{"get tells name, type and time", getDetails},
		{"list refuses an unknown status", listRefuses},
		{"list by label", listByLabel},
		{"list that fails inside is empty", listFails},
		{"list by the caller's label", listOverridden},
	}
}

func getUnknown(s *server) {
	code, answer := s.get("/v1/executions/nope")
	message, _ := answer["message"].(string)
	if code != http.StatusInternalServerError || answer["code"] != 2.0 || message != `prowjobs.prow.k8s.io "nope" not found` {
		s.t.Errorf("%d %v", code, answer)
	}
}

func getState(s *server) {
	id := s.periodic(nightly)
	for state, want := range map[prow.State]string{
		prow.Triggered: "TRIGGERED", prow.Pending: "PENDING", prow.Success: "SUCCESS", prow.Failure: "FAILURE",
		prow.Aborted: "ABORTED", prow.Errored: "ERROR",
	} {
		s.move(id, state)
		code, answer := s.get("/v1/executions/" + id)
		if code != http.StatusOK || answer["id"] != id || answer["jobStatus"] != want {
			s.t.Errorf("%s: %d %v", state, code, answer)
		}
		for _, field := range []string{"refs", "podSpecOptions", "gcsPath"} {
			if _, ok := answer[field]; ok {
				s.t.Errorf("the answer holds %s", field)
			}
		}
	}
}

func unnamedStates(s *server) {
	id := s.periodic(nightly)
	for _, state := range []prow.State{"", "paused"} {
		s.move(id, state)
		for _, path := range []string{"/v1/executions/" + id, "/v1/executions?job_name=nightly"} {
			code, answer := s.get(path)
			if entries, ok := answer["jobExecution"].([]any); ok {
				answer = entries[0].(map[string]any)
			}
			if _, ok := answer["jobStatus"]; code != http.StatusOK || answer["id"] != id || ok {
				s.t.Errorf("%q, %s: %d %v", state, path, code, answer)
			}
		}
	}
}

func getDetails(s *server) {
	s.needs(upstream.TellsDetails)
	id := s.postsubmit(pinned, "ARO-HCP")
	_, answer := s.get("/v1/executions/" + id)
	want := map[string]any{
		"id": id, "jobName": pinned, "jobType": "POSTSUBMIT", "jobStatus": "TRIGGERED",
		"createTime": s.job(id).Start.UTC().Format("2006-01-02T15:04:05Z"),
	}
	if d := cmp.Diff(want, answer); d != "" {
		s.t.Errorf("(-want +got):\n%s", d)
	}
}

// listed returns the ids of an answer, in its order.
func (s *server) listed(query string) []string {
	s.t.Helper()
	code, answer := s.get("/v1/executions?" + query)
	if code != http.StatusOK {
		s.t.Fatalf("%q: %d %v", query, code, answer)
	}
	entries, _ := answer["jobExecution"].([]any)
	var ids []string
	for _, e := range entries {
		fields := e.(map[string]any)
		ids = append(ids, fields["id"].(string))
		j := s.job(fields["id"].(string))
		want := map[string]any{
			"id": j.ID, "jobName": j.Name, "jobType": strings.ToUpper(string(j.Type)), "jobStatus": strings.ToUpper(string(j.State)),
		}
		if d := cmp.Diff(want, fields); d != "" {
			s.t.Errorf("%q: an entry (-want +got):\n%s", query, d)
		}
	}
	if len(entries) == 0 && len(answer) > 0 {
		s.t.Errorf("%q: an empty answer is %v", query, answer)
	}
	return ids
}

func listByLabel(s *server) {
	a, b := s.periodic(nightly), s.periodic(nightly)
	long, longToo := s.periodic(longName()), s.periodic(longNameToo())
	post := s.postsubmit(pinned, "ARO-HCP")
	s.move(b, prow.Pending)
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"job_name=nightly", []string{a, b}},
		{"jobName=nightly&status=TRIGGERED", []string{a}},
		{"job_name=nightly&status=2", []string{b}},
		{"job_name=nightly&status=SUCCESS", nil},
		{"job_name=nightly&status=JOB_EXECUTION_STATUS_UNSPECIFIED", []string{a, b}},
		{"job_name=night", nil},
		{"job_name=no+label", nil},
		{"job_name=" + url.QueryEscape(longName()), nil},
		{"job_name=" + cutName(), []string{long, longToo}},
		{"job_name=pinned", []string{post}},
		{"status=PENDING", []string{b}},
		{"", []string{a, b, long, longToo, post}},
	} {
		slices.Sort(c.want)
		if d := cmp.Diff(c.want, s.listed(c.query)); d != "" {
			s.t.Errorf("%q (-want +got):\n%s", c.query, d)
		}
	}
}

func listRefuses(s *server) {
	code, answer := s.get("/v1/executions?status=DONE")
	if code != http.StatusBadRequest || answer["code"] != 3.0 {
		s.t.Errorf("unknown status: %d %v", code, answer)
	}
}

func listFails(s *server) {
	id := s.periodic(nightly)
	s.failNextList()
	if ids := s.listed("job_name=nightly"); len(ids) > 0 {
		s.t.Errorf("the failed list shows %v", ids)
	}
	if d := cmp.Diff([]string{id}, s.listed("job_name=nightly")); d != "" {
		s.t.Errorf("the next one (-want +got):\n%s", d)
	}
}

func listOverridden(s *server) {
	s.periodic(nightly)
	mine := s.create(`{"job_name":"nightlytoo","job_execution_type":1,"pod_spec_options":{"labels":{"prow.k8s.io/job":"gate-1"}}}`)
	if d := cmp.Diff([]string{mine}, s.listed("job_name=gate-1")); d != "" {
		s.t.Errorf("by its label (-want +got):\n%s", d)
	}
	if ids := s.listed("job_name=nightlytoo"); len(ids) > 0 {
		s.t.Errorf("by its name: %v", ids)
	}
}

func schedulingChecks() []check {
	return []check{
		{"create answers triggered", func(s *server) {
			code, answer := s.do(http.MethodPost, "/v1/executions", `{"job_name":"nightly","job_execution_type":1}`)
			id, _ := answer["id"].(string)
			if code != http.StatusOK || answer["jobStatus"] != "TRIGGERED" || s.job(id).State != prow.Scheduling {
				s.t.Errorf("%d %v, and the job is %s", code, answer, s.job(id).State)
			}
		}},
		{"get says scheduling", func(s *server) {
			s.needs(upstream.NamesScheduling)
			if _, answer := s.get("/v1/executions/" + s.periodic(nightly)); answer["jobStatus"] != "SCHEDULING" {
				s.t.Errorf("%v", answer)
			}
		}},
		{"list of triggered jobs misses it", func(s *server) {
			s.periodic(nightly)
			if ids := s.listed("job_name=nightly&status=TRIGGERED"); len(ids) > 0 {
				s.t.Errorf("triggered: %v", ids)
			}
		}},
		{"list of scheduling jobs shows it", func(s *server) {
			s.needs(upstream.NamesScheduling)
			id := s.periodic(nightly)
			if d := cmp.Diff([]string{id}, s.listed("job_name=nightly&status=SCHEDULING")); d != "" {
				s.t.Errorf("scheduling (-want +got):\n%s", d)
			}
		}},
		{"bulk change of scheduling jobs hits it", func(s *server) {
			s.needs(upstream.NamesScheduling)
			id := s.periodic(nightly)
			s.abort("SCHEDULING", "")
			if state := s.job(id).State; state != prow.Aborted {
				s.t.Errorf("the job is %s", state)
			}
		}},
		{"bulk change of triggered jobs misses it", func(s *server) {
			id := s.periodic(nightly)
			s.abort("TRIGGERED", "")
			if state := s.job(id).State; state != prow.Scheduling {
				s.t.Errorf("the job is %s", state)
			}
		}},
	}
}
