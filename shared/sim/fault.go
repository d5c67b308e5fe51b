package sim

import (
	"math/rand/v2"
	"time"

	"prowgate/gangway/gangwaytest"
)

// rates are how likely things go wrong in one run. Each is drawn, and often is zero, so that runs differ
// in kind and not only in detail.
type rates struct {
	kill, stall            float64 // at each call boundary
	storeFault, queueFault float64 // of each call
	create, bulk           float64 // of each request, by endpoint
	deckJob, deckJobs      float64
	objects                float64
	duplicate, delay, lose float64       // of each message
	outage                 time.Duration // how long Prow is away at a time; 0: never
	sibling, lostChange    float64       // of each job
	crowd                  bool          // others use up the rate limit too
	exclusive              bool          // EXCLUSIVE_LABELS
	slowBucket             float64       // of each request to it
	artifactsLate          float64       // of each failing job
	lag                    time.Duration // every tick is late by this, also when the other faults have stopped
}

// artifactsReadable reports whether nothing in this run can keep a failed job's artifacts from being read in
// time; a process that is held up lets its reads time out.
func (r rates) artifactsReadable() bool {
	return r.objects == 0 && r.artifactsLate == 0 && r.slowBucket == 0 && r.outage == 0 && r.stall == 0
}

func (w *world) drawRates() rates {
	if w.opts.Calm {
		return rates{}
	}
	some := func(most float64) float64 {
		switch w.rng.IntN(3) {
		case 0:
			return 0
		case 1:
			return most / 5
		}
		return most
	}
	return rates{
		kill: some(0.01), stall: some(0.02), storeFault: some(0.03), queueFault: some(0.03),
		create: some(0.6), bulk: some(0.6), deckJob: some(0.3), deckJobs: some(0.3), objects: some(0.3),
		duplicate: some(0.3), delay: some(0.3), lose: some(0.02), outage: time.Duration(some(15) * float64(time.Minute)), sibling: some(0.7), lostChange: some(0.6),
		crowd: w.rng.IntN(4) == 0, exclusive: w.rng.IntN(6) == 0,
		artifactsLate: some(0.5), slowBucket: some(0.3), lag: w.drawLag(),
	}
}

// drawLag returns how late every tick comes in this world, by its own numbers: in most of them not at all.
func (w *world) drawLag() time.Duration {
	rng := rand.New(rand.NewPCG(w.opts.Seed, 0x6c6167))
	if rng.IntN(60) > 0 {
		return 0
	}
	return 15*time.Second + time.Duration(rng.Int64N(int64(75*time.Second)))
}

func (w *world) serverRate() int {
	if w.rates.crowd {
		return ratePerMinute / 2
	}
	return ratePerMinute
}

// faulty reports whether faults may still happen.
func (w *world) faulty() bool { return w.now.Before(w.calmAt) }

// away reports whether Prow is out of reach as a whole, which it is from the tenth minute on.
func (w *world) away() bool {
	begin := epoch.Add(10 * time.Minute)
	return w.faulty() && !w.now.Before(begin) && w.now.Before(begin.Add(w.rates.outage))
}

// strikes draws whether something goes wrong now, and counts it under name.
func (w *world) strikes(rate float64, name string) bool {
	if rate == 0 || !w.faulty() || w.rng.Float64() >= rate {
		return false
	}
	w.count("fault: " + name)
	return true
}

// draw returns a time up to most, usually a small part of it.
func (w *world) draw(most time.Duration) time.Duration {
	if w.strikes(w.rates.stall, "process held up") {
		w.running.hurt = true
		return time.Duration(w.rng.Int64N(int64(3 * time.Minute)))
	}
	return time.Duration(w.rng.Int64N(int64(most)/4+1)) + time.Duration(w.rng.Int64N(int64(most)/4+1))
}

func (w *world) latency() time.Duration {
	return time.Duration(w.rng.IntN(200)) * time.Millisecond
}

// interfere draws what goes wrong with a request to the stand-in.
func (w *world) interfere(c gangwaytest.Call) gangwaytest.Fault {
	if w.away() {
		w.count("fault: Prow is away")
		return gangwaytest.Fault{Mode: gangwaytest.Answer, Status: 503}
	}
	rate := map[gangwaytest.Endpoint]float64{
		gangwaytest.Create: w.rates.create, gangwaytest.BulkChange: w.rates.bulk,
		gangwaytest.DeckJob: w.rates.deckJob, gangwaytest.DeckJobs: w.rates.deckJobs,
		gangwaytest.ObjectRead: w.rates.objects, gangwaytest.ObjectList: w.rates.objects,
	}[c.Endpoint]
	if rate == 0 || !w.faulty() || w.rng.Float64() >= rate {
		return gangwaytest.Fault{}
	}
	f := w.drawFault(c.Endpoint)
	side := "before"
	if f.When == gangwaytest.After {
		side = "after"
	}
	w.count("fault: " + string(c.Endpoint) + " " + side + " " + modeName(f))
	return f
}

func (w *world) drawFault(e gangwaytest.Endpoint) gangwaytest.Fault {
	modes := []gangwaytest.Mode{
		gangwaytest.Answer, gangwaytest.Cut, gangwaytest.CutBody, gangwaytest.EmptyObj,
		gangwaytest.HTMLPage, gangwaytest.Timeout, gangwaytest.Refuse, gangwaytest.Lost,
	}
	f := gangwaytest.Fault{Mode: modes[w.rng.IntN(len(modes))], When: gangwaytest.Moment(w.rng.IntN(2))}
	if f.Mode == gangwaytest.Refuse {
		f.When = gangwaytest.Before // nobody is refused after the work
	}
	if f.Mode == gangwaytest.Answer {
		statuses := []int{429, 500, 502, 503, 504, 408, 401, 403}
		if f.When == gangwaytest.After {
			statuses = []int{500, 502, 503, 504, 408}
		}
		f.Status = statuses[w.rng.IntN(len(statuses))]
		if f.Status == 429 && w.rng.IntN(2) == 0 {
			f.RetryAfter = []string{"30", "600", "86400"}[w.rng.IntN(3)]
		}
	}
	if e == gangwaytest.Create && f.When == gangwaytest.After && w.rng.IntN(3) == 0 {
		f.Delay = time.Duration(w.rng.IntN(12)) * time.Second // the server is slow, the client gone
		if w.rng.IntN(8) == 0 {
			f.Delay = time.Duration(w.rng.IntN(90)) * time.Second
		}
	}
	if e == gangwaytest.BulkChange && w.rng.IntN(2) == 0 {
		f.Delay = time.Duration(w.rng.IntN(600)) * time.Second
	}
	return f
}

func modeName(f gangwaytest.Fault) string {
	names := map[gangwaytest.Mode]string{
		gangwaytest.Cut: "connection cut", gangwaytest.CutBody: "body cut", gangwaytest.EmptyObj: "empty object",
		gangwaytest.HTMLPage: "HTML page", gangwaytest.Timeout: "time-out", gangwaytest.Refuse: "refused",
		gangwaytest.Lost: "lost inside", gangwaytest.Answer: "status",
	}
	return names[f.Mode]
}
