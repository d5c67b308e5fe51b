package sim_test

import (
	"flag"
	"strings"
	"testing"

	"prowgate/shared/sim"
)

var (
	seed  = flag.Uint64("seed", 0, "the seed that TestSeed repeats, with every step written down by -v")
	seeds = flag.Int("seeds", 300, "how many seeds TestSeeds runs")
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
	counts, failed := map[string]int{}, 0
	for s := *from; s < *from+uint64(*seeds); s++ {
		r := sim.Run(sim.Options{Seed: s})
		for name, n := range r.Counts {
			counts[name] += n
		}
		if r.Failed() {
			t.Error(r)
			if failed++; failed == 5 {
				break
			}
		}
	}
	t.Logf("%d seeds\n%s", *seeds, sim.Table(counts))
}
