package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"prowgate/shared/budget"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// budgetKey is the one document from which all instances take their requests to Gangway.
const budgetKey = "budget:gangway"

// takeTurn asks the shared budget. When too many ask at once, the gate comes back a little later.
func (e *Engine) takeTurn(ctx context.Context, r gate.Record, c gate.TakeTurn) (gate.Event, error) {
	var got budget.Grant
	var wait time.Duration
	var waiting, left int
	err := e.changeBudget(ctx, func(s budget.State, now time.Time) budget.State {
		s, got = s.Take(e.limit(), r.Key(), c.Abort != nil, now)
		wait, waiting, left = max(0, got.At.Sub(now)), len(s.Line), s.Left(e.limit(), now)
		return s
	})
	if err == nil {
		e.Watch.Turn(ctx, wait, waiting, left)
	}
	if fault.Is(err, fault.Conflict) {
		got, err = budget.Grant{At: e.Clock().Add(time.Second)}, nil
	}
	return gate.TurnTaken{Turn: c.Turn, Abort: c.Abort, Granted: got.LetGo, At: got.At}, err
}

func (e *Engine) limit() budget.Limit {
	return budget.Limit{PerMinute: e.RatePerMinute, Burst: e.Burst}
}

func (e *Engine) changeBudget(ctx context.Context, change func(budget.State, time.Time) budget.State) error {
	var lost error
	for range mostConflicts {
		entry, found, err := e.Store.Load(ctx, budgetKey)
		if err != nil {
			return err
		}
		var s budget.State
		if found {
			if err := json.Unmarshal(entry.Body, &s); err != nil {
				return fmt.Errorf("budget: %w", err)
			}
		}
		body, err := json.Marshal(change(s, e.Clock()))
		if err != nil {
			return fmt.Errorf("budget: %w", err)
		}
		_, lost = e.Store.Save(ctx, store.Entry{Key: budgetKey, Version: entry.Version, Body: body})
		if lost == nil || !fault.Is(lost, fault.Conflict) {
			return lost
		}
	}
	return lost
}

// heed empties the budget when Gangway itself found that requests came too fast: others share its limit.
// A budget that cannot be changed now is left as it is; the result of the request must not wait for it.
func (e *Engine) heed(ctx context.Context, refusal error) {
	if !errors.Is(refusal, fault.ErrTooFast) {
		return
	}
	err := e.changeBudget(ctx, func(s budget.State, now time.Time) budget.State { return s.Drain(e.limit(), now) })
	if err != nil {
		e.Log.WarnContext(ctx, "the budget could not be emptied", "error", err)
	}
}
