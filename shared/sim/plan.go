package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
	"prowgate/shared/engine"
	"prowgate/shared/gate"
	"prowgate/shared/queue"
	"prowgate/shared/store"
)

// plannedGate is a gate as the pipeline knows it, and what is true of it.
type plannedGate struct {
	id          string
	message     gate.Gating
	rejected    bool       // its message breaks a rule
	residual    bool       // a job of it came into being later than the look-again window covers
	arrived     bool       // its gating message was sent
	taken       bool       // its gating message was completed by a handler
	truth       gate.Retry // what a perfect reader of the artifacts of JobName would say
	retry       gate.Retry // the same of the gate's own job, if the gate asks
	arrive      time.Time  // when its gating message is sent
	cancelAt    time.Time  // when its cancel message is sent; zero: never
	cancelTaken time.Time  // when a handler completed it
	phase       gate.Phase // as last saved
	verdicts    map[string]int
	completion  gate.Notice
}

// plan draws the gates of a run and when their messages come.
func (w *world) plan() {
	w.arrivals = 180
	n := w.opts.Gates
	if n == 0 {
		n = 1 + w.rng.IntN(5)
		if w.rng.IntN(50) == 0 { // a rollout to many regions at once
			n, w.arrivals = 20, 20
		}
		if w.rates.lag > 0 { // a line in which all can be late
			n, w.arrivals = 40, 20
		}
	}
	w.calmAt = epoch.Add(time.Duration(20+w.rng.IntN(40)) * time.Minute)
	if w.opts.Calm {
		w.calmAt = epoch
	}
	last := w.calmAt
	for i := range n {
		g := w.planGate(i)
		w.gates = append(w.gates, g)
		w.byID[g.id] = g
		if end := epoch.Add(time.Duration(g.message.Timeout)); end.After(last) {
			last = end
		}
	}
	// Beyond the last deadline lie at most the 65 minutes of a submission that does not get through, the
	// line at the rate limit, and an abort that waits until its own gate's deadline.
	w.endAt = last.Add(5 * time.Hour)
	w.foreignJobs()
}

func (w *world) planGate(i int) *plannedGate {
	g := &plannedGate{id: fmt.Sprintf("gate-%d", i), verdicts: map[string]int{}}
	g.message = w.drawMessage(g.id)
	if i > 0 && w.rng.IntN(3) == 0 { // the same job for another region
		other := w.gates[w.rng.IntN(i)]
		g.message.JobName, g.truth = other.message.JobName, other.truth
	} else {
		g.message.JobName, g.truth = w.planJob(i)
	}
	g.retry = gate.NotEligible
	if g.message.AllowEV2Retry {
		g.retry = g.truth
	}
	if !w.opts.Burst && w.rng.IntN(8) == 0 {
		w.planAdoption(g)
	}
	w.planMessages(g)
	return g
}

// planAdoption lets a gate monitor a job that somebody else has started.
func (w *world) planAdoption(g *plannedGate) {
	script, truth := w.drawScript()
	g.retry = gate.NotEligible
	if g.message.AllowEV2Retry {
		g.retry = truth
	}
	g.message.ExecutionID = w.prow.AddForeign(gangwaytest.Foreign{
		JobName: g.message.JobName, Type: prow.Periodic, Script: &script,
		ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}},
	})
}

// planJob configures a job, and returns its name and what its artifacts say about a retry.
func (w *world) planJob(i int) (string, gate.Retry) {
	name := fmt.Sprintf("branch-ci-Azure-ARO-HCP-main-e2e-integration-e2e-parallel-%d", i)
	if w.rng.IntN(3) == 0 {
		name = fmt.Sprintf("branch-ci-Azure-ARO-HCP-main-e2e-with-a-name-beyond-63-characters-%d", i)
	}
	script, truth := w.drawScript()
	w.planHistory(name)
	if w.rng.IntN(5) > 0 {
		script.ExtraRefs = []prow.Refs{{Org: "Azure", Repo: "ARO-HCP", BaseRef: "main"}}
	}
	w.prow.SetScript(name, script)
	return name, truth
}

