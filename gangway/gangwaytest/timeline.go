package gangwaytest

import (
	"hash/fnv"
	"strconv"
	"time"

	"prowgate/gangway/prow"
)

// job is what is stored of a ProwJob. Everything else about it follows from these fields and the time.
type job struct {
	ID          string
	Name        string
	Type        prow.JobType
	Refs        *prow.Refs
	ExtraRefs   []prow.Refs
	Labels      map[string]string
	Annotations map[string]string
	Envs        map[string]string
	Cluster     string
	Start       time.Time // whole second (Kubernetes times)
	Created     time.Time // from when on it is there
	Foreign     bool      // not made through Gangway
	Script      Script
	Changes     []Change // in order of time
	Lost        int      // how many bulk changes failed on a conflict
	Overwritten int      // how many were undone

	yaml    []byte // what /prowjob answered last,
	yamlFor status // and for which status
}

// Change is something that was done to a job from outside.
type Change struct {
	At          time.Time  `json:"at"`
	From        prow.State `json:"from"`
	State       prow.State `json:"state"`
	Description string     `json:"description,omitempty"`
	Bulk        int        `json:"bulk,omitempty"`   // number of the bulk change request; 0: changed by hand
	Until       time.Time  `json:"until,omitzero"`   // when plank's patch undid it; zero: it stays
	Failed      bool       `json:"failed,omitempty"` // an update conflict: nothing was changed
}

// status is a ProwJob's status at some time.
type status struct {
	State       prow.State
	Description string
	Pod         int // number of pods so far
	Pending     time.Time
	Completed   time.Time
}

// history is what has happened to a job's pods.
type history struct {
	pods []time.Time // when each was started
	cut  time.Time   // when a change from outside stopped the last one; zero: none did
}

// seenAt returns the job's status at t; ok is false when it is not there yet, or there no more: sinker
// deletes what is complete and was started more than a day ago (prow, cmd/sinker/main.go).
func (j *job) seenAt(t time.Time) (s status, ok bool) {
	if t.Before(j.Created) {
		return status{}, false
	}
	s = j.at(t, nil)
	gone := !s.Completed.IsZero() && t.Sub(j.Start) > maxJobAge
	return s, !gone
}

// at plays the script and the changes up to t. A nil h is not filled.
func (j *job) at(t time.Time, h *history) status {
	s := status{State: j.Script.StartState}
	if s.State == "" {
		s.State = prow.Triggered
	}
	steps, changes := j.Script.Steps, j.Changes
	for {
		stepDue := len(steps) > 0 && !j.Created.Add(steps[0].After).After(t)
		changeDue := len(changes) > 0 && !changes[0].At.After(t)
		switch {
		case stepDue && (!changeDue || !j.Created.Add(steps[0].After).After(changes[0].At)):
			j.step(&s, h, steps[0], t)
			steps = steps[1:]
		case changeDue:
			j.changed(&s, h, changes[0], t)
			changes = changes[1:]
		default:
			return s
		}
	}
}

func (j *job) step(s *status, h *history, step Step, t time.Time) {
	if s.State.Terminal() {
		return
	}
	at := j.Created.Add(step.After)
	if step.State != "" {
		s.State = step.State
	}
	if step.Description != "" {
		s.Description = step.Description
	}
	// Plank gives a job its build id and URL together with its pod, in the step to pending.
	first := s.Pod == 0 && (s.State == prow.Pending || s.State == prow.Success || s.State == prow.Failure)
	if (first || step.Revive) && !j.Script.NoURL {
		s.Pod++
		s.Pending = at
		if h != nil {
			h.pods = append(h.pods, at)
		}
	}
	j.complete(s, at, t)
}

func (j *job) changed(s *status, h *history, c Change, t time.Time) {
	undone := !c.Until.IsZero() && !t.Before(c.Until)
	if c.Failed || undone {
		return
	}
	s.State = c.State
	if c.Description != "" {
		s.Description = c.Description
	}
	if h != nil && h.cut.IsZero() && c.State.Terminal() && s.Completed.IsZero() {
		h.cut = c.At
	}
	s.Completed = time.Time{}
	j.complete(s, c.At, t)
}

func (j *job) complete(s *status, at, t time.Time) {
	if !s.State.Terminal() {
		return
	}
	if s.State != prow.Aborted {
		s.Completed = at
		return
	}
	if stopped := at.Add(stopDelay); !j.Script.AbortedWithoutCompletion && !stopped.After(t) {
		s.Completed = stopped
	}
}

// buildID returns the id of the job's n-th build, 19 digits, the same whenever it is asked.
func (j *job) buildID(n int) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(j.ID + "/" + strconv.Itoa(n)))
	return strconv.FormatUint(1_900_000_000_000_000_000+h.Sum64()%100_000_000_000_000_000, 10)
}

// path returns the folder of the job's n-th build in the bucket.
func (j *job) path(n int) string { return "logs/" + j.Name + "/" + j.buildID(n) }

// link returns the build id and URL that a status shows, both empty before there is a pod.
func (w *World) link(j *job, s status) (buildID, url string) {
	if s.Pod == 0 {
		return "", ""
	}
	return j.buildID(s.Pod - 1), w.opts.BaseURL + "/view/gs/" + Bucket + "/" + j.path(s.Pod-1)
}
