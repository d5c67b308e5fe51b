package gangway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"prowgate/gangway/prow"
)

var errNotProwJob = errors.New("not a ProwJob: it has no metadata.name")

// wireJob is a ProwJob as Kubernetes writes it (prow, pkg/apis/prowjobs/v1/types.go), the parts read here.
type wireJob struct {
	Metadata struct {
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Type      string     `json:"type"`
		Job       string     `json:"job"`
		Cluster   string     `json:"cluster"`
		Refs      *wireRefs  `json:"refs"`
		ExtraRefs []wireRefs `json:"extra_refs"`
	} `json:"spec"`
	Status struct {
		StartTime      *time.Time `json:"startTime"`
		CompletionTime *time.Time `json:"completionTime"`
		State          string     `json:"state"`
		Description    string     `json:"description"`
		URL            string     `json:"url"`
		BuildID        string     `json:"build_id"`
	} `json:"status"`
}

type wireRefs struct {
	Org     string `json:"org"`
	Repo    string `json:"repo"`
	BaseRef string `json:"base_ref"`
	BaseSHA string `json:"base_sha"`
}

// ParseProwJob reads a ProwJob as YAML or JSON: Deck's answer about one job, and prowjob.json of a run's
// artifacts. A time that is none is an error and not a missing time, because whoever compares start times
// would overlook the job.
func ParseProwJob(body []byte) (prow.Job, error) {
	var w wireJob
	decode := func() error { return yaml.Unmarshal(body, &w) }
	if json.Valid(body) { // prowjob.json, and ten times cheaper
		decode = func() error { return json.Unmarshal(body, &w) }
	}
	if err := decode(); err != nil {
		return prow.Job{}, fmt.Errorf("not a ProwJob: %w", err)
	}
	return w.job()
}

// Bounds of what a ProwJob may say: Kubernetes' own for a name, and what no Prow has ever exceeded for the
// rest. What lies beyond is no ProwJob, and must not get into records and messages that have bounds too.
const (
	maxName = 253
	maxURL  = 2048
)

// check reports what makes w unfit to be believed.
func (w wireJob) check() error {
	switch {
	case w.Metadata.Name == "":
		return errNotProwJob
	case !validID(w.Metadata.Name):
		return errors.New("not a ProwJob: its metadata.name is no name")
	case len(w.Spec.Job) > maxName || len(w.Status.State) > maxName || len(w.Spec.Cluster) > maxName:
		return errors.New("not a ProwJob: a name in it is longer than names may be")
	case len(w.Status.URL) > maxURL:
		return errors.New("not a ProwJob: its URL is too long")
	case !plausible(w.Status.StartTime) || !plausible(w.Status.CompletionTime):
		return errors.New("not a ProwJob: a time in it lies outside the years 2000 to 2200")
	}
	return nil
}

func plausible(t *time.Time) bool {
	return t == nil || t.IsZero() || t.UTC().Year() >= 2000 && t.UTC().Year() <= 2200
}

func (w wireJob) job() (prow.Job, error) {
	if err := w.check(); err != nil {
		return prow.Job{}, err
	}
	return prow.Job{
		ID:             w.Metadata.Name,
		Name:           w.Spec.Job,
		Type:           prow.JobType(w.Spec.Type),
		State:          prow.State(w.Status.State),
		Cluster:        w.Spec.Cluster,
		Refs:           w.Spec.Refs.refs(),
		ExtraRefs:      allRefs(w.Spec.ExtraRefs),
		Labels:         w.Metadata.Labels,
		Annotations:    w.Metadata.Annotations,
		StartTime:      orZero(w.Status.StartTime),
		CompletionTime: orZero(w.Status.CompletionTime),
		URL:            w.Status.URL,
		BuildID:        w.Status.BuildID,
		Description:    w.Status.Description,
	}, nil
}

func (r *wireRefs) refs() *prow.Refs {
	if r == nil {
		return nil
	}
	return &prow.Refs{Org: r.Org, Repo: r.Repo, BaseRef: r.BaseRef, BaseSHA: r.BaseSHA}
}

func allRefs(from []wireRefs) []prow.Refs {
	var to []prow.Refs
	for _, r := range from {
		to = append(to, *r.refs())
	}
	return to
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