// planHistory lets a job have been run before, so that its gates ask more often when they expect its end.
func (w *world) planHistory(job string) {
	if w.rng.IntN(2) == 0 || w.opts.Burst {
		return
	}
	var runs gate.Runs
	for range w.rng.IntN(12) {
		runs = runs.With(time.Duration(w.rng.IntN(20*60)) * time.Second)
	}
	body, err := json.Marshal(runs)
	if err == nil {
		_, err = w.store.Save(context.Background(), store.Entry{Key: engine.RunsKey(job), Body: body})
	}
	if err != nil {
		panic(err)
	}
}

func (w *world) drawMessage(id string) gate.Gating {
	m := gate.Gating{
		GateID: id, Cloud: "public", Environment: "int", Region: "westus3",
		PollInterval: gate.Duration(time.Duration(30+w.rng.IntN(180)) * time.Second),
		Timeout:      gate.Duration(time.Duration(5+w.rng.IntN(40)) * time.Minute),
		Org:          "Azure", Repo: "ARO-HCP", BaseRef: "main",
		MaxEV2AutoRetryFailures: 2, AbortOnCancel: w.rng.IntN(5) > 0,
		GatePromotion: w.rng.IntN(3) > 0,
	}
	m.DryRun = !w.opts.Burst && w.rng.IntN(30) == 0
	m.AllowEV2Retry = m.GatePromotion && w.rng.IntN(4) > 0
	if w.rng.IntN(2) == 0 {
		m.BaseSHA = "0123456789abcdef0123456789abcdef01234567"
	}
	if w.opts.Burst {
		m.Timeout, m.BaseSHA = gate.Duration(time.Hour), ""
	}
	return m
}

// drawScript draws what the job does, and what its artifacts say about a retry.
func (w *world) drawScript() (gangwaytest.Script, gate.Retry) {
	d := time.Duration(60+w.rng.IntN(20*60)) * time.Second
	if w.opts.Burst {
		return gangwaytest.Passing(4 * time.Minute), gate.NotEligible // by when all have long been running
	}
	var s gangwaytest.Script
	retry := gate.NotEligible
	switch w.rng.IntN(8) {
	case 0, 1:
		s = gangwaytest.Passing(d)
	case 2:
		s, retry = gangwaytest.Failing(d, []string{"a"}, []string{"a", "b"}), gate.KnownIssueEligible
	case 3:
		s = gangwaytest.Failing(d, []string{"a", "c " + hostile()}, []string{"a", "b"})
	case 4:
		s, retry = gangwaytest.InfraFailing(d), gate.InfraPreconditionEligible
	case 5:
		s = gangwaytest.Erroring(d)
	case 6:
		s = gangwaytest.AbortedByOthers(d)
	default:
		s = gangwaytest.Hanging()
	}
	s, retry = w.spice(s, retry, d)
	return s, retry
}

// spice adds what real jobs do besides: start in scheduling, lose changes, upload late.
func (w *world) spice(s gangwaytest.Script, retry gate.Retry, d time.Duration) (gangwaytest.Script, gate.Retry) {
	if w.rng.IntN(4) == 0 {
		s.StartState = prow.Scheduling
	}
	if w.rng.Float64() < w.rates.lostChange {
		s.LostChanges, s.OverwrittenChanges = w.rng.IntN(3), w.rng.IntN(2)
	}
	s.AbortedWithoutCompletion = w.rng.IntN(3) == 0
	if w.rng.IntN(6) == 0 && len(s.Steps) > 1 {
		s.Steps = append(s.Steps[:1:1], append([]gangwaytest.Step{{After: d / 2, Revive: true}}, s.Steps[1:]...)...)
	}
	if w.rng.Float64() < w.rates.artifactsLate {
		late := time.Duration(w.rng.IntN(8*60)) * time.Second
		for i, a := range s.Artifacts {
			if strings.HasSuffix(a.Path, "finished.json") && !strings.Contains(a.Path, "/") {
				s.Artifacts[i].After += late
			}
		}
	}
	if w.rng.IntN(6) == 0 && retry == gate.KnownIssueEligible {
		at := s.Steps[len(s.Steps)-1].After
		s.Artifacts = append(s.Artifacts, secondStep(at))
		retry = gate.NotEligible
	}
	return s, retry
}

