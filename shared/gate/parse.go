package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Defaults of a gating message.
const (
	DefaultOrg                     = "Azure"
	DefaultRepo                    = "ARO-HCP"
	DefaultBaseRef                 = "main"
	DefaultPollInterval            = 60 * time.Second
	DefaultTimeout                 = 4 * time.Hour
	DefaultMaxEV2AutoRetryFailures = 2
)

// Rejection is a gating message from which a gate id could be read but which broke rules.
type Rejection struct {
	GateID, JobName, Region string
	Problems                []string // one line each, "<field>: <rule>"
}

// ErrUnreadable reports a body that is no message of its queue, however often it is delivered.
var ErrUnreadable = errors.New("the message cannot be read")

// ErrNoGate reports a body that names no gate: there is nobody to answer, so the message has to go to
// the dead-letter queue.
var ErrNoGate = fmt.Errorf("%w: no gate id can be read", ErrUnreadable)

// ParseGating decodes a gating message, applies the defaults and checks the rules. Either the message
// is valid (rejection nil, err nil), or it is rejected with every problem listed, or no gate id can be
// read (an error that is ErrNoGate).
func ParseGating(body []byte) (Gating, *Rejection, error) {
	f, err := readObject(body)
	if err != nil {
		return Gating{}, nil, fmt.Errorf("%w: %w", ErrNoGate, err)
	}
	g := Gating{
		Org: DefaultOrg, Repo: DefaultRepo, BaseRef: DefaultBaseRef,
		PollInterval: Duration(DefaultPollInterval), Timeout: Duration(DefaultTimeout),
		MaxEV2AutoRetryFailures: DefaultMaxEV2AutoRetryFailures, AbortOnCancel: true,
	}
	g.decode(f)
	if err := answerable(g.GateID); err != nil {
		return Gating{}, nil, err
	}
	problems := append(f.finish(), g.problems(f.bad)...)
	if len(body) > maxMessage {
		problems = append(problems, fmt.Sprintf("the message must be at most %d bytes", maxMessage))
	}
	if len(problems) > 0 {
		return Gating{}, &Rejection{GateID: g.GateID, JobName: clip(g.JobName, maxWord), Region: clip(g.Region, maxWord), Problems: problems}, nil
	}
	return g, nil, nil
}

// maxID is how long an id may be that others are made of: Service Bus takes 128 characters for a session
// id and for a message id, and ours add a word to the gate id or the execution id.
const maxID = 100

// maxMessage bounds a gating message, so that its record stays within what a store takes (512 KiB), also
// when every character of it has to be escaped.
const maxMessage = 64 << 10

// answerable reports why a completion could not be sent to this gate id, nil when it can.
func answerable(gateID string) error {
	switch {
	case gateID == "":
		return fmt.Errorf("%w: gateId is missing, empty or not a string", ErrNoGate)
	case len(gateID) > maxID:
		return fmt.Errorf("%w: gateId is longer than the %d characters that can be answered", ErrNoGate, maxID)
	case HasMarker(gateID):
		return fmt.Errorf("%w: gateId contains an EV2 marker, so that no answer could name it", ErrNoGate)
	}
	return nil
}

func (g *Gating) decode(f *fields) {
	f.text("gateId", &g.GateID)
	f.text("jobName", &g.JobName)
	f.text("cloud", &g.Cloud)
	f.text("environment", &g.Environment)
	f.text("region", &g.Region)
	f.text("allowedSubscriptions", &g.AllowedSubscriptions)
	f.texts("labels", &g.Labels)
	f.texts("annotations", &g.Annotations)
	f.texts("envs", &g.Envs)
	f.text("ev2RolloutVersion", &g.EV2RolloutVersion)
	f.text("baseSha", &g.BaseSHA)
	f.text("org", &g.Org)
	f.text("repo", &g.Repo)
	f.text("baseRef", &g.BaseRef)
	f.text("executionId", &g.ExecutionID)
	f.duration("pollInterval", &g.PollInterval)
	f.duration("timeout", &g.Timeout)
	f.flag("gatePromotion", &g.GatePromotion)
	f.flag("allowEv2Retry", &g.AllowEV2Retry)
	f.number("maxEv2AutoRetryFailures", &g.MaxEV2AutoRetryFailures)
	f.flag("abortOnCancel", &g.AbortOnCancel)
	f.flag("dryRun", &g.DryRun)
}

