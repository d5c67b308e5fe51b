package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"prowgate/gangway/prow"
)

// Keys of records in the store.
const (
	KeyPrefix      = "gate:"  // followed by the gate id
	AbortKeyPrefix = "abort:" // followed by the execution id of a job that no gate owns
)

// Record is all that is known of one gate between two messages. An abort of a job that no gate owns
// has a record too, without a gate id.
type Record struct {
	GateID      string     `json:"gateId,omitempty"`
	Gating      Gating     `json:"gating"`
	Phase       Phase      `json:"phase"`
	Turn        Turn       `json:"turn"`
	ExecutionID string     `json:"executionId,omitempty"`
	State       prow.State `json:"state,omitempty"`
	JobURL      string     `json:"jobUrl,omitempty"`

	CreatedAt   time.Time `json:"createdAt"`
	SubmittedAt time.Time `json:"submittedAt,omitzero"`
	StartedAt   time.Time `json:"startedAt,omitzero"`
	CompletedAt time.Time `json:"completedAt,omitzero"`

	Claim        *Claim    `json:"claim,omitempty"`        // a POST that is or may be under way
	Look         *Look     `json:"look,omitempty"`         // a POST of unclear result
	Attempts     int       `json:"attempts,omitempty"`     // POSTs claimed so far
	Backoffs     int       `json:"backoffs,omitempty"`     // POSTs in a row that surely did not happen
	FailingSince time.Time `json:"failingSince,omitzero"`  // the first of them
	MissingSince time.Time `json:"missingSince,omitzero"`  // the first 404 in a row
	OverSince    time.Time `json:"overSince,omitzero"`     // the first look behind the deadline that found no state
	EndSeenAt    time.Time `json:"endSeenAt,omitzero"`     // when a terminal state was first seen
	LikelyAfter  Duration  `json:"likelyAfter,omitzero"`   // how long after its start the job's end is likely; 0 when unknown
	Looks        int       `json:"looks,omitempty"`        // how often the running job has been looked at
	Trouble      string    `json:"trouble,omitempty"`      // the last thing that was reported as put off
	Cancel       *Cancel   `json:"cancel,omitempty"`       // set once, never taken back
	Abort        Abort     `json:"abort,omitzero"`         // of a cancelled gate's job
	Verdict      *Notice   `json:"verdict,omitempty"`      // the completion without its marker; stored before it is sent, never changed
	Sent         bool      `json:"sent,omitempty"`         // the verdict is known to have been sent
	SweptAt      time.Time `json:"sweptAt,omitzero"`       // when the sweep last tried to help it
	Lost         int       `json:"lost,omitempty"`         // turns in a row that the sweep took for lost
	Begun        int       `json:"begun,omitempty"`        // how often the last of them was begun all the same
	ProgressSent int       `json:"progressSent,omitempty"` // numbers the progress messages
	Timeline     []Moment  `json:"timeline,omitempty"`
}

// Turn is the tick that is waited for. Whoever handles a message works in the current turn; results of
// an older one count for nothing, but for the id of a job that was made.
type Turn struct {
	Seq int       `json:"seq"`
	At  time.Time `json:"at"`
}

// Claim is the right to send the one POST that may be under way.
type Claim struct {
	Number int       `json:"number"`
	Until  time.Time `json:"until"` // after this the POST has ended, whatever became of it
}

// Look is the search for the job of a POST of unclear result.
type Look struct {
	Ended time.Time `json:"ended"`          // when the POST had ended, by our clock
	Since time.Time `json:"since,omitzero"` // Deck's clock at the first listing after that
}

// Cancel is a cancellation as it was taken.
type Cancel struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// AbortState is how far the abort of a job is.
type AbortState string

// The states of an abort.
const (
	AbortNone      AbortState = ""
	AbortWanted    AbortState = "wanted"
	AbortRequested AbortState = "requested" // Gangway was asked; a 200 is not an abort
	AbortConfirmed AbortState = "confirmed" // the job was seen to have ended
	AbortGivenUp   AbortState = "given-up"
)

// Abort is the abort of the gate's own job.
type Abort struct {
	State    AbortState   `json:"state,omitempty"`
	Since    time.Time    `json:"since,omitzero"` // when it was first wanted of a job that was known
	Requests int          `json:"requests,omitempty"`
	LastAt   time.Time    `json:"lastAt,omitzero"`
	Failure  string       `json:"failure,omitempty"` // why it is not known that Gangway took the last request
	Outcome  AbortOutcome `json:"outcome,omitempty"`
	Reason   string       `json:"reason,omitempty"`
}

