package gate

import (
	"time"

	"prowgate/gangway/prow"
)

// Command is something to be done after the record was saved. Those with a result give an event.
type Command interface{ command() }

type (
	// TakeTurn asks the shared budget for the right to send one request to Gangway: TurnTaken.
	TakeTurn struct {
		Turn  int
		Abort *prow.Abort // nil for a submission
	}
	// Submit sends the claimed POST: Submitted or SubmitFailed. It must not begin after Before, so that
	// it has ended when the claim does.
	Submit struct {
		Claim  int
		Before time.Time
		Gating Gating
	}
	// FindJob looks in Deck's list for jobs that carry the gate's id: Looked.
	FindJob struct {
		Turn   int
		GateID string
	}
	// ReadStatus reads the job from Deck, and whose it is if that is asked for: StatusRead.
	ReadStatus struct {
		Turn        int
		ExecutionID string
		Owner       bool
	}
	// ReadUploaded reads the run's prowjob.json: UploadedRead.
	ReadUploaded struct {
		Turn   int
		JobURL string
	}
	// ReadEvidence reads the run's finished.json files: EvidenceRead.
	ReadEvidence struct {
		Turn   int
		JobURL string
	}
	// Probe reads Deck's list for the guard before an abort: Probed.
	Probe struct {
		Turn   int
		Target prow.Job
	}
	// AbortJob sends the bulk change: AbortAnswered. It must not begin after Before, for it is taken out of the
	// budget of the time at which it was let go.
	AbortJob struct {
		Turn   int
		Before time.Time
		Abort  prow.Abort
	}
	// SendTick schedules a poll message. The message id is made of the record's id and the sequence
	// number, so that a repeated one is dropped.
	SendTick struct {
		Tick Tick
		At   time.Time
	}
	// SendProgress sends a progress message.
	SendProgress struct {
		MessageID string
		Notice    Notice
	}
	// SendCompletion sends the stored verdict: CompletionSent.
	SendCompletion struct {
		MessageID string
		Notice    Notice
	}
	// Recall reads how long earlier runs of the job took: Recalled, or nothing.
	Recall struct{ JobName string }
	// Learn keeps how long a run of the job took, for later ones. Nothing depends on it.
	Learn struct {
		JobName string
		Took    time.Duration
	}
	// Remove deletes the record.
	Remove struct{}
)

func (TakeTurn) command()       {}
func (Submit) command()         {}
func (FindJob) command()        {}
func (ReadStatus) command()     {}
func (ReadUploaded) command()   {}
func (ReadEvidence) command()   {}
func (Probe) command()          {}
func (AbortJob) command()       {}
func (SendTick) command()       {}
func (SendProgress) command()   {}
func (SendCompletion) command() {}
func (Recall) command()         {}
func (Learn) command()          {}
func (Remove) command()         {}
