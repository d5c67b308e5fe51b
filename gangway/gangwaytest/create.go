package gangwaytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"prowgate/gangway/prow"
)

const (
	defaultCluster    = "build05"
	maxAnnotationSize = 256 << 10 // of keys and values together (Kubernetes)
	maxLabelValue     = 63
)

// create makes a job. It knows no idempotency key: the same request makes another one.
func (w *World) create(c *call) reply {
	var req createRequest
	if err := json.Unmarshal(c.body, &req); err != nil {
		return grpcError(invalidArgument, "%v", err)
	}
	kind, err := req.JobExecutionType.name(typeNames())
	if err != nil {
		return grpcError(invalidArgument, "%v", err)
	}
	if err := req.validate(kind); err != nil {
		return grpcError(invalidArgument, "%v", err)
	}
	j, err := w.newJob(&req, kind, c.now.Add(c.fault.Delay))
	if err != nil {
		return grpcError(unknown, "%v", err)
	}
	w.add(j)
	c.changed = true
	// The answer says TRIGGERED whatever state the job starts in, and repeats the request.
	return jsonReply(http.StatusOK, marshal(execution{
		ID: j.ID, JobName: req.JobName, JobType: kind, JobStatus: "TRIGGERED",
		Refs: req.Refs, PodSpecOptions: req.PodSpecOptions,
	}))
}

// validate is CreateJobExecutionRequest.Validate of pkg/gangway/gangway.go.
func (r *createRequest) validate(kind string) error {
	if r.JobName == "" {
		return fmt.Errorf("job_name field cannot be empty")
	}
	if kind == typeNames()[0] {
		return fmt.Errorf("unsupported JobExecutionType: %s", kind)
	}
	if err := r.validateRefs(kind); err != nil {
		return err
	}
	if r.PodSpecOptions == nil {
		return nil
	}
	return r.PodSpecOptions.validate()
}

func (r *createRequest) validateRefs(kind string) error {
	if kind == "PERIODIC" {
		if r.Refs != nil {
			return fmt.Errorf("periodic jobs cannot also have gitRefs")
		}
		return nil
	}
	if r.Refs == nil {
		return fmt.Errorf("gitRefs must be defined for %q", kind)
	}
	for _, f := range []struct{ name, value string }{
		{"Org", r.Refs.Org}, {"Repo", r.Refs.Repo}, {"BaseRef", r.Refs.BaseRef}, {"BaseSha", r.Refs.BaseSHA},
	} {
		if f.value == "" {
			return fmt.Errorf("gitRefs: failed to validate: gitRefs: %s cannot be empty", f.name)
		}
	}
	for _, p := range r.Refs.Pulls {
		if !isCommit(p.SHA) {
			return fmt.Errorf("gitRefs: failed to validate: pull: invalid SHA: %q", p.SHA)
		}
	}
	return nil
}

// isCommit reports whether sha has the form that is asked of a pull's commit, though not of base_sha.
func isCommit(sha string) bool {
	return len(sha) == 40 && strings.Trim(sha, "0123456789abcdef") == ""
}