// ParseCancel decodes a cancel message and checks its rules; the error lists every problem.
func ParseCancel(body []byte) (CancelRequest, error) {
	var c CancelRequest
	f, err := readObject(body)
	if err != nil {
		return c, err
	}
	f.text("gateId", &c.GateID)
	f.text("executionId", &c.ExecutionID)
	f.text("reason", &c.Reason)
	problems := f.finish()
	if c.GateID == "" && c.ExecutionID == "" && len(f.bad) == 0 {
		problems = append(problems, "gateId, executionId: one of them is required")
	}
	if c.GateID != "" {
		if err := answerable(c.GateID); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if c.ExecutionID != "" {
		problems = append(problems, executionIDProblems(c.ExecutionID)...)
	}
	return c, joined(problems)
}

// ParseTick decodes a poll message.
func ParseTick(body []byte) (Tick, error) {
	var t Tick
	f, err := readObject(body)
	if err != nil {
		return t, err
	}
	f.text("gateId", &t.GateID)
	f.text("executionId", &t.ExecutionID)
	f.number("seq", &t.Seq)
	problems := f.finish()
	if (t.GateID == "") == (t.ExecutionID == "") {
		problems = append(problems, "gateId, executionId: exactly one of them is required")
	}
	return t, joined(problems)
}

func joined(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrUnreadable, strings.Join(problems, "; "))
}

// fields is a JSON object that is read field by field, so that every problem is found and not only the
// first. A null counts as not given.
type fields struct {
	values   map[string]json.RawMessage
	bad      map[string]bool // fields of a wrong type; their rules are not checked as well
	known    map[string]bool
	problems []string
}

// readObject reads body as exactly one JSON object; a field that is given twice is a problem, for the
// sender's and our reading of it could differ.
func readObject(body []byte) (*fields, error) {
	values, repeated, ok := members(body)
	if !ok {
		return nil, fmt.Errorf("%w: the body is not a JSON object", ErrUnreadable)
	}
	return &fields{values: values, bad: map[string]bool{}, known: map[string]bool{}, problems: repeated}, nil
}

// members returns what one JSON object holds, by name, and a problem for each name that comes again. ok is
// false when the text is anything else.
func members(object []byte) (values map[string]json.RawMessage, repeated []string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	values = map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return nil, nil, false
		}
		if _, again := values[name]; again {
			repeated = append(repeated, name+": given more than once")
		}
		values[name] = value
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, nil, false
	}
	rest := bytes.Trim(object[d.InputOffset():], " \t\r\n")
	return values, repeated, len(rest) == 0
}

func (f *fields) read(name, rule string, into any) {
	f.known[name] = true
	raw, given := f.values[name]
	if !given || string(raw) == "null" {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		f.bad[name] = true
		f.problems = append(f.problems, name+": must be "+rule)
	}
}

func (f *fields) text(name string, into *string)             { f.read(name, "a string", into) }
func (f *fields) texts(name string, into *map[string]string) { f.readTexts(name, into) }
func (f *fields) flag(name string, into *bool)               { f.read(name, "true or false", into) }
func (f *fields) number(name string, into *int)              { f.read(name, "a whole number", into) }

func (f *fields) duration(name string, into *Duration) {
	f.read(name, `a duration string such as "90s" or "1h30m"`, into)
}

// readTexts reads a map of strings; a null value in it would silently become an empty string.
func (f *fields) readTexts(name string, into *map[string]string) {
	var values map[string]*string
	f.read(name, "an object of strings", &values)
	if f.bad[name] || values == nil {
		return
	}
	m := make(map[string]string, len(values))
	for k, v := range values {
		if v == nil {
			f.problems = append(f.problems, fmt.Sprintf("%s[%s]: must be a string", name, k))
			continue
		}
		m[k] = *v
	}
	*into = m
	_, repeated, _ := members(f.values[name])
	f.problems = append(f.problems, prefixed(name+": ", repeated)...)
}

func prefixed(prefix string, lines []string) []string {
	for i := range lines {
		lines[i] = prefix + lines[i]
	}
	return lines
}

// finish returns the problems found while reading, with those of unknown fields, in a stable order.
func (f *fields) finish() []string {
	var unknown []string
	for name := range f.values {
		if !f.known[name] {
			unknown = append(unknown, name+": unknown field")
		}
	}
	slices.Sort(unknown)
	slices.Sort(f.problems)
	return append(f.problems, unknown...)
}
