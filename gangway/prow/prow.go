// Package prow holds the words of Prow that prowgate thinks in: a job, its state, its refs, a listing.
// They carry no technology: the clients in package gangway fill them, package gate decides on them.
//
// Entry point: Job.
package prow

import "time"

// State is a ProwJob's status.state. Values that are not listed here occur (an empty one, or one of a
// newer Prow) and are never terminal.
type State string

// The states of a ProwJob (kubernetes-sigs/prow, pkg/apis/prowjobs/v1/types.go).
const (
	Scheduling State = "scheduling"
	Triggered  State = "triggered"
	Pending    State = "pending"
	Success    State = "success"
	Failure    State = "failure"
	Aborted    State = "aborted"
	Errored    State = "error"
)

// Terminal reports whether a job in this state has ended. An aborted job has ended even while its pod
// still stops and no completion time is set (prow, pkg/plank).
func (s State) Terminal() bool {
	switch s {
	case Success, Failure, Aborted, Errored:
		return true
	}
	return false
}

// JobType is a ProwJob's spec.type.
type JobType string

// The job types of Prow.
const (
	Periodic   JobType = "periodic"
	Postsubmit JobType = "postsubmit"
	Presubmit  JobType = "presubmit"
	Batch      JobType = "batch"
)

// Labels and annotations that Prow itself sets and selects by (prow, pkg/kube/prowjob.go).
const (
	LabelJob  = "prow.k8s.io/job"
	LabelType = "prow.k8s.io/type"
	LabelOrg  = "prow.k8s.io/refs.org"
	LabelRepo = "prow.k8s.io/refs.repo"
)

// Refs names the code a job runs on.
type Refs struct {
	Org, Repo, BaseRef, BaseSHA string
}

// Job is a ProwJob as Deck shows it.
type Job struct {
	ID             string // metadata.name, which is Gangway's execution id
	Name           string // spec.job, uncut
	Type           JobType
	State          State
	Cluster        string
	Refs           *Refs
	ExtraRefs      []Refs
	Labels         map[string]string
	Annotations    map[string]string
	StartTime      time.Time // whole seconds, the creation time; zero when not set
	CompletionTime time.Time // zero when not set
	URL            string    // status.url, may change when a pod is revived; may be empty
	BuildID        string
	Description    string
}

// Selector returns the type, org and repo by which Gangway's bulk change selects this job: its labels
// where it has them, for they are what the server reads; otherwise its refs or first extra ref, from
// which Prow makes the labels (prow, pkg/pod-utils/decorate/podspec.go).
func (j Job) Selector() (t JobType, org, repo string) {
	t, org, repo = j.Type, "", ""
	refs := j.Refs
	if refs == nil && len(j.ExtraRefs) > 0 {
		refs = &j.ExtraRefs[0]
	}
	if refs != nil {
		org, repo = refs.Org, refs.Repo
	}
	if v := j.Labels[LabelType]; v != "" {
		t = JobType(v)
	}
	if v := j.Labels[LabelOrg]; v != "" {
		org = v
	}
	if v := j.Labels[LabelRepo]; v != "" {
		repo = v
	}
	return t, org, repo
}

// Listing is an answer of Deck's job list.
type Listing struct {
	At   time.Time // the answer's Date header: Deck's clock, whole seconds; zero when it sent none
	Jobs []Job     // those the caller asked to keep
	Seen int       // how many the answer held in all
}

// Submission is a job to be created through Gangway.
type Submission struct {
	JobName     string            `json:"jobName"`
	Type        JobType           `json:"type"` // Periodic without refs, Postsubmit with refs
	Refs        *Refs             `json:"refs,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Envs        map[string]string `json:"envs,omitempty"`
}

// Abort is a bulk change from one state to aborted, as narrow as Gangway allows: it selects by type,
// org, repo, cluster, state and start second, and not by job name (prow, pkg/gangway/gangway.go).
type Abort struct {
	Current   State
	Type      JobType
	Org, Repo string
	Cluster   string
	Start     time.Time // whole second; window is [Start, Start], both inclusive
}
