package gangwaytest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"prowgate/gangway/prow"
)

// The parts of a ProwJob that Deck shows (prow, pkg/apis/prowjobs/v1/types.go).
type (
	prowJob struct {
		APIVersion string     `json:"apiVersion"`
		Kind       string     `json:"kind"`
		Metadata   jobMeta    `json:"metadata"`
		Spec       jobSpec    `json:"spec"`
		Status     *jobStatus `json:"status,omitempty"`
	}
	jobMeta struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		CreationTimestamp string            `json:"creationTimestamp"`
		Labels            map[string]string `json:"labels,omitempty"`
		Annotations       map[string]string `json:"annotations,omitempty"`
	}
	jobSpec struct {
		Type             string         `json:"type"`
		Agent            string         `json:"agent"`
		Cluster          string         `json:"cluster"`
		Namespace        string         `json:"namespace"`
		Job              string         `json:"job"`
		Refs             *jobRefs       `json:"refs,omitempty"`
		ExtraRefs        []jobRefs      `json:"extra_refs,omitempty"`
		Report           bool           `json:"report"`
		Context          string         `json:"context,omitempty"`
		PodSpec          *podSpec       `json:"pod_spec,omitempty"`
		DecorationConfig map[string]any `json:"decoration_config,omitempty"`
	}
	jobRefs struct {
		Org     string `json:"org"`
		Repo    string `json:"repo"`
		BaseRef string `json:"base_ref,omitempty"`
		BaseSHA string `json:"base_sha,omitempty"`
	}
	podSpec struct {
		Containers []container `json:"containers"`
	}
	container struct {
		Name      string         `json:"name"`
		Image     string         `json:"image,omitempty"`
		Command   []string       `json:"command,omitempty"`
		Env       []envVar       `json:"env,omitempty"`
		Resources map[string]any `json:"resources"`
	}
	envVar struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	jobStatus struct {
		StartTime       string `json:"startTime,omitempty"`
		PendingTime     string `json:"pendingTime,omitempty"`
		CompletionTime  string `json:"completionTime,omitempty"`
		State           string `json:"state,omitempty"`
		Description     string `json:"description,omitempty"`
		URL             string `json:"url,omitempty"`
		PodName         string `json:"pod_name,omitempty"`
		BuildID         string `json:"build_id,omitempty"`
		PodRevivalCount int    `json:"pod_revival_count,omitempty"`
	}
)

// deckJob shows one job, read live, as YAML. Whatever fails is 404 (prow, cmd/deck/main.go).
func (w *World) deckJob(c *call) reply {
	id := c.URL.Query().Get("prowjob")
	if id == "" {
		return textReply(http.StatusBadRequest, "request did not provide the 'prowjob' query parameter")
	}
	j, s, ok := w.find(id, c.now)
	if !ok || c.fault.Mode == Lost {
		return textReply(http.StatusNotFound, fmt.Sprintf("ProwJob not found: prowjobs.prow.k8s.io %q not found", id))
	}
	if j.yaml == nil || j.yamlFor != s {
		j.yaml, j.yamlFor = w.encode(w.prowJob(j, s)), s
	}
	return newReply(http.StatusOK, "text/plain; charset=utf-8", j.yaml)
}

func (w *World) encode(p prowJob) []byte {
	raw := marshal(p)
	if w.opts.JSONJobs {
		return raw
	}
	y, err := yaml.JSONToYAML(raw)
	if err != nil {
		return raw
	}
	return y
}

