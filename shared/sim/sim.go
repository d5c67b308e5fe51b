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
	"runtime"
	"slices"
	"strings"
	"sync"
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

// RunMany plays n seeds from the first one on, on all processors, and returns the counts of all. Each
// result is shown to see, one at a time; when see says false, no further seed is begun.
func RunMany(first uint64, n int, see func(Result) bool) map[string]int {
	var mu sync.Mutex
	var group sync.WaitGroup
	total, next, stop := map[string]int{}, first, false
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, !stop && next-1 < first+uint64(n)
	}
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				r := Run(Options{Seed: seed})
				mu.Lock()
				for name, count := range r.Counts {
					total[name] += count
				}
				stop = !see(r) || stop
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return total
}

// Table returns counts as aligned lines, by name.
func Table(counts map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%9d  %s\n", counts[name], name)
	}
	return b.String()
}
