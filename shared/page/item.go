package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// Groups of gates that are no outcome.
const (
	groupInFlight       = "in-flight"
	groupCancelledEarly = "cancelled-early" // before the gating message came
)

// item is one gate as the page lists it, or the abort of a job that no gate owns: that has no ID. Nothing in it holds a marker, and it is never changed.
type item struct {
	version string
	broken  bool                   // the record cannot be read, and nothing else is set
	view    func() json.RawMessage // as programs see it; made when it is first asked for
	words   string                 // what the filter looks through, in lower case

	ID, Job, Region, Execution, State string
	Group                             string // an outcome, or one of the groups
	Phase                             gate.Phase
	Link                              string // the job's page; empty unless http(s)
	Address                           string // the job's address as it was told
	Came, Ended, Next, Deadline       time.Time
	Cancel                            string // how far a cancellation is
	Retry                             string // why EV2 may retry
	Passed                            bool
	Last                              gate.Moment
	Why                               string   // the text of the verdict
	Failed                            []string // tests, as far as the verdict names them
}

// newItem decodes a record.
func newItem(e store.Entry) (*item, error) {
	r, err := gate.DecodeRecord(e.Body)
	if err == nil {
		err = belongs(r.GateID, r.ExecutionID, e.Key)
	}
	if err != nil {
		return nil, err
	}
	address := gate.Neutralise(r.JobURL)
	it := &item{
		version: e.Version, view: sync.OnceValue(func() json.RawMessage { return encoded(e) }),
		ID: gate.Neutralise(r.GateID), Job: gate.Neutralise(r.Gating.JobName), Region: gate.Neutralise(r.Gating.Region),
		Execution: gate.Neutralise(r.ExecutionID), State: gate.Neutralise(string(r.State)),
		Group: groupOf(r), Phase: r.Phase, Address: address, Link: httpLink(address), Came: cameAt(r), Cancel: cancelText(r),
	}
	if n := len(r.Timeline); n > 0 {
		it.Last = harmless(r.Timeline[n-1])
	}
	it.verdict(r)
	it.words = strings.ToLower(strings.Join([]string{
		it.ID, it.Job, it.Region, it.Execution, it.State, it.Group, string(it.Phase), it.Retry, it.Cancel, it.What(),
	}, " "))
	return it, nil
}

// verdict takes what a verdict says or, without one, what the gate waits for.
func (it *item) verdict(r gate.Record) {
	if r.Verdict == nil {
		it.Next = r.Turn.At
		if !r.SubmittedAt.IsZero() {
			it.Deadline = r.SubmittedAt.Add(time.Duration(r.Gating.Timeout))
		}
		return
	}
	it.Ended, it.Passed, it.Why = r.Verdict.SentAt, r.Verdict.Passed, gate.Neutralise(r.Verdict.Error)
	for _, name := range r.Verdict.FailedTests {
		it.Failed = append(it.Failed, gate.Neutralise(name))
	}
	switch r.Verdict.Retry {
	case gate.KnownIssueEligible:
		it.Retry = "known issue"
	case gate.InfraPreconditionEligible:
		it.Retry = "infrastructure"
	}
}

func (it *item) place() place {
	if it.ID == "" {
		return place{it.Came, gate.AbortKeyPrefix + it.Execution}
	}
	return place{it.Came, it.ID}
}

// Name is what people call it.
func (it *item) Name() string { return cmp.Or(it.ID, it.Execution) }

// What says what it is, where that is no gate.
func (it *item) What() string {
	if it.ID == "" {
		return "a job that no gate owns"
	}
	return ""
}

// key names it among all that is on the page.
func (it *item) key() string {
	if it.ID == "" {
		return "abort-" + it.Execution
	}
	return "gate-" + it.ID
}

// belongs wants a record to be that of the gate or execution under whose key it is: null or {} are JSON too, and no
// record. The ids may have been made harmless already.
func belongs(gateID, executionID, key string) error {
	r := gate.Record{GateID: gateID, ExecutionID: executionID}
	if r.ID() == "" || gate.Neutralise(r.Key()) != gate.Neutralise(key) {
		return fmt.Errorf("the record is of gate %q, execution %q, and not of the key's", gateID, executionID)
	}
	return nil
}

// viewOf decodes a record for programs. A timeline is never null in JSON, and holds no marker.
func viewOf(e store.Entry) (gate.View, error) {
	v, err := gate.ViewOf(e.Body)
	if err == nil {
		err = belongs(v.GateID, v.ExecutionID, e.Key)
	}
	if err != nil {
		return gate.View{}, err
	}
	timeline := make([]gate.Moment, len(v.Timeline))
	for i, m := range v.Timeline {
		timeline[i] = harmless(m)
	}
	v.Timeline = timeline
	return v, nil
}

// encoded is the view of a record that is known to be readable.
func encoded(e store.Entry) json.RawMessage {
	v, err := viewOf(e)
	if err != nil {
		return json.RawMessage("{}")
	}
	body, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return body
}

func harmless(m gate.Moment) gate.Moment {
	return gate.Moment{At: m.At, Event: gate.Neutralise(m.Event), Text: gate.Neutralise(m.Text)}
}

func groupOf(r gate.Record) string {
	switch {
	case r.Phase == gate.PhaseNone:
		return groupCancelledEarly
	case r.Phase != gate.PhaseDone:
		return groupInFlight
	case r.Verdict != nil:
		return string(r.Verdict.Outcome)
	}
	return string(r.Phase)
}

// cancelText says in words how far the cancellation of a gate is.
func cancelText(r gate.Record) string {
	switch {
	case r.Phase == gate.PhaseNone: // its group says so
		return ""
	case r.Abort.State == gate.AbortWanted:
		return "abort wanted"
	case r.Abort.State == gate.AbortRequested:
		return "abort asked for"
	case r.Abort.Outcome != "":
		return "abort: " + string(r.Abort.Outcome)
	case r.Cancel != nil && r.Verdict == nil:
		return "cancelled"
	}
	return ""
}

// cameAt is when the gate was first heard of.
func cameAt(r gate.Record) time.Time {
	if r.CreatedAt.IsZero() && len(r.Timeline) > 0 {
		return r.Timeline[0].At
	}
	return r.CreatedAt
}

// httpLink returns the address if a browser may be sent there.
func httpLink(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}
