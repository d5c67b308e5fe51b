package gate

import (
	"encoding/json"
	"time"
)

// Gating asks for one attempt of one gating step: run a Prow job and report its verdict. Decode it with
// ParseGating, which applies the defaults and the rules.
type Gating struct {
	GateID                  string            `json:"gateId"`
	JobName                 string            `json:"jobName"`
	Cloud                   string            `json:"cloud"`
	Environment             string            `json:"environment"`
	Region                  string            `json:"region"`
	AllowedSubscriptions    string            `json:"allowedSubscriptions,omitempty"`
	Labels                  map[string]string `json:"labels,omitempty"`
	Annotations             map[string]string `json:"annotations,omitempty"`
	Envs                    map[string]string `json:"envs,omitempty"`
	EV2RolloutVersion       string            `json:"ev2RolloutVersion,omitempty"`
	BaseSHA                 string            `json:"baseSha,omitempty"`
	Org                     string            `json:"org,omitempty"`
	Repo                    string            `json:"repo,omitempty"`
	BaseRef                 string            `json:"baseRef,omitempty"`
	ExecutionID             string            `json:"executionId,omitempty"`
	PollInterval            Duration          `json:"pollInterval,omitempty"`
	Timeout                 Duration          `json:"timeout,omitempty"`
	GatePromotion           bool              `json:"gatePromotion"`
	AllowEV2Retry           bool              `json:"allowEv2Retry"`
	MaxEV2AutoRetryFailures int               `json:"maxEv2AutoRetryFailures,omitempty"`
	AbortOnCancel           bool              `json:"abortOnCancel"`
	DryRun                  bool              `json:"dryRun"`
}

// Duration is a time.Duration that travels as a Go duration string, "60s".
type Duration time.Duration

// MarshalText returns the duration string.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText parses a duration string.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// CancelRequest asks to end a gate (or, with an execution id alone, a job that no gate owns). Decode
// it with ParseCancel.
type CancelRequest struct {
	GateID      string `json:"gateId,omitempty"`
	ExecutionID string `json:"executionId,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// Tick is the poll message: look at this gate again. Exactly one of GateID and ExecutionID is set; the
// latter names an abort that no gate owns. Only the record's current sequence number acts.
type Tick struct {
	GateID      string `json:"gateId,omitempty"`
	ExecutionID string `json:"executionId,omitempty"`
	Seq         int    `json:"seq"`
}

// Kind tells a progress message from the one final verdict.
type Kind string

// The kinds of message on the completion queue.
const (
	KindProgress   Kind = "progress"
	KindCompletion Kind = "completion"
)

// Outcome is how a gate ended.
type Outcome string

// The outcomes of a gate.
const (
	Succeeded        Outcome = "succeeded"
	Failed           Outcome = "failed"
	Errored          Outcome = "errored"
	Aborted          Outcome = "aborted"
	TimedOut         Outcome = "timed-out"
	Cancelled        Outcome = "cancelled"
	Rejected         Outcome = "rejected"
	SubmissionFailed Outcome = "submit-failed"
	DryRun           Outcome = "dry-run"
)

// Retry says whether EV2 may retry the step once, and why.
type Retry string

// The results of the classification.
const (
	NotEligible               Retry = "not-eligible"
	KnownIssueEligible        Retry = "known-issue-eligible"
	InfraPreconditionEligible Retry = "infra-precondition-eligible"
)

// AbortOutcome is what became of the abort of a cancelled gate's job.
type AbortOutcome string

// The outcomes of an abort.
const (
	AbortDone      AbortOutcome = "aborted"    // confirmed: the job was seen in state aborted after our call
	AbortNotNeeded AbortOutcome = "not-needed" // there was no job, or it ended by itself
	AbortSkipped   AbortOutcome = "skipped"    // the guard never allowed it
	AbortFailed    AbortOutcome = "failed"     // refused, or not confirmed
	AbortDisabled  AbortOutcome = "disabled"   // abortOnCancel is false
)

// AbortReport is the abort part of a message.
type AbortReport struct {
	Outcome AbortOutcome `json:"outcome"`
	Reason  string       `json:"reason,omitempty"`
}

// Notice is a message on the completion queue. Times are RFC 3339 in UTC.
type Notice struct {
	Kind        Kind         `json:"kind"`
	GateID      string       `json:"gateId,omitempty"`
	JobName     string       `json:"jobName,omitempty"`
	Region      string       `json:"region,omitempty"`
	ExecutionID string       `json:"executionId,omitempty"`
	JobURL      string       `json:"jobUrl,omitempty"`
	State       string       `json:"state,omitempty"`
	Text        string       `json:"text,omitempty"` // progress only: one line for the step's log
	Outcome     Outcome      `json:"outcome,omitempty"`
	Passed      bool         `json:"passed"`
	Error       string       `json:"error"`
	Retry       Retry        `json:"retry,omitempty"`
	Marker      string       `json:"marker"`
	FailedTests []string     `json:"failedTests,omitempty"`
	Abort       *AbortReport `json:"abort,omitempty"`
	SubmittedAt *time.Time   `json:"submittedAt,omitempty"`
	StartedAt   *time.Time   `json:"startedAt,omitempty"`
	CompletedAt *time.Time   `json:"completedAt,omitempty"`
	SentAt      time.Time    `json:"sentAt"`
}

// MarshalJSON leaves out of a progress message what only a completion says.
func (n Notice) MarshalJSON() ([]byte, error) {
	type plain Notice
	if n.Kind == KindCompletion {
		return json.Marshal(plain(n))
	}
	return json.Marshal(struct {
		plain
		Passed *bool   `json:"passed,omitempty"`
		Error  *string `json:"error,omitempty"`
		Marker *string `json:"marker,omitempty"`
	}{plain: plain(n)})
}

// View is a gate as `/api/gates` shows it, every field always there. It never holds a marker.
type View struct {
	GateID      string       `json:"gateId"`
	Phase       Phase        `json:"phase"`
	Outcome     Outcome      `json:"outcome"`
	JobName     string       `json:"jobName"`
	Region      string       `json:"region"`
	ExecutionID string       `json:"executionId"`
	JobURL      string       `json:"jobUrl"`
	State       string       `json:"state"`
	Abort       *AbortReport `json:"abort"`
	Timeline    []Moment     `json:"timeline"`
}

// Moment is one entry of a gate's timeline.
type Moment struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"` // one word: accepted, submitted, state, cancel, abort, completion, ...
	Text  string    `json:"text"`
}

// Phase is where a gate stands. It only moves forward, except that a submission that surely did not
// happen goes back from submitting to accepted.
type Phase string

// The phases of a gate.
const (
	PhaseNone       Phase = ""           // a tombstone: cancelled before its gating message came
	PhaseAccepted   Phase = "accepted"   // validated; waiting for its turn at Gangway
	PhaseSubmitting Phase = "submitting" // a POST is claimed, under way, or of unclear result
	PhaseRunning    Phase = "running"    // has an execution id
	PhaseConcluding Phase = "concluding" // the job failed; its artifacts are being read
	PhaseDone       Phase = "done"       // the verdict is stored
)
