package gate

import (
	"slices"
	"time"
)

// A job's end is asked for more often when it is likely: from about the time at which the first of its
// earlier runs had ended. Until then the gate asks at its own interval, and so saves up requests; over its
// whole life it asks at most twice as often as its interval says.
const (
	likelyFaster = 4  // times as often, while the saved requests last
	mostFaster   = 2  // times as often, over all
	keptRuns     = 20 // of one job
	fewestRuns   = 3  // before anything is made of them
	likelyMargin = 20 // a run may be shorter than the earlier ones by a twentieth
)

// Runs are how long the last runs of one job took, the latest last.
type Runs []Duration

// With returns the runs with one more, without the oldest when there are too many.
func (r Runs) With(took time.Duration) Runs {
	all := append(slices.Clone(r), Duration(took))
	return all[max(0, len(all)-keptRuns):]
}

// likelyAfter returns after which time the job's end is likely, 0 when too little is known. The shortest
// tenth of the runs does not count: jobs that fail early would have every later one asked for too soon.
func (r Runs) likelyAfter() time.Duration {
	if len(r) < fewestRuns {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r))
	first := time.Duration(sorted[len(r)/10])
	return max(first-first/likelyMargin, 0)
}

// recalled takes over what is known of the job's earlier runs.
func (d *decision) recalled(e Recalled) {
	if d.r.Phase == PhaseRunning {
		d.r.LikelyAfter = Duration(e.Runs.likelyAfter())
	}
}

// learn keeps how long the job took, when it ended by itself.
func (d *decision) learn(o Outcome) {
	r := &d.r
	took := r.CompletedAt.Sub(r.StartedAt)
	if (o == Succeeded || o == Failed) && !r.StartedAt.IsZero() && took > 0 {
		d.do(Learn{JobName: r.Gating.JobName, Took: took})
	}
}

// interval returns how long to wait until the next look at a running job.
func (d *decision) interval() time.Duration {
	r := &d.r
	every := time.Duration(r.Gating.PollInterval)
	if r.LikelyAfter == 0 || r.StartedAt.IsZero() {
		return every
	}
	likely := r.StartedAt.Add(time.Duration(r.LikelyAfter))
	if likely.After(d.now) {
		return min(every, likely.Sub(d.now))
	}
	allowed := r.SubmittedAt.Add(time.Duration(r.Looks+1) * every / mostFaster)
	return min(every, max(every/likelyFaster, allowed.Sub(d.now)))
}
