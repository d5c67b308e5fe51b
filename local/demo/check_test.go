package main

import (
	"errors"
	"strings"
	"testing"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// good is an ending in which every story of the demo ended as it should.
func good() ending {
	e := ending{views: map[string]gate.View{}, sibling: "sibling", service: map[string]string{"log": "quiet"}}
	e.jobs = []job{{ID: "sibling", State: prow.Pending}}
	for _, st := range stories() {
		r := result{story: st, gateID: st.name, exit: st.want.exit, seen: "verdict"}
		if m := gate.Marker(st.want.retry); m != "" {
			r.seen = m + ": verdict"
		}
		v := gate.View{Phase: gate.PhaseDone, Outcome: st.want.outcome}
		if st.want.abort != "" {
			v.Abort = &gate.AbortReport{Outcome: st.want.abort}
		}
		j := job{ID: "job of " + st.name, State: st.want.state}
		switch {
		case st.before == createJob:
			r.adopted = j.ID
			e.jobs = append(e.jobs, j)
		case st.want.jobs > 0:
			j.Labels = map[string]string{gate.KeyGateID: r.gateID}
			e.jobs = append(e.jobs, j)
		}
		e.results, e.views[r.gateID] = append(e.results, r), v
	}
	return e
}

// index returns the place of the first story that is as asked.
func index(t *testing.T, ok func(story) bool) int {
	t.Helper()
	for i, st := range stories() {
		if ok(st) {
			return i
		}
	}
	t.Fatal("the demo has no such story")
	return 0
}

func TestCheckAcceptsAGoodEnding(t *testing.T) {
	if err := check(good()).err(); err != nil {
		t.Error(err)
	}
}

func TestCheckFinds(t *testing.T) {
	eligible := index(t, func(s story) bool { return s.want.retry == gate.KnownIssueEligible })
	passing := index(t, func(s story) bool { return s.want.outcome == gate.Succeeded })
	cancelled := index(t, func(s story) bool { return s.signal })
	adopting := index(t, func(s story) bool { return s.before == createJob })
	known, infra := gate.Marker(gate.KnownIssueEligible), gate.Marker(gate.InfraPreconditionEligible)
	cases := []struct {
		name  string
		story int // -1: about no story
		spoil func(e *ending)
	}{
		{"a step that did not run", passing, func(e *ending) { e.results[passing].err = errors.New("no") }},
		{"an exit code", passing, func(e *ending) { e.results[passing].exit = 3 }},
		{"an outcome", passing, func(e *ending) { e.views[e.results[passing].gateID] = gate.View{Phase: gate.PhaseDone} }},
		{"a missing marker", eligible, func(e *ending) { e.results[eligible].seen = "verdict" }},
		{"the other marker", eligible, func(e *ending) { e.results[eligible].seen = infra }},
		{"a marker twice", eligible, func(e *ending) { e.results[eligible].seen += known }},
		{"a marker in capitals", passing, func(e *ending) { e.results[passing].seen = strings.ToUpper(known) }},
		{"a marker in a log", -1, func(e *ending) { e.service["log"] = known }},
		{"a job left running", cancelled, func(e *ending) { e.jobs[cancelled+1].State = prow.Pending }},
		{"an abort that is not reported", cancelled, func(e *ending) {
			e.views[e.results[cancelled].gateID] = gate.View{Phase: gate.PhaseDone, Outcome: gate.Cancelled}
		}},
		{"a second job", passing, func(e *ending) { e.jobs = append(e.jobs, e.jobs[passing+1]) }},
		{"an adopted job that was touched", adopting, func(e *ending) {
			for i := range e.jobs {
				if e.jobs[i].ID == e.results[adopting].adopted {
					e.jobs[i].State = prow.Aborted
				}
			}
		}},
		{"a job that nobody asked for", -1, func(e *ending) { e.jobs = append(e.jobs, job{ID: "stray"}) }},
		{"a sibling that was aborted", -1, func(e *ending) { e.jobs[0].State = prow.Aborted }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := good()
			c.spoil(&e)
			f := check(e)
			if f.err() == nil {
				t.Fatal("not found")
			}
			if c.story >= 0 && len(f.of[c.story]) == 0 || c.story < 0 && len(f.rest) == 0 {
				t.Errorf("found in the wrong place: %+v", f)
			}
		})
	}
}

func TestPrintShowsWhatAStepSees(t *testing.T) {
	e := good()
	f := check(e)
	var out strings.Builder
	printStep(&out, e.results[1], []string{"a finding"})
	printTable(&out, e, f)
	for _, want := range []string{"== passes", "  | verdict\n", "exit code 0", "a finding", "known-issue", "fails before its tests"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown in:\n%s", want, out.String())
		}
	}
}

func TestEnvironmentKeepsTheDemoToItself(t *testing.T) {
	for _, name := range []string{"GANGWAY_URL", "GANGWAY_TOKEN", "PROW_URL", "QUEUE_URL", "STORE_URL", "SUBMIT_QUEUE"} {
		t.Setenv(name, "https://elsewhere.example")
	}
	for _, entry := range environment() {
		if strings.HasSuffix(entry, "elsewhere.example") {
			t.Errorf("%s would reach the demo's processes", entry)
		}
	}
}
