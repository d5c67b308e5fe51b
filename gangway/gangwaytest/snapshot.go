package gangwaytest

import (
	"encoding/json"
	"fmt"
)

// snapshot is all that a World's later behaviour follows from. Counts are kept so that faults by number
// go on; the log of requests and the faults planned by FailNext are not.
type snapshot struct {
	Jobs    []*job
	Scripts map[string]Script
	Bulks   []bulk
	BulkSeq int
	Counts  map[Endpoint]int
	Limit   limiter
}

// Snapshot returns the World as JSON for Restore.
func (w *World) Snapshot() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	raw, err := json.Marshal(snapshot{w.jobs, w.scripts, w.bulks, w.bulkSeq, w.counts, w.limit})
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return raw, nil
}

// Restore replaces the World by a snapshot. It goes on as if it had never been away: what was due in
// the meantime has happened at its own time.
func (w *World) Restore(raw []byte) error {
	var s snapshot
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	fresh := New(w.opts)
	for _, j := range s.Jobs {
		if j == nil {
			return fmt.Errorf("restore: an empty job")
		}
		fresh.add(j)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs, w.byID, w.builds = fresh.jobs, fresh.byID, fresh.builds
	w.bulks, w.bulkSeq, w.limit = s.Bulks, s.BulkSeq, s.Limit
	w.scripts, w.counts = fresh.scripts, fresh.counts
	if s.Scripts != nil {
		w.scripts = s.Scripts
	}
	if s.Counts != nil {
		w.counts = s.Counts
	}
	return nil
}
