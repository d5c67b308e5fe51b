package step

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

func (w *watch) onLetter(m letter) {
	w.hear(m.err)
	if m.err != nil {
		return
	}
	if !m.got {
		w.empty = w.Clock()
		return
	}
	n, err := read(m.delivery.Body, w.request.GateID)
	switch {
	case err != nil:
		w.Log.Warn("a message that is not for this step was given back", "id", m.delivery.ID, "error", err)
		m.reply <- giveBack
	case n.Kind == gate.KindCompletion:
		w.onCompletion(n, m.reply)
	default:
		w.onProgress(n)
		m.reply <- remove
	}
}

// mayPass are the outcomes with which a gate may pass; with any other it does not, whatever else a message says.
var mayPass = []gate.Outcome{gate.Succeeded, gate.DryRun, gate.Failed, gate.Errored, gate.Aborted}

// read reads a message for the gate. The session is the gate's own, but it is not believed alone: a verdict on
// another gate must not pass this one.
func read(body []byte, gateID string) (gate.Notice, error) {
	var n gate.Notice
	if err := json.Unmarshal(body, &n); err != nil {
		return n, fmt.Errorf("not readable: %w", err)
	}
	if n.GateID != gateID {
		return n, fmt.Errorf("it is of the gate %q", n.GateID)
	}
	if n.Kind != gate.KindCompletion && n.Kind != gate.KindProgress {
		return n, fmt.Errorf("it is of the unknown kind %q", n.Kind)
	}
	n.Passed = n.Passed && slices.Contains(mayPass, n.Outcome)
	return n, nil
}

// hear keeps account of how long receiving has failed. A service that is away comes back; one that
// keeps refusing is not the right one.
func (w *watch) hear(err error) {
	if err == nil {
		w.silent, w.refused, w.silence = time.Time{}, time.Time{}, nil
		return
	}
	now := w.Clock()
	w.silence = err
	w.Log.Debug("not received", "queue", w.Names.Completion, "error", err)
	if w.silent.IsZero() {
		w.silent = now
	}
	if !fault.Is(err, fault.Refused) {
		w.refused = time.Time{}
		return
	}
	if w.refused.IsZero() {
		w.refused = now
	}
	if now.Sub(w.refused) >= w.Connect && w.signal == nil {
		w.giveUp("the completion queue refuses to be read: " + err.Error())
	}
}

func (w *watch) onProgress(n gate.Notice) {
	line := progressLine(n)
	if w.signal != nil {
		w.answer = line
	}
	if line != w.lastLine {
		w.lastLine = line
		w.Console.Say("%s", line)
	}
}

func progressLine(n gate.Notice) string {
	line := n.Text
	if line == "" {
		line = "state " + n.State
	}
	if n.Abort != nil && n.Abort.Outcome != "" && n.Text == "" {
		line += "; " + console.AbortText(*n.Abort)
	}
	if n.JobURL != "" && !strings.Contains(line, n.JobURL) {
		line += " " + n.JobURL
	}
	return line
}

func (w *watch) onLife() {
	if w.signal != nil {
		return
	}
	line := "still waiting after " + short(w.Clock().Sub(w.began))
	if w.lastLine != "" {
		line += "; last: " + w.lastLine
	}
	if !w.silent.IsZero() {
		line += "; the queue has not answered for " + short(w.Clock().Sub(w.silent)) + ": " + w.silence.Error()
	}
	w.Console.Say("%s", line)
}
