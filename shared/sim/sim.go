// Package sim runs many gates through the real engine in a world of faults: the real clients against the
// stand-in for Prow, the embedded broker and store, virtual time, and one seed that decides everything,
// so that a seed repeats to the letter. When the faults stop, the world is drained and judged by what
// the stand-in really holds, not by our records.
//
// Entry point: Run. Handlers run as coroutines that go on only when the world lets them; at each call to
// the store, the queue or Prow the world may let time pass, deliver other messages, fail the call before
// or after its work, or kill the process.
package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options say what to run.
type Options struct {
	Seed    uint64
	Mistake *Mistake // built into the program under test; nil: the program as it is
	Trace   bool     // write down every step
	Calm    bool     // no faults at all
	Gates   int      // 0: drawn
	// Burst submits all gates at once, lets them run long enough, and draws nothing else.
	Burst bool
}

// Result is what one run showed.
type Result struct {
	Seed       uint64
	Violations []string       // of the invariants, "<number>: <text>"
	Counts     map[string]int // how often each fault was drawn and each outcome was reached
	Trace      []string
	Ended      time.Duration // virtual time until the last gate was closed
	AllRunning time.Duration // virtual time until every gate had its job
}

// Failed reports whether an invariant was violated.
func (r Result) Failed() bool { return len(r.Violations) > 0 }

// String names the seed, the violations and the command that repeats the run.
func (r Result) String() string {
	return fmt.Sprintf("seed %d:\n  %s\nrepeat: go test ./shared/sim -run TestSeed -seed %d -v",
		r.Seed, strings.Join(r.Violations, "\n  "), r.Seed)
}

// Run plays one seed.
func Run(o Options) Result {
	w := newWorld(o)
	w.plan()
	w.play()
	w.judge()
	return Result{
		Seed: o.Seed, Violations: w.violations, Counts: w.counts, Trace: w.trace,
		Ended: w.closedAt.Sub(epoch), AllRunning: w.lastJobAt.Sub(epoch),
	}
}

// Table returns counts as aligned lines, by name.
func Table(counts map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%9d  %s\n", counts[name], name)
	}
	return b.String()
}
