package engine

import (
	"context"
	"log/slog"
	"time"

	"prowgate/shared/gate"
)

// logChange writes what a decision added to the record's timeline. The names in it are the sender's.
func (e *Engine) logChange(ctx context.Context, before, after gate.Record) {
	for _, m := range added(before.Timeline, after.Timeline) {
		e.Log.Log(ctx, levelOf(m), m.Text, "event", m.Event, "gateId", after.GateID, "executionId", gate.Neutralise(after.ExecutionID),
			"job", gate.Neutralise(after.Gating.JobName), "region", gate.Neutralise(after.Gating.Region), "phase", string(after.Phase))
	}
}

// levelOf is the level at which a moment is logged. A lost tick is a warning: the alerts of the templates look for it,
// and a level at which they do not hear of it is none that they allow.
func levelOf(m gate.Moment) slog.Level {
	if m.Event == "sweep" {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// added returns the moments behind the last one that both timelines have.
func added(before, after []gate.Moment) []gate.Moment {
	if len(before) == 0 {
		return after
	}
	last := before[len(before)-1]
	for i := len(after) - 1; i >= 0; i-- {
		if after[i] == last {
			return after[i+1:]
		}
	}
	return after
}

// nobody watches.
type nobody struct{}

func (nobody) Saved(context.Context, gate.Record, gate.Record) {}
func (nobody) Turn(context.Context, time.Duration, int, int)   {}
func (nobody) Swept(context.Context, int)                      {}