func (a Abort) pending() bool { return a.State == AbortWanted || a.State == AbortRequested }

// Retention is how long a closed record is kept.
const Retention = 30 * 24 * time.Hour

// sweepMargin is how late a tick may be before the sweep takes it for lost.
// It is longer than an invocation may take (host.json, functionTimeout), so that a turn that is under way
// is not taken for lost.
const sweepMargin = 6 * time.Minute

// ID names the record in messages: the gate id, or the execution id of a job that no gate owns.
func (r *Record) ID() string {
	if r.GateID != "" {
		return r.GateID
	}
	return r.ExecutionID
}

// MessageStem begins the ids of the record's messages. A job that no gate owns has one that no gate id can be, so
// that a gate of that name does not take its messages for duplicates.
func (r *Record) MessageStem() string {
	if r.GateID != "" {
		return r.GateID
	}
	return "abort:" + r.ExecutionID
}

// Key returns the record's key in the store.
func (r *Record) Key() string {
	if r.GateID != "" {
		return KeyPrefix + r.GateID
	}
	return AbortKeyPrefix + r.ExecutionID
}

// Active reports whether the gate, or the abort of its job, is still under way.
func (r *Record) Active() bool { return r.live() }

// Closed reports whether nothing but its removal is left to happen to the record.
func (r *Record) Closed() bool { return !r.live() && (r.Verdict == nil || r.Sent) }

// live reports whether a tick is waited for.
func (r *Record) live() bool {
	switch r.Phase {
	case PhaseNone:
		return false
	case PhaseDone:
		return r.Abort.pending()
	}
	return true
}

// Due returns when the sweep should look at the record. One that it could not help goes to the end of its
// line, so that it holds up no other.
func (r *Record) Due() time.Time {
	return laterOf(r.due(), r.SweptAt.Add(sweepMargin))
}

func (r *Record) due() time.Time {
	switch {
	case r.live():
		return r.Turn.At.Add(sweepMargin)
	case r.Verdict != nil && !r.Sent:
		return r.Verdict.SentAt.Add(sweepMargin)
	}
	return r.closedAt().Add(Retention)
}

func (r *Record) closedAt() time.Time {
	switch {
	case r.Verdict != nil:
		return r.Verdict.SentAt
	case r.Cancel != nil:
		return r.Cancel.At
	}
	return r.CreatedAt
}

// deadline is when a running gate times out.
func (r *Record) deadline() time.Time { return r.SubmittedAt.Add(time.Duration(r.Gating.Timeout)) }

// maxTimeline bounds the timeline; the oldest entries but the first few give way.
const maxTimeline, keepTimeline = 80, 10

func (r *Record) note(at time.Time, event, format string, args ...any) {
	m := Moment{At: at.UTC(), Event: event, Text: clip(Neutralise(fmt.Sprintf(format, args...)), 500)}
	r.Timeline = append(slices.Clip(r.Timeline), m)
	if len(r.Timeline) > maxTimeline {
		r.Timeline = slices.Delete(r.Timeline, keepTimeline, keepTimeline+1)
	}
}

// Equal reports whether two records say the same.
func (r Record) Equal(other Record) bool { return reflect.DeepEqual(r, other) }

// Encode returns the record as the store keeps it: without the escapes that HTML would want, which make six bytes of
// one and could make a record of a large message too large.
func (r *Record) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// DecodeRecord reads what Encode wrote.
func DecodeRecord(body []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(body, &r); err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	return r, nil
}

// ViewOf returns a stored record as people see it. It holds no marker.
func ViewOf(body []byte) (View, error) {
	r, err := DecodeRecord(body)
	if err != nil {
		return View{}, err
	}
	v := View{
		GateID: r.GateID, Phase: r.Phase, JobName: Neutralise(r.Gating.JobName), Region: Neutralise(r.Gating.Region),
		ExecutionID: Neutralise(r.ExecutionID), JobURL: Neutralise(r.JobURL), State: Neutralise(string(r.State)),
		Abort: r.abortReport(), Timeline: r.Timeline,
	}
	if r.Verdict != nil {
		v.Outcome = r.Verdict.Outcome
	}
	return v, nil
}

// clone returns a copy that shares nothing that a decision may change.
func (r Record) clone() Record {
	r.Claim, r.Look, r.Cancel, r.Verdict = copied(r.Claim), copied(r.Look), copied(r.Cancel), copied(r.Verdict)
	r.Timeline = slices.Clone(r.Timeline)
	return r
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// clip shortens text to about n bytes, at a rune's boundary.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "..."
}
