package gate

import (
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// Event is what Decide decides on: a message that came in, or the result of a command. Results carry
// the turn in which the command was given.
type Event interface{ event() }

type (
	// Accepted is a valid gating message; with Exclusive, its job is to have labels of its own for Gangway to
	// select by, which a dry run shows.
	Accepted struct {
		Gating    Gating
		Exclusive bool
	}
	// Refused is a gating message that broke rules.
	Refused struct{ Rejection Rejection }
	// CancelAsked is a cancel message for this gate.
	CancelAsked struct{ GateID, Reason string }
	// AbortAsked is a cancel message for a job that no gate owns.
	AbortAsked struct{ ExecutionID, Reason string }
	// Ticked is a poll message.
	Ticked struct{ Seq int }
	// Overdue is the sweep's finding that the record is past its due time.
	Overdue struct{}

	// TurnTaken is the result of TakeTurn. Only a granted request may go out; the time alone says nothing.
	TurnTaken struct {
		Turn    int
		Abort   *prow.Abort // the abort that the turn is for; nil for a submission
		Granted bool
		At      time.Time // when to ask again, if it is not granted
	}
	// Submitted is a POST that was answered with an execution id.
	Submitted struct {
		Claim       int
		ExecutionID string
	}
	// SubmitFailed is a POST that was not.
	SubmitFailed struct {
		Claim   int
		Failure Failure
	}
	// Looked is the result of FindJob.
	Looked struct {
		Turn    int
		Listing prow.Listing // the jobs that carry the gate's id
		Failure *Failure     // set when the listing could not be read
	}
	// StatusRead is the result of ReadStatus. Owner is another gate whose job it is, and that has not ended. When no
	// gate was said to own the job, that one has been cancelled in its place.
	StatusRead struct {
		Turn    int
		Job     prow.Job
		Found   bool
		Owner   string
		Failure *Failure
	}
	// UploadedRead is the result of ReadUploaded.
	UploadedRead struct {
		Turn    int
		Job     prow.Job
		Found   bool
		Failure *Failure
	}
	// EvidenceRead is the result of ReadEvidence.
	EvidenceRead struct {
		Turn     int
		Evidence Evidence
	}
	// Probed is the result of Probe.
	Probed struct {
		Turn    int
		Target  prow.Job
		Listing prow.Listing // the jobs that started in the target's second, and the target
		Failure *Failure
	}
	// AbortAnswered is the result of AbortJob; Failure is nil when Gangway took the request.
	AbortAnswered struct {
		Turn    int
		Failure *Failure
	}
	// Recalled is the result of Recall.
	Recalled struct{ Runs Runs }
	// CompletionSent reports that the broker has the completion.
	CompletionSent struct{}
)

// Failure is a foreign failure as the decision sees it.
type Failure struct {
	Kind       fault.Kind
	Text       string
	RetryAfter time.Duration
}

func (Accepted) event()       {}
func (Refused) event()        {}
func (CancelAsked) event()    {}
func (AbortAsked) event()     {}
func (Ticked) event()         {}
func (Overdue) event()        {}
func (TurnTaken) event()      {}
func (Submitted) event()      {}
func (SubmitFailed) event()   {}
func (Looked) event()         {}
func (StatusRead) event()     {}
func (UploadedRead) event()   {}
func (EvidenceRead) event()   {}
func (Probed) event()         {}
func (AbortAnswered) event()  {}
func (Recalled) event()       {}
func (CompletionSent) event() {}

// result is an event that counts only in the turn in which its command was given.
type result interface {
	Event
	inTurn() int
}

func (e TurnTaken) inTurn() int     { return e.Turn }
func (e Looked) inTurn() int        { return e.Turn }
func (e StatusRead) inTurn() int    { return e.Turn }
func (e UploadedRead) inTurn() int  { return e.Turn }
func (e EvidenceRead) inTurn() int  { return e.Turn }
func (e Probed) inTurn() int        { return e.Turn }
func (e AbortAnswered) inTurn() int { return e.Turn }
