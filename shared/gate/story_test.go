package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// start is when every story begins.
var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// story plays events against one record and writes down what is decided.
type story struct {
	t   *testing.T
	r   gate.Record
	now time.Time
	out []string
}

func newStory(t *testing.T) *story { return &story{t: t, now: start} }

// after lets time pass.
func (s *story) after(d time.Duration) *story {
	s.now = s.now.Add(d)
	return s
}

// give decides on an event and writes one line for it and one for each command.
func (s *story) give(ev gate.Event) []gate.Command {
	s.t.Helper()
	before, err := s.r.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	next, commands := gate.Decide(s.r, ev, s.now)
	if after, _ := s.r.Encode(); string(after) != string(before) {
		s.t.Fatalf("Decide changed the record it was given, on %T", ev)
	}
	s.r = next
	s.out = append(s.out, fmt.Sprintf("%s %s -> %s", s.since(s.now), eventName(ev), phaseName(s.r.Phase)))
	for _, c := range commands {
		s.out = append(s.out, "  "+s.text(c))
	}
	return commands
}

// tells compares all that was written since the last call with want.
func (s *story) tells(want string) {
	s.t.Helper()
	lines := strings.Split(strings.Trim(want, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "\t\t")
	}
	if diff := cmp.Diff(lines, s.out); diff != "" {
		s.t.Errorf("the story is told differently (-want +got):\n%s", diff)
	}
	s.out = nil
}

// skip forgets what was written.
func (s *story) skip() *story { s.out = nil; return s }

func (s *story) since(t time.Time) string { return t.Sub(start).Round(time.Millisecond).String() }

func eventName(ev gate.Event) string { return strings.TrimPrefix(fmt.Sprintf("%T", ev), "gate.") }

func phaseName(p gate.Phase) string {
	if p == "" {
		return "none"
	}
	return string(p)
}

func (s *story) text(c gate.Command) string {
	switch c := c.(type) {
	case gate.TakeTurn:
		if c.Abort != nil {
			return "take a turn for an abort"
		}
		return "take a turn"
	case gate.Submit:
		return fmt.Sprintf("submit, claim %d", c.Claim)
	case gate.SendTick:
		return fmt.Sprintf("tick %d at %s", c.Tick.Seq, s.since(c.At))
	case gate.SendProgress:
		return fmt.Sprintf("progress %s: %s", strings.TrimPrefix(c.MessageID, s.r.MessageStem()), c.Notice.Text)
	case gate.SendCompletion:
		return fmt.Sprintf("completion: %s passed=%t %s", c.Notice.Outcome, c.Notice.Passed, c.Notice.Error)
	case gate.AbortJob:
		return fmt.Sprintf("abort %s %s %s/%s at %s", c.Abort.Current, c.Abort.Type, c.Abort.Org, c.Abort.Repo, s.since(c.Abort.Start))
	case gate.ReadUploaded:
		return "read prowjob.json of " + c.JobURL
	case gate.ReadEvidence:
		return "read the artifacts of " + c.JobURL
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", c), "gate.")
}

// The events that stories are made of.

func (s *story) turn() int { return s.r.Turn.Seq }

func (s *story) accept(fields string) *story {
	s.t.Helper()
	body := least
	if fields != "" {
		body = with(fields)
	}
	s.give(gate.Accepted{Gating: parse(s.t, body)})
	return s
}

func (s *story) tick() *story { s.give(gate.Ticked{Seq: s.turn()}); return s }

func (s *story) takeTurn() *story {
	s.give(gate.TurnTaken{Turn: s.turn(), Granted: true})
	return s
}

func (s *story) submitted() *story {
	s.give(gate.Submitted{Claim: s.r.Attempts, ExecutionID: "e1"})
	return s
}

// running brings a gate to the phase in which its job runs.
func (s *story) running(fields string) *story {
	s.t.Helper()
	return s.accept(fields).takeTurn().submitted().skip()
}

func (s *story) status(state prow.State) *story {
	s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: s.job(state)})
	return s
}

// job is the gate's own job, which started with the story.
func (s *story) job(state prow.State) prow.Job {
	return prow.Job{
		ID: "e1", Name: "e2e", Type: prow.Periodic, State: state, StartTime: start, URL: "https://deck/e1",
		ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}}, Labels: map[string]string{gate.KeyGateID: "g1"},
	}
}

// aborted shows the job aborted, its pod gone.
func (s *story) aborted() *story {
	j := s.job(prow.Aborted)
	j.CompletionTime = s.now
	s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
	return s
}

func (s *story) missing() *story {
	s.give(gate.StatusRead{Turn: s.turn()})
	return s
}

func (s *story) cancel() *story {
	s.give(gate.CancelAsked{GateID: "g1", Reason: "r"})
	return s
}

func (s *story) submitFails(kind fault.Kind, retryAfter time.Duration) *story {
	s.give(gate.SubmitFailed{Claim: s.r.Attempts, Failure: gate.Failure{Kind: kind, Text: "why", RetryAfter: retryAfter}})
	return s
}

// probe answers with a listing made at the given age of the job, that shows the given jobs.
func (s *story) probe(age time.Duration, jobs ...prow.Job) *story {
	s.give(gate.Probed{
		Turn: s.turn(), Target: s.job(prow.Pending),
		Listing: prow.Listing{At: start.Add(age), Jobs: jobs, Seen: len(jobs)},
	})
	return s
}

func (s *story) abortTurn() *story {
	a := prow.Abort{Current: prow.Pending, Type: prow.Periodic, Org: "Azure", Repo: "ARO-HCP", Start: start}
	s.give(gate.TurnTaken{Turn: s.turn(), Abort: &a, Granted: true})
	return s
}

func (s *story) abortAnswered(f *gate.Failure) *story {
	s.give(gate.AbortAnswered{Turn: s.turn(), Failure: f})
	return s
}