func (o *podOptions) validate() error {
	for _, m := range []struct {
		what   string
		values map[string]string
	}{{"environment variable", o.Envs}, {"label", o.Labels}, {"annotation", o.Annotations}} {
		for _, k := range slices.Sorted(maps.Keys(m.values)) {
			if k == "" || m.values[k] == "" {
				return fmt.Errorf("invalid %s key/value pair: %q, %q", m.what, k, m.values[k])
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(o.Labels)) {
		if errs := validation.IsValidLabelValue(o.Labels[k]); len(errs) > 0 {
			return fmt.Errorf("invalid label: the following errors found: %q", errs)
		}
	}
	return nil
}

// newJob is HandleProwJob of pkg/gangway/gangway.go; its errors have no gRPC code.
func (w *World) newJob(req *createRequest, kind string, at time.Time) (*job, error) {
	script, err := w.configured(req, kind)
	if err != nil {
		return nil, err
	}
	j := &job{
		ID: w.opts.NewID(), Name: req.JobName, Type: prow.JobType(strings.ToLower(kind)),
		ExtraRefs: script.ExtraRefs, Script: script, Created: at,
	}
	if r := req.Refs; r != nil {
		j.Refs = &prow.Refs{Org: r.Org, Repo: r.Repo, BaseRef: r.BaseRef, BaseSHA: r.BaseSHA}
	}
	var labels map[string]string
	if o := req.PodSpecOptions; o != nil {
		labels, j.Annotations, j.Envs = o.Labels, o.Annotations, o.Envs
	}
	j.finish(labels)
	return j, j.admit()
}

// configured looks a job's script up as Gangway does its configuration.
func (w *World) configured(req *createRequest, kind string) (Script, error) {
	lower := strings.ToLower(kind)
	switch {
	case kind == "PERIODIC", kind == "POSTSUBMIT":
	case kind == "PRESUBMIT" && len(req.Refs.Pulls) == 0:
		return Script{}, fmt.Errorf("at least 1 Pulls is required")
	case kind != "PRESUBMIT":
		return Script{}, fmt.Errorf("unsupported JobExecutionType type: %s", kind)
	}
	s, ok := w.script(req.JobName)
	if ok && (kind == "PERIODIC" || len(s.Branches) == 0 || slices.Contains(s.Branches, req.Refs.BaseRef)) {
		return s, nil
	}
	if kind == "PERIODIC" {
		return Script{}, fmt.Errorf("failed to find associated %s job %q", lower, req.JobName)
	}
	return Script{}, fmt.Errorf("failed to find associated %s job %q from orgRepo %q",
		lower, req.JobName, req.Refs.Org+"/"+req.Refs.Repo)
}

// finish fills in what follows from the other fields.
func (j *job) finish(labels map[string]string) {
	j.Start = j.Created.Truncate(time.Second)
	j.Script.Steps = sortedSteps(j.Script.Steps)
	if j.Cluster == "" {
		j.Cluster = j.Script.Cluster
	}
	if j.Cluster == "" {
		j.Cluster = defaultCluster
	}
	j.Labels = j.labels(labels)
	annotations := map[string]string{prow.LabelJob: j.Name, "prow.k8s.io/context": j.context()}
	maps.Copy(annotations, j.Annotations)
	j.Annotations = annotations
}

func (j *job) context() string {
	if j.Type == prow.Periodic {
		return ""
	}
	return j.Name
}

// labels is LabelsAndAnnotationsForSpec of pkg/pod-utils/decorate/podspec.go: the caller's labels win,
// also over those the server selects by.
func (j *job) labels(callers map[string]string) map[string]string {
	labels := map[string]string{
		"created-by-prow":     "true",
		prow.LabelType:        string(j.Type),
		prow.LabelJob:         cutLabel(j.Name),
		"prow.k8s.io/context": cutLabel(j.context()),
	}
	refs := j.Refs
	if refs == nil && len(j.ExtraRefs) > 0 {
		refs = &j.ExtraRefs[0]
	}
	if refs != nil {
		labels[prow.LabelOrg], labels[prow.LabelRepo] = refs.Org, refs.Repo
		labels["prow.k8s.io/refs.base_ref"] = refs.BaseRef
	}
	maps.Copy(labels, callers)
	for k, v := range labels {
		if len(validation.IsValidLabelValue(v)) == 0 {
			continue
		}
		delete(labels, k)
		if base := path.Base(v); len(validation.IsValidLabelValue(base)) == 0 {
			labels[k] = base
		}
	}
	return labels
}

func cutLabel(v string) string {
	if len(v) <= maxLabelValue {
		return v
	}
	return strings.TrimRight(v[:maxLabelValue], "._-")
}

// admit is what the API server refuses when the ProwJob is stored.
func (j *job) admit() error {
	for _, k := range slices.Sorted(maps.Keys(j.Labels)) {
		if errs := validation.IsQualifiedName(k); len(errs) > 0 {
			return fmt.Errorf("ProwJob.prow.k8s.io %q is invalid: metadata.labels: Invalid value: %q: %s", j.ID, k, errs[0])
		}
	}
	size := 0
	for _, k := range slices.Sorted(maps.Keys(j.Annotations)) {
		size += len(k) + len(j.Annotations[k])
		if errs := validation.IsQualifiedName(strings.ToLower(k)); len(errs) > 0 {
			return fmt.Errorf("ProwJob.prow.k8s.io %q is invalid: metadata.annotations: Invalid value: %q: %s", j.ID, k, errs[0])
		}
	}
	if size > maxAnnotationSize {
		return fmt.Errorf("ProwJob.prow.k8s.io %q is invalid: metadata.annotations: Too long: may not be more than %d bytes", j.ID, maxAnnotationSize)
	}
	return nil
}
