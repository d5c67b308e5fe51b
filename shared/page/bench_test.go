package page

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/store/sqlite"
)

// full is a store in a file with 10,000 gates, 1,000 of them in flight, each with the timeline of an ordinary
// gate.
func full(b *testing.B) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "records.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	for i := range 10_000 {
		at := noon().Add(time.Duration(i) * time.Second)
		r := gate.Record{
			GateID: fmt.Sprintf("rollout-%05d-uksouth-e2e", i), Phase: gate.PhaseRunning, ExecutionID: fmt.Sprintf("9f1c1f2e-6a55-4d1c-8f0e-%012d", i),
			Gating: gate.Gating{JobName: "branch-ci-Azure-ARO-HCP-main-e2e-integration-e2e-parallel", Region: "uksouth"},
		}
		for n := range 8 {
			r.Timeline = append(r.Timeline, gate.Moment{At: at, Event: "state", Text: fmt.Sprint("pending https://prow.example/view/gs/bucket/logs/job/", n)})
		}
		if i%10 > 0 {
			r.Phase, r.Verdict = gate.PhaseDone, &gate.Notice{Kind: gate.KindCompletion, Outcome: gate.Succeeded, SentAt: at}
		}
		save(b, s, r, at)
	}
	return s
}

// BenchmarkTenThousandGates measures what somebody waits for who looks at 10,000 gates: the first answer of a
// process, an answer that has the store read through again, one in the second after that, and one of a filter.
func BenchmarkTenThousandGates(b *testing.B) {
	s := full(b)
	for _, c := range []struct {
		name, path string
		pass       time.Duration
		fresh      bool
	}{
		{"page-first", "/", 0, true},
		{"page-again", "/?part=live", time.Hour, false},
		{"page-cached", "/?part=live", 0, false},
		{"page-filter", "/?part=live&q=rollout-0999+uksouth", 0, false},
		{"api-again", "/api/gates", time.Hour, false},
		{"api-cached", "/api/gates", 0, false},
		{"api-one", "/api/gates/rollout-05000-uksouth-e2e", 0, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			clock := &clock{}
			h := New(config(s, clock)).Handler()
			if !c.fresh {
				get(b, h, c.path)
			}
			for b.Loop() {
				if c.fresh {
					h = New(config(s, clock)).Handler()
				}
				clock.forward(c.pass)
				if code, _, _ := get(b, h, c.path); code != 200 {
					b.Fatal(code)
				}
			}
		})
	}
}
