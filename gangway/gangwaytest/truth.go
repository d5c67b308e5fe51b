package gangwaytest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"prowgate/gangway/prow"
)

// Job is the truth about a job that was created, whether or not any surface shows it.
type Job struct {
	prow.Job
	Envs      map[string]string
	CreatedAt time.Time // exact; later than now when a fault delays the creation
	Foreign   bool      // not made through Gangway
	Changes   []Change  // from outside, in order of time, the failed ones too
}

// Request is one that reached Gangway, the ones refused by the rate limit included.
type Request struct {
	At       time.Time
	Endpoint Endpoint
	Status   int // what was answered; 0 when no answer was given
}

// Jobs returns all jobs ever created, in order, as they are now.
func (w *World) Jobs() []Job {
	var jobs []Job
	w.locked(func(now time.Time) {
		for _, j := range w.jobs {
			jobs = append(jobs, w.truth(j, now))
		}
	})
	return jobs
}

func (w *World) truth(j *job, now time.Time) Job {
	s := j.at(now, nil)
	out := Job{
		Job: prow.Job{
			ID: j.ID, Name: j.Name, Type: j.Type, State: s.State, Cluster: j.Cluster,
			ExtraRefs: slices.Clone(j.ExtraRefs), Labels: maps.Clone(j.Labels), Annotations: maps.Clone(j.Annotations),
			StartTime: j.Start, CompletionTime: s.Completed, Description: s.Description,
		},
		Envs: maps.Clone(j.Envs), CreatedAt: j.Created, Foreign: j.Foreign, Changes: slices.Clone(j.Changes),
	}
	if j.Refs != nil {
		refs := *j.Refs
		out.Refs = &refs
	}
	out.BuildID, out.URL = w.link(j, s)
	return out
}

// Requests returns the requests that reached Gangway, in order.
func (w *World) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Count returns how many requests of an endpoint there were, the ones that went wrong included.
func (w *World) Count(e Endpoint) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[e]
}

// Foreign is a job that somebody else starts, past Gangway.
type Foreign struct {
	JobName   string            `json:"jobName"`
	Type      prow.JobType      `json:"type"`
	Refs      *prow.Refs        `json:"refs,omitempty"`
	ExtraRefs []prow.Refs       `json:"extraRefs,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Cluster   string            `json:"cluster,omitempty"`
	Start     time.Time         `json:"start,omitzero"`   // its start second; zero: now
	Script    *Script           `json:"script,omitempty"` // nil: Hanging
}

// AddForeign creates a job of somebody else and returns its id. A start second in the past is shown as
// such, but the job is there from now on only; one in the future makes it appear then.
func (w *World) AddForeign(f Foreign) string {
	var id string
	w.change(func(now time.Time) { id = w.foreign(f, now) })
	return id
}

func (w *World) foreign(f Foreign, now time.Time) string {
	script := Hanging()
	if f.Script != nil {
		script = *f.Script
	}
	j := &job{
		ID: w.opts.NewID(), Name: f.JobName, Type: f.Type, Refs: f.Refs, ExtraRefs: f.ExtraRefs,
		Cluster: f.Cluster, Foreign: true, Script: script, Created: now,
	}
	if j.ExtraRefs == nil {
		j.ExtraRefs = script.ExtraRefs
	}
	if f.Start.After(now) {
		j.Created = f.Start
	}
	j.finish(f.Labels)
	if !f.Start.IsZero() {
		j.Start = f.Start.Truncate(time.Second)
	}
	w.add(j)
	return j.ID
}

// Move changes a job's state by hand, now. A terminal state ends it.
func (w *World) Move(id string, state prow.State, description string) error {
	var ok bool
	w.locked(func(now time.Time) { ok = w.move(id, state, description, now) })
	if !ok {
		return fmt.Errorf("no job %q", id)
	}
	w.changed()
	return nil
}

func (w *World) move(id string, state prow.State, description string, now time.Time) bool {
	j, s, ok := w.find(id, now)
	if ok {
		j.Changes = append(j.Changes, Change{At: now, From: s.State, State: state, Description: description})
	}
	return ok
}