// deckJobs shows the list as it was at the last refresh. A list that cannot be encoded is {}.
func (w *World) deckJobs(c *call) reply {
	if c.fault.Mode == Lost {
		return jsonReply(http.StatusOK, []byte("{}"))
	}
	q := c.URL.Query()
	omit := strings.Split(q.Get("omit"), ",")
	items := []prowJob{}
	for _, j := range w.listed() {
		s, ok := j.seenAt(c.now.Truncate(w.opts.CacheAge))
		if ok && (w.opts.OldDeck || j.inRepo(q.Get("org"), q.Get("repo"))) {
			items = append(items, w.prowJob(j, s).without(omit))
		}
	}
	body := marshal(map[string]any{"items": items})
	if v := q.Get("var"); v != "" {
		return newReply(http.StatusOK, "application/javascript", fmt.Appendf(nil, "var %s = %s;", v, body))
	}
	r := jsonReply(http.StatusOK, body)
	r.header.Set("Cache-Control", "no-cache, no-store, must-revalidate")
	return r
}

// listed returns all jobs, the youngest first, then by name (prow, pkg/deck/jobs/jobs.go).
func (w *World) listed() []*job {
	jobs := slices.Clone(w.jobs)
	slices.SortStableFunc(jobs, func(a, b *job) int {
		if c := b.Start.Compare(a.Start); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return jobs
}

// inRepo reports whether one of the job's refs is of this org and repo; an empty one is no condition.
func (j *job) inRepo(org, repo string) bool {
	if org == "" && repo == "" {
		return true
	}
	all := j.ExtraRefs
	if j.Refs != nil {
		all = append([]prow.Refs{*j.Refs}, all...)
	}
	return slices.ContainsFunc(all, func(r prow.Refs) bool {
		return (org == "" || r.Org == org) && (repo == "" || r.Repo == repo)
	})
}

// without leaves out what the omit parameter names. Of the pod spec, empty containers stay.
func (p prowJob) without(omit []string) prowJob {
	for _, field := range omit {
		switch field {
		case "annotations":
			p.Metadata.Annotations = nil
		case "labels":
			p.Metadata.Labels = nil
		case "decoration_config":
			p.Spec.DecorationConfig = nil
		case "pod_spec":
			p.Spec.PodSpec = &podSpec{Containers: []container{{Resources: map[string]any{}}}}
		}
	}
	return p
}

func (w *World) prowJob(j *job, s status) prowJob {
	spec := jobSpec{
		Type: string(j.Type), Agent: "kubernetes", Cluster: j.Cluster, Namespace: "ci", Job: j.Name,
		Report: true, Context: j.context(), PodSpec: j.podSpec(),
		DecorationConfig: map[string]any{"gcs_configuration": map[string]any{"bucket": Bucket, "path_strategy": "single"}},
	}
	if j.Refs != nil {
		spec.Refs = (*jobRefs)(j.Refs)
	}
	for _, r := range j.ExtraRefs {
		spec.ExtraRefs = append(spec.ExtraRefs, jobRefs(r))
	}
	return prowJob{
		APIVersion: "prow.k8s.io/v1", Kind: "ProwJob", Spec: spec, Status: w.jobStatus(j, s),
		Metadata: jobMeta{
			Name: j.ID, Namespace: "ci", CreationTimestamp: kubeTime(j.Start),
			Labels: j.Labels, Annotations: j.Annotations,
		},
	}
}

func (j *job) podSpec() *podSpec {
	test := container{
		Image:     "ci-operator:latest",
		Command:   []string{"ci-operator"},
		Resources: map[string]any{"requests": map[string]any{"cpu": "10m"}},
	}
	for _, k := range slices.Sorted(maps.Keys(j.Envs)) {
		test.Env = append(test.Env, envVar{k, j.Envs[k]})
	}
	return &podSpec{Containers: []container{test}}
}

func (w *World) jobStatus(j *job, s status) *jobStatus {
	out := &jobStatus{
		StartTime: kubeTime(j.Start), PendingTime: kubeTime(s.Pending), CompletionTime: kubeTime(s.Completed),
		State: string(s.State), Description: s.Description, PodRevivalCount: max(0, s.Pod-1),
	}
	if out.BuildID, out.URL = w.link(j, s); out.BuildID != "" {
		out.PodName = j.ID
	}
	return out
}
