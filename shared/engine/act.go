package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
)

// carryOut does what a command says. A foreign failure of Gangway, Deck or the bucket is a result like
// any other; an error is a failure of the store or the queue.
func (e *Engine) carryOut(ctx context.Context, at stored, c gate.Command) (gate.Event, error) {
	r := at.record
	switch c := c.(type) {
	case gate.TakeTurn:
		return e.takeTurn(ctx, r, c)
	case gate.Submit:
		return e.submit(ctx, c), nil
	case gate.FindJob:
		return e.findJob(ctx, c), nil
	case gate.ReadStatus:
		return e.readStatus(ctx, r, c)
	case gate.ReadUploaded:
		j, found, err := e.Artifacts.Job(ctx, c.JobURL)
		return gate.UploadedRead{Turn: c.Turn, Job: j, Found: found, Failure: failure(err)}, nil
	case gate.ReadEvidence:
		return gate.EvidenceRead{Turn: c.Turn, Evidence: e.evidence(ctx, c.JobURL)}, nil
	case gate.Probe:
		return e.probe(ctx, c), nil
	case gate.AbortJob:
		return e.abortJob(ctx, c), nil
	}
	return e.send(ctx, at, c)
}

// send carries out the commands that need our own queue or store alone.
func (e *Engine) send(ctx context.Context, at stored, c gate.Command) (gate.Event, error) {
	r := at.record
	switch c := c.(type) {
	case gate.SendTick:
		id := fmt.Sprintf("%s.tick.%d", r.MessageStem(), c.Tick.Seq)
		return nil, e.post(ctx, e.Queues.Poll, queue.Message{ID: id, CorrelationID: r.ID(), ScheduledAt: c.At}, c.Tick)
	case gate.SendProgress:
		return nil, e.post(ctx, e.Queues.Completion, e.notice(r, c.MessageID), c.Notice)
	case gate.SendCompletion:
		if err := e.post(ctx, e.Queues.Completion, e.notice(r, c.MessageID), c.Notice); err != nil {
			return nil, err
		}
		return gate.CompletionSent{}, nil
	case gate.Recall:
		return e.recall(ctx, c), nil
	case gate.Learn:
		e.learn(ctx, c)
		return nil, nil
	case gate.Remove:
		return nil, e.remove(ctx, at)
	}
	return nil, fmt.Errorf("unknown command %T", c)
}

// completionTTL is how long a message waits for its pipeline.
const completionTTL = 24 * time.Hour

func (e *Engine) notice(r gate.Record, messageID string) queue.Message {
	return queue.Message{ID: messageID, SessionID: r.ID(), CorrelationID: r.ID(), TTL: completionTTL}
}

func (e *Engine) post(ctx context.Context, name string, m queue.Message, body any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode message %s: %w", m.ID, err)
	}
	m.Body, m.ContentType = encoded, queue.ContentType
	return e.Queue.Send(ctx, name, m)
}

// remove deletes the record as it was when its removal was decided.
func (e *Engine) remove(ctx context.Context, at stored) error {
	err := e.Store.Delete(ctx, at.entry.Key, at.entry.Version)
	if fault.Is(err, fault.Conflict) {
		return nil // somebody needs it after all
	}
	return err
}

func (e *Engine) submit(ctx context.Context, c gate.Submit) gate.Event {
	if e.Clock().After(c.Before) {
		return gate.SubmitFailed{Claim: c.Claim, Failure: heldUp()}
	}
	id, err := e.Gangway.Create(ctx, c.Gating.Submission(e.ExclusiveLabels))
	if err != nil {
		e.heed(ctx, err)
		return gate.SubmitFailed{Claim: c.Claim, Failure: *failure(err)}
	}
	return gate.Submitted{Claim: c.Claim, ExecutionID: id}
}

func (e *Engine) abortJob(ctx context.Context, c gate.AbortJob) gate.Event {
	if e.Clock().After(c.Before) {
		f := heldUp()
		return gate.AbortAnswered{Turn: c.Turn, Failure: &f}
	}
	err := e.Gangway.Abort(ctx, c.Abort)
	e.heed(ctx, err)
	return gate.AbortAnswered{Turn: c.Turn, Failure: failure(err)}
}

func heldUp() gate.Failure {
	return gate.Failure{Kind: fault.NothingHappened, Text: "this process was held up before it could send the request"}
}

func (e *Engine) readStatus(ctx context.Context, r gate.Record, c gate.ReadStatus) (gate.Event, error) {
	j, found, err := e.Deck.Job(ctx, c.ExecutionID)
	read := gate.StatusRead{Turn: c.Turn, Job: j, Found: found, Failure: failure(err)}
	if c.Owner && found {
		read.Owner, err = e.owner(ctx, r, j)
		return read, err
	}
	return read, nil
}

// owner returns the id of another gate whose job it is, and that has not ended; empty when there is none. When no
// gate was said to own the job, that gate is cancelled; one that had ended, and does nothing about the job, is none.
func (e *Engine) owner(ctx context.Context, r gate.Record, j prow.Job) (string, error) {
	id := j.Labels[gate.KeyGateID]
	if id == "" || id == r.GateID {
		return "", nil
	}
	key := gate.KeyPrefix + id
	owner, err := e.load(ctx, key)
	if err != nil || owner.record.ExecutionID != j.ID {
		return "", err
	}
	active := owner.record.Active()
	if r.GateID == "" {
		if err := e.run(ctx, key, gate.CancelAsked{GateID: id, Reason: r.Cancel.Reason}); err != nil {
			return "", err
		}
		if owner, err = e.load(ctx, key); err != nil {
			return "", err
		}
		active = active || owner.record.Active()
	}
	if !active {
		return "", nil
	}
	return id, nil
}

func (e *Engine) findJob(ctx context.Context, c gate.FindJob) gate.Event {
	listing, err := e.Deck.Jobs(ctx, func(j prow.Job) bool { return j.Labels[gate.KeyGateID] == c.GateID })
	return gate.Looked{Turn: c.Turn, Listing: listing, Failure: failure(err)}
}

func (e *Engine) probe(ctx context.Context, c gate.Probe) gate.Event {
	second := c.Target.StartTime.Truncate(time.Second)
	listing, err := e.Deck.Jobs(ctx, func(j prow.Job) bool {
		return j.ID == c.Target.ID || j.StartTime.Truncate(time.Second).Equal(second)
	})
	return gate.Probed{Turn: c.Turn, Target: c.Target, Listing: listing, Failure: failure(err)}
}

// failure returns a foreign failure as the decision sees it, nil for none.
func failure(err error) *gate.Failure {
	if err == nil {
		return nil
	}
	text := err.Error()
	var f *fault.Error
	if errors.As(err, &f) && f.Text != "" {
		text = f.Text
	}
	return &gate.Failure{Kind: fault.KindOf(err), Text: text, RetryAfter: fault.RetryAfter(err)}
}
