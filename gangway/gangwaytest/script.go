package gangwaytest

import (
	"encoding/json"
	"fmt"
	"time"

	"prowgate/gangway/prow"
)

// Script is what a job does by itself, in time since its creation. The zero Script waits in state
// triggered for ever. Scripts travel as JSON; a World never changes one.
type Script struct {
	StartState prow.State  `json:"startState,omitempty"` // "": triggered
	Steps      []Step      `json:"steps,omitempty"`
	Artifacts  []Artifact  `json:"artifacts,omitempty"`
	ExtraRefs  []prow.Refs `json:"extraRefs,omitempty"` // of the job's configuration; a periodic's org and repo labels come from the first
	Branches   []string    `json:"branches,omitempty"`  // the job runs on these only; empty: on all
	Cluster    string      `json:"cluster,omitempty"`   // "": a build farm cluster

	NoURL                    bool `json:"noURL,omitempty"`                    // the job never gets a URL, a build id, or artifacts
	AbortedWithoutCompletion bool `json:"abortedWithoutCompletion,omitempty"` // once aborted, the pod never stops
	LostChanges              int  `json:"lostChanges,omitempty"`              // so many bulk changes fail on an update conflict, without a word
	OverwrittenChanges       int  `json:"overwrittenChanges,omitempty"`       // after those, so many are undone 2 s later by plank's own patch
}

// Step changes a job's status at a time after its creation. A job that has ended takes no more steps.
type Step struct {
	After       time.Duration `json:"-"`
	State       prow.State    `json:"state,omitempty"` // "": as before
	Description string        `json:"description,omitempty"`
	Revive      bool          `json:"revive,omitempty"` // a new pod: another build id and URL
}

// Artifact is an object that appears in the job's folder of the bucket at a time after its creation.
// A later one of the same path replaces it. In Body, $TIMESTAMP stands for the Unix second of its
// appearance.
type Artifact struct {
	After time.Duration `json:"-"`
	Path  string        `json:"path"` // relative to the run's root
	Body  string        `json:"body"`
	Gzip  bool          `json:"gzip,omitempty"` // stored compressed, and sent so to those who accept it
}

// pods returns how many pods the script may start.
func (s Script) pods() int {
	n := 1
	for _, step := range s.Steps {
		if step.Revive {
			n++
		}
	}
	return n
}

// span is a duration that travels as a Go duration string.
type span time.Duration

func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = span(d)
	return err
}

type (
	plainStep     Step
	plainArtifact Artifact
	stepJSON      struct {
		After span `json:"after"`
		plainStep
	}
	artifactJSON struct {
		After span `json:"after"`
		plainArtifact
	}
)

// MarshalJSON writes the time as a duration string, "after": "1m30s".
func (s Step) MarshalJSON() ([]byte, error) {
	return json.Marshal(stepJSON{span(s.After), plainStep(s)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Step) UnmarshalJSON(raw []byte) error {
	var j stepJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return fmt.Errorf("step: %w", err)
	}
	*s = Step(j.plainStep)
	s.After = time.Duration(j.After)
	return nil
}

// MarshalJSON writes the time as a duration string, "after": "1m30s".
func (a Artifact) MarshalJSON() ([]byte, error) {
	return json.Marshal(artifactJSON{span(a.After), plainArtifact(a)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Artifact) UnmarshalJSON(raw []byte) error {
	var j artifactJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	*a = Artifact(j.plainArtifact)
	a.After = time.Duration(j.After)
	return nil
}