// secondStep is a step of the same run whose tests failed too, and may not.
func secondStep(at time.Duration) gangwaytest.Artifact {
	return gangwaytest.Artifact{
		After: at, Path: "artifacts/e2e-parallel/zz-second-suite/finished.json",
		Body: `{"passed":false,"result":"FAILURE","metadata":{"ev2-failed-tests":["z"],"ev2-allow-retry-tests":[]}}`,
	}
}

// hostile is a text that wants to be taken for a marker.
func hostile() string { return strings.ToUpper(gate.Marker(gate.KnownIssueEligible)) }

// planMessages draws when the pipeline's messages come, and how often.
func (w *world) planMessages(g *plannedGate) {
	arrive := epoch
	if !w.opts.Burst {
		arrive = epoch.Add(time.Duration(w.rng.IntN(w.arrivals)) * time.Second)
	}
	g.arrive = arrive
	w.at(arrive, func() { g.arrived = true })
	var body any = g.message
	if g.rejected = !w.opts.Burst && w.rng.IntN(30) == 0; g.rejected {
		body = map[string]any{"gateId": g.id, "jobName": hostile(), "region": strings.Repeat(hostile(), 100), "unknown": hostile()}
	}
	w.post(arrive, submitQueue, g.id+".submit", body)
	if w.opts.Burst || w.opts.Calm {
		return
	}
	if w.rng.Float64() < w.rates.duplicate {
		w.count("fault: gating message repeated")
		w.post(arrive.Add(time.Duration(w.rng.IntN(1200))*time.Second), submitQueue, g.id+".submit-again", body)
	}
	if w.rng.IntN(5) > 2 {
		return
	}
	g.cancelAt = epoch.Add(time.Duration(w.rng.IntN(40*60)) * time.Second)
	if w.rng.IntN(3) == 0 {
		g.cancelAt = arrive.Add(time.Duration(w.rng.IntN(30)-5) * time.Second)
	}
	c := gate.CancelRequest{GateID: g.id, Reason: "the rollout was cancelled"}
	w.post(g.cancelAt, cancelQueue, g.id+".cancel", c)
	if w.rng.Float64() < w.rates.duplicate {
		w.count("fault: cancel message repeated")
		w.post(g.cancelAt.Add(time.Duration(w.rng.IntN(300))*time.Second), cancelQueue, g.id+".cancel-again", c)
	}
}

// post sends a message of the pipeline at a time.
func (w *world) post(at time.Time, name, id string, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	if at.After(w.lastPost) {
		w.lastPost = at
	}
	w.at(at, func() {
		_ = w.broker.Send(context.Background(), name, queue.Message{ID: id, Body: encoded})
	})
}

// planOrphan lets somebody abort a job that no gate owns.
func (w *world) planOrphan() {
	s := gangwaytest.Passing(time.Duration(5+w.rng.IntN(40)) * time.Minute)
	w.orphan = w.prow.AddForeign(gangwaytest.Foreign{
		JobName: "nobodys-job", Type: prow.Postsubmit, Script: &s, Refs: &prow.Refs{Org: "Azure", Repo: "ARO-HCP"},
	})
	at := epoch.Add(time.Duration(w.rng.IntN(1200)) * time.Second)
	w.post(at, cancelQueue, "orphan", gate.CancelRequest{ExecutionID: w.orphan, Reason: "nobody waits for it"})
}

// foreignJobs lets other people's jobs start at any time.
func (w *world) foreignJobs() {
	if w.opts.Burst || w.opts.Calm {
		return
	}
	if w.rng.IntN(8) == 0 {
		w.planOrphan()
	}
	for range w.rng.IntN(6) {
		w.at(epoch.Add(time.Duration(w.rng.IntN(1800))*time.Second), func() {
			s := gangwaytest.Passing(time.Duration(1+w.rng.IntN(40)) * time.Minute)
			w.prow.AddForeign(gangwaytest.Foreign{
				JobName: "somebody-elses-job", Type: prow.Periodic, Script: &s,
				ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP"}},
			})
		})
	}
}
