package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// findings are what did not end as it should.
type findings struct {
	of   [][]string // by story
	rest []string   // about no story
}

// err is nil when there are none.
func (f findings) err() error {
	n := len(f.rest)
	for _, of := range f.of {
		n += len(of)
	}
	if n == 0 {
		return nil
	}
	return errors.Join(append(asErrors(f.rest), fmt.Errorf("%d things did not end as they should", n))...)
}

func asErrors(texts []string) []error {
	var errs []error
	for _, text := range texts {
		errs = append(errs, errors.New(text))
	}
	return errs
}

// check compares the ending with what the stories want.
func check(e ending) findings {
	var f findings
	for _, r := range e.results {
		f.of = append(f.of, slices.Concat(r.checkStep(), r.checkMarkers(), r.checkView(e.views[r.gateID]), r.checkJobs(e.jobs)))
	}
	for _, where := range slices.Sorted(maps.Keys(e.service)) {
		if gate.HasMarker(e.service[where]) {
			f.rest = append(f.rest, "an EV2 marker in "+where)
		}
	}
	f.rest = append(f.rest, e.checkOthers()...)
	return f
}

func (r result) checkStep() []string {
	if r.err != nil {
		return []string{r.err.Error()}
	}
	if r.exit != r.want.exit {
		return []string{fmt.Sprintf("exit code %d instead of %d", r.exit, r.want.exit)}
	}
	return nil
}

// markerIn names the EV2 marker that a text contains, for people.
func markerIn(seen string) string {
	for _, r := range []gate.Retry{gate.KnownIssueEligible, gate.InfraPreconditionEligible} {
		if strings.Contains(seen, gate.Marker(r)) {
			return strings.TrimSuffix(string(r), "-eligible")
		}
	}
	return "-"
}

// checkMarkers wants the marker of the story's classification once, and no other trace of any.
func (r result) checkMarkers() []string {
	seen := r.seen
	if marker := gate.Marker(r.want.retry); marker != "" {
		before, after, found := strings.Cut(seen, marker)
		if !found {
			return []string{"its EV2 marker is missing"}
		}
		seen = before + after
	}
	if gate.HasMarker(seen) {
		return []string{"an EV2 marker too many"}
	}
	return nil
}

func (r result) checkView(v gate.View) []string {
	var found []string
	if v.Phase != gate.PhaseDone || v.Outcome != r.want.outcome {
		found = append(found, fmt.Sprintf("phase %q, outcome %q instead of %q", v.Phase, v.Outcome, r.want.outcome))
	}
	if got := abortOf(v); got != r.want.abort {
		found = append(found, fmt.Sprintf("abort %q instead of %q", got, r.want.abort))
	}
	return found
}

func abortOf(v gate.View) gate.AbortOutcome {
	if v.Abort == nil {
		return ""
	}
	return v.Abort.Outcome
}

// ownJobs returns the jobs that carry the gate's id.
func (r result) ownJobs(jobs []job) []job {
	var own []job
	for _, j := range jobs {
		if j.Labels[gate.KeyGateID] == r.gateID {
			own = append(own, j)
		}
	}
	return own
}

// checkJobs wants as many jobs as the story may make, and the job in its state.
func (r result) checkJobs(jobs []job) []string {
	var found []string
	own := r.ownJobs(jobs)
	if len(own) != r.want.jobs {
		found = append(found, fmt.Sprintf("%d jobs were made instead of %d", len(own), r.want.jobs))
	}
	for _, j := range jobs {
		if j.ID == r.adopted {
			own = append(own, j)
		}
	}
	for _, j := range own {
		if j.State != r.want.state {
			found = append(found, fmt.Sprintf("the job is in state %q instead of %q", j.State, r.want.state))
		}
	}
	return found
}

// checkOthers wants the sibling untouched, and no job that nobody asked for.
func (e ending) checkOthers() []string {
	var found []string
	wanted := 1
	for _, r := range e.results {
		wanted += r.want.jobs
		if r.adopted != "" {
			wanted++
		}
	}
	if len(e.jobs) != wanted {
		found = append(found, fmt.Sprintf("the stand-in has %d jobs instead of %d", len(e.jobs), wanted))
	}
	i := slices.IndexFunc(e.jobs, func(j job) bool { return j.ID == e.sibling })
	if i < 0 || e.jobs[i].State != prow.Pending {
		found = append(found, "the sibling job, which no gate owns, was touched")
	}
	return found
}
