package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/infra/bench/report"
	"prowgate/infra/bench/world"
	"prowgate/shared/gate"
)

// gating is a message as the pipeline sends it, with the defaults applied.
func gating(id, job string) gate.Gating {
	return gate.Gating{
		GateID: id, JobName: job, Cloud: "public", Environment: "int", Region: "westus3", GatePromotion: true, AllowEV2Retry: true,
		PollInterval: gate.Duration(gate.DefaultPollInterval), Timeout: gate.Duration(gate.DefaultTimeout),
		MaxEV2AutoRetryFailures: gate.DefaultMaxEV2AutoRetryFailures, AbortOnCancel: true,
	}
}

// requests plays one gate alone and returns what it has asked of everybody.
func requests(ctx context.Context, s gangwaytest.Script) (world.Counts, error) {
	w := world.New(world.Options{})
	w.Prow.SetScript("e2e", s)
	if err := w.Send(ctx, gating("g", "e2e")); err != nil {
		return world.Counts{}, err
	}
	err := w.Play(ctx)
	return w.Counts, err
}

// usual is the job that costs and requests are given for.
const usual = 90 * time.Minute

// burst submits 20 gates in one second.
func (b *bench) burst(ctx context.Context) ([]report.Row, error) {
	const gates = 20
	w := world.New(world.Options{})
	w.Prow.SetScript("e2e", gangwaytest.Passing(30*time.Minute))
	began := w.Now
	for i := range gates {
		if err := w.Send(ctx, gating(fmt.Sprintf("g-%d", i), "e2e")); err != nil {
			return nil, err
		}
	}
	if err := w.Play(ctx); err != nil {
		return nil, err
	}
	jobs := len(w.Prow.Jobs())
	if jobs != gates || len(w.Posts) != gates {
		return nil, fmt.Errorf("%d jobs of %d requests for %d gates", jobs, len(w.Posts), gates)
	}
	took := w.Posts[gates-1].Sub(began)
	least := 14 * time.Minute / 9
	return []report.Row{
		row("until all jobs are created", report.Seconds(took), "the least: "+report.Seconds(least), report.Ratio(float64(took), float64(least))),
		row("  the same", report.Seconds(took), "the process that waits: 440.0 s", report.Ratio(took.Seconds(), 440)),
		row("requests to Gangway, refused ones", fmt.Sprintf("%d, %d", w.Counts.Gangway, w.Counts.TooFast), "jobs: 20", report.Ratio(float64(w.Counts.Gangway), gates)),
	}, nil
}

// detected is what was seen of many runs.
type detected struct {
	delays []time.Duration // from the job's end to the verdict
	hours  float64         // from the submission to the job's end, of all gates together
	deck   int             // requests
}

func (d detected) anHour() float64 { return float64(d.deck) / d.hours }

// detection plays the same runs for a service that forgets and for one that learns.
func (b *bench) detection(ctx context.Context) ([]report.Row, error) {
	var found [2]detected
	for i, forgetful := range []bool{true, false} {
		var err error
		if found[i], err = detect(ctx, forgetful, pick(b, 50, 6)); err != nil {
			return nil, err
		}
	}
	fixed, learned := found[0], found[1]
	mean := func(d detected) float64 { return float64(report.Mean(d.delays)) }
	worst := func(d detected) time.Duration { return report.Percentile(d.delays, 100) }
	compared := func(name string, value func(detected) time.Duration) report.Row {
		l, f := value(learned), value(fixed)
		return report.Row{Name: name, Value: report.Seconds(l), Beside: "nothing learned: " + report.Seconds(f), Ratio: report.Ratio(float64(l), float64(f))}
	}
	return []report.Row{
		compared(fmt.Sprintf("mean of %d gates", len(learned.delays)), func(d detected) time.Duration { return time.Duration(mean(d)) }),
		compared("median", func(d detected) time.Duration { return report.Median(d.delays) }),
		compared("19 of 20 within", func(d detected) time.Duration { return report.Percentile(d.delays, 95) }),
		compared("worst", worst),
		row(
			"requests to Deck, an hour and gate", fmt.Sprintf("%.0f", learned.anHour()),
			fmt.Sprintf("nothing learned: %.0f", fixed.anHour()), report.Ratio(learned.anHour(), fixed.anHour()),
		),
	}, nil
}

// detect runs each of five jobs many times, one run after another.
func detect(ctx context.Context, forgetful bool, runs int) (detected, error) {
	var d detected
	var w *world.World
	ends := map[string]time.Duration{} // by gate: how long its job takes
	next := func(ctx context.Context, job, run int) error {
		g := gating(fmt.Sprintf("%d-%d", job, run), fmt.Sprintf("e2e-%d", job))
		ends[g.GateID] = duration(rand.New(rand.NewPCG(uint64(job), uint64(run))), time.Duration(50+15*job)*time.Minute)
		script := gangwaytest.Passing(ends[g.GateID])
		if run%4 == 3 {
			script = gangwaytest.Failing(ends[g.GateID], []string{"a"}, []string{"a"})
		}
		w.Prow.SetScript(g.JobName, script)
		return w.Send(ctx, g)
	}
	w = world.New(world.Options{Forgetful: forgetful, Completed: func(ctx context.Context, n gate.Notice) error {
		took := ends[n.GateID]
		d.delays = append(d.delays, w.Now.Sub(n.SubmittedAt.Add(took)))
		d.hours += took.Hours()
		var job, run int
		if _, err := fmt.Sscanf(n.GateID, "%d-%d", &job, &run); err != nil {
			return fmt.Errorf("gate %s: %w", n.GateID, err)
		}
		if run++; run == runs {
			return nil
		}
		return next(ctx, job, run)
	}})
	for job := range 5 {
		if err := next(ctx, job, 0); err != nil {
			return d, err
		}
	}
	err := w.Play(ctx)
	d.deck = w.Counts.Deck
	return d, err
}

// duration draws how long a run takes whose job usually takes so long.
func duration(rng *rand.Rand, usually time.Duration) time.Duration {
	least, most := 40*time.Minute, 120*time.Minute
	if rng.IntN(12) == 0 {
		return least + time.Duration(rng.Int64N(int64(most-least)))
	}
	return min(max(time.Duration(float64(usually)*(1+0.08*rng.NormFloat64())), least), most)
}
