package sim_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"prowgate/shared/sim"
)

var (
	seed  = flag.Uint64("seed", 0, "the seed that TestSeed repeats, with every step written down by -v")
	seeds = flag.Int("seeds", 60, "how many seeds TestSeeds runs")
	from  = flag.Uint64("from", 1, "the first of them")
)

// TestSeed repeats one seed.
func TestSeed(t *testing.T) {
	r := sim.Run(sim.Options{Seed: *seed, Trace: true})
	if testing.Verbose() {
		t.Log("\n" + strings.Join(r.Trace, "\n"))
	}
	if r.Failed() {
		t.Error(r)
	}
}

// TestSeeds runs many seeds and prints what they met.
func TestSeeds(t *testing.T) {
	total := sim.RunMany(*from, *seeds, func(r sim.Result) bool {
		if r.Failed() {
			t.Error(r)
		}
		return !r.Failed()
	})
	t.Logf("%d seeds\n%s", *seeds, sim.Table(total))
}

// TestMistakes builds each mistake in and expects the simulator to find it within 2,000 seeds. It begins
// with the seed that found it last.
func TestMistakes(t *testing.T) {
	const within = 2000
	for _, m := range sim.Mistakes() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if r := sim.Run(sim.Options{Seed: foundBy[m.Name], Mistake: m}); r.Failed() {
				return
			}
			for s := uint64(1); s <= within; s++ {
				if r := sim.Run(sim.Options{Seed: s, Mistake: m}); r.Failed() {
					t.Logf("%q: %d, // %s", m.Name, s, r.Violations[0])
					return
				}
			}
			t.Errorf("not found within %d seeds", within)
		})
	}
}

// TestTwentyRegionsAtOnce measures how long 20 gates that come at once take until all are running, under
// the real rate limit, and holds that none of their requests comes too fast for it.
func TestTwentyRegionsAtOnce(t *testing.T) {
	const least = 14 * 60.0 / 9
	var all []float64
	for seed := range uint64(50) {
		r := sim.Run(sim.Options{Seed: seed + 1, Calm: true, Burst: true, Gates: 20})
		if r.Failed() {
			t.Fatal(r)
		}
		all = append(all, r.AllRunning.Seconds())
		if n := r.Counts["requests: Gangway"]; r.AllRunning.Seconds() > 1.1*least || n != 20 {
			t.Errorf("seed %d: all running after %s with %d requests", seed+1, r.AllRunning, n)
		}
	}
	slices.Sort(all)
	t.Logf("all running after %.1f to %.1f s; the limit allows %.1f s", all[0], all[len(all)-1], least)
}

// TestSeedsThatFailed repeats every seed that ever failed, as long as it means the same run.
func TestSeedsThatFailed(t *testing.T) {
	for _, s := range []uint64{156, 222, 446, 824, 867, 1176, 1420, 2468, 2598, 2673, 3655, 10180, 20797, 32124, 43257, 46043, 65347, 130985} {
		if r := sim.Run(sim.Options{Seed: s}); r.Failed() {
			t.Error(r)
		}
	}
}

// TestSeedRepeats holds that a seed decides everything.
func TestSeedRepeats(t *testing.T) {
	for s := uint64(1); s <= 5; s++ {
		first, again := sim.Run(sim.Options{Seed: s, Trace: true}), sim.Run(sim.Options{Seed: s, Trace: true})
		if a, b := strings.Join(first.Trace, "\n"), strings.Join(again.Trace, "\n"); a != b {
			t.Errorf("seed %d ran differently the second time", s)
		}
	}
}
