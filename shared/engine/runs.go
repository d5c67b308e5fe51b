package engine

import (
	"context"
	"encoding/json"

	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// RunsKey returns the key in the store of what is known of a job's runs.
func RunsKey(job string) string { return "runs:" + job }

// longestKey is how many bytes a key of the store may have; a job with a longer name has no history.
const longestKey = 200

// recall reads how long earlier runs of a job took. Nothing depends on it, so that a store that cannot
// be reached is no failure: the gate asks at its own interval.
func (e *Engine) recall(ctx context.Context, c gate.Recall) gate.Event {
	_, runs, err := e.loadRuns(ctx, c.JobName)
	if err != nil {
		e.Log.WarnContext(ctx, "earlier runs could not be read", "job", gate.Neutralise(c.JobName), "error", err)
		return nil
	}
	if len(runs) == 0 {
		return nil
	}
	return gate.Recalled{Runs: runs}
}

// learn keeps one more run. Of two that are learned at the same time one may be lost.
func (e *Engine) learn(ctx context.Context, c gate.Learn) {
	if len(RunsKey(c.JobName)) > longestKey {
		return
	}
	entry, runs, err := e.loadRuns(ctx, c.JobName)
	if err == nil {
		entry.Body, err = json.Marshal(runs.With(c.Took))
	}
	if err == nil {
		_, err = e.Store.Save(ctx, entry)
	}
	if err != nil {
		e.Log.WarnContext(ctx, "the run could not be kept", "job", gate.Neutralise(c.JobName), "error", err)
	}
}

// loadRuns returns the entry to be changed, and its content; an empty one for a job of which nothing is known.
func (e *Engine) loadRuns(ctx context.Context, job string) (store.Entry, gate.Runs, error) {
	key := RunsKey(job)
	if job == "" || len(key) > longestKey {
		return store.Entry{}, nil, nil
	}
	entry, found, err := e.Store.Load(ctx, key)
	if err != nil || !found {
		return store.Entry{Key: key}, nil, err
	}
	var runs gate.Runs
	if err := json.Unmarshal(entry.Body, &runs); err != nil {
		e.Log.WarnContext(ctx, "what was known of a job's runs cannot be read; beginning anew", "job", gate.Neutralise(job), "error", err)
		return entry, nil, nil
	}
	return entry, runs, nil
}
