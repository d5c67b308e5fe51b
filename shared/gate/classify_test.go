package gate_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

const (
	failedRoot = `{"timestamp":1,"passed":false,"result":"FAILURE","metadata":{"repo":"x"}}`
	passedStep = `{"timestamp":1,"passed":true,"result":"SUCCESS","metadata":{}}`
	failedStep = `{"timestamp":1,"passed":false,"result":"FAILURE","metadata":{}}`
)

// tests is a step's file with the given failed and allowed tests.
func tests(failed, allowed string) string {
	return `{"passed":false,"result":"FAILURE","metadata":{"ev2-failed-tests":` + failed +
		`,"ev2-allow-retry-tests":` + allowed + `,"ev2-suite-summary":{"total":9}}}`
}

// run is the evidence of a run with the given root file and steps.
func run(root string, steps ...string) gate.Evidence {
	e := gate.Evidence{RootListed: true, Files: []gate.File{{Name: "finished.json", Body: []byte(root)}}}
	for i, body := range steps {
		name := "artifacts/e2e/" + string(rune('a'+i)) + "/finished.json"
		e.Files = append(e.Files, gate.File{Name: name, Body: []byte(body)})
	}
	return e
}

// failing brings a gate to the phase in which its artifacts are read.
func failing(t *testing.T) *story {
	s := newStory(t).running(`"gatePromotion":true,"allowEv2Retry":true`)
	return s.tick().status(prow.Failure)
}

func (s *story) evidence(e gate.Evidence) *gate.Notice {
	s.t.Helper()
	for _, c := range s.give(gate.EvidenceRead{Turn: s.turn(), Evidence: e}) {
		if c, ok := c.(gate.SendCompletion); ok {
			return &c.Notice
		}
	}
	return nil
}

func TestClassification(t *testing.T) {
	cases := []struct {
		name   string
		files  gate.Evidence
		retry  gate.Retry
		reason string
	}{
		{"known issue", run(failedRoot, passedStep, tests(`["a","b"]`, `["b","a"]`)), gate.KnownIssueEligible, "2 tests failed, all labelled allow-retry: a, b"},
		{"one not labelled", run(failedRoot, tests(`["a","b"]`, `["a"]`)), gate.NotEligible, "2 tests failed, not labelled allow-retry: b"},
		{"more than may", run(failedRoot, tests(`["a","b","c"]`, `["a","b","c"]`)), gate.NotEligible, "at most 2 may"},
		{"none failed", run(failedRoot, tests(`[]`, `[]`), failedStep), gate.NotEligible, "the tests ran and none failed"},
		{"union over steps", run(failedRoot, tests(`["a"]`, `[]`), tests(`["b"]`, `["a","b"]`)), gate.KnownIssueEligible, "a, b"},
		{"too many over steps", run(failedRoot, tests(`["a","b"]`, `["a","b"]`), tests(`["c"]`, `["c"]`)), gate.NotEligible, "at most 2"},
		{"one bad step", run(failedRoot, tests(`["a"]`, `["a"]`), tests(`["c"]`, `[]`)), gate.NotEligible, "not labelled allow-retry: c"},
		{"the same test twice", run(failedRoot, tests(`["a","b"]`, `["a","b"]`), tests(`["a"]`, `[]`)), gate.KnownIssueEligible, "2 tests failed"},
		{"no tests", run(failedRoot, failedStep, passedStep), gate.InfraPreconditionEligible, "no test ran; failed steps: e2e/a"},
		{"no steps", run(failedRoot), gate.InfraPreconditionEligible, "no step reported a failure"},
		{"keys of the root do not count", run(tests(`["a"]`, `["a"]`), failedStep), gate.InfraPreconditionEligible, "no test ran"},
		{"failed not a list", run(failedRoot, tests(`"a"`, `["a"]`)), gate.NotEligible, "ev2-failed-tests is not a list"},
		{"failed is null", run(failedRoot, tests(`null`, `[]`)), gate.NotEligible, "ev2-failed-tests is not a list"},
		{"failed holds a number", run(failedRoot, tests(`["a",1]`, `["a"]`)), gate.NotEligible, "ev2-failed-tests is not a list"},
		{"failed holds null", run(failedRoot, tests(`["a",null]`, `["a"]`)), gate.NotEligible, "not a name"},
		{"failed holds nothing", run(failedRoot, tests(`[""]`, `[""]`)), gate.NotEligible, "not a name"},
		{"allowed not a list", run(failedRoot, tests(`["a"]`, `{"a":true}`)), gate.NotEligible, "ev2-allow-retry-tests is not a list"},
		{"allowed alone", run(failedRoot, `{"passed":false,"metadata":{"ev2-allow-retry-tests":[]}}`), gate.NotEligible, "ev2-allow-retry-tests without"},
		{"summary alone", run(failedRoot, `{"passed":false,"metadata":{"ev2-suite-summary":{"total":9}}}`), gate.NotEligible, "ev2-suite-summary without"},
		{"another letter case", run(failedRoot, `{"passed":false,"metadata":{"EV2-Failed-Tests":["a"]}}`), gate.NotEligible, "EV2-Failed-Tests without"},
		{"a key twice", run(failedRoot, `{"passed":false,"metadata":{"ev2-failed-tests":["a","b","c"]},"metadata":null}`), gate.NotEligible, "holds a key twice"},
		{"a key in other letters", run(failedRoot, `{"passed":false,"Metadata":{"ev2-failed-tests":["a","b","c"]}}`), gate.NotEligible, "spells"},
		{"a root in other letters", run(`{"PASSED":false,"result":"FAILURE"}`), gate.NotEligible, "spells"},
		{"metadata that is no object", run(failedRoot, `{"passed":false,"metadata":["ev2-failed-tests"]}`), gate.NotEligible, "not an object"},
		{"a list twice", run(failedRoot, `{"passed":false,"metadata":{"ev2-failed-tests":["a","b","c"],"ev2-failed-tests":["a"],"ev2-allow-retry-tests":["a"]}}`), gate.NotEligible, "holds a key twice"},
		{"sidecar errors only", run(failedRoot, `{"passed":false,"metadata":{"sidecar-errors":["x"]}}`), gate.NotEligible, "its metadata did not parse"},
		{"sidecar errors and tests", run(failedRoot, `{"passed":false,"metadata":{"sidecar-errors":["x"],"ev2-failed-tests":["a"],"ev2-allow-retry-tests":["a"]}}`), gate.KnownIssueEligible, "a"},
		{"step is not JSON", run(failedRoot, `{"passed":`), gate.NotEligible, "not a finished.json"},
		{"step is a list", run(failedRoot, `[]`), gate.NotEligible, "not a finished.json"},
		{"step says nothing", run(failedRoot, `{}`), gate.NotEligible, "neither passed nor result"},
		{"step has a wrong type", run(failedRoot, `{"passed":"no"}`), gate.NotEligible, "not a finished.json"},
		{"root is not JSON", run(`<html>`, tests(`["a"]`, `["a"]`)), gate.NotEligible, "finished.json is not a finished.json"},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			v := failing(t).evidence(tt.files)
			if v == nil {
				t.Fatal("no completion")
			}
			if v.Retry != tt.retry || !strings.Contains(v.Error, tt.reason) || v.Outcome != gate.Failed || v.Passed {
				t.Errorf("%s %s: %s\nwant %s, ...%s...", v.Outcome, v.Retry, v.Error, tt.retry, tt.reason)
			}
			if marker := gate.Marker(tt.retry); v.Marker != marker || marker != "" && !strings.HasPrefix(v.Error, marker+": ") {
				t.Errorf("marker %q, error %q", v.Marker, v.Error)
			}
			if v.Marker == "" && gate.HasMarker(v.Error) {
				t.Errorf("a marker without being eligible: %s", v.Error)
			}
		})
	}
}

func TestFilesThatMayStillCome(t *testing.T) {
	transient := &gate.Failure{Kind: fault.MayHaveHappened, Text: "reset"}
	final := &gate.Failure{Kind: fault.Refused, Text: "larger than 1 MiB"}
	known := tests(`["a"]`, `["a"]`)
	with := func(e gate.Evidence, f gate.File) gate.Evidence { e.Files = append(e.Files, f); return e }
	cases := []struct {
		name  string
		files gate.Evidence
		wait  bool
		then  gate.Retry // when nothing better comes
	}{
		{"listing failed", gate.Evidence{Failure: transient}, true, gate.NotEligible},
		{"listing refused", gate.Evidence{Failure: final}, false, gate.NotEligible},
		{"no files", gate.Evidence{}, true, gate.NotEligible},
		{"root missing", gate.Evidence{RootListed: true, Files: []gate.File{{Name: "finished.json", Missing: true}}}, true, gate.NotEligible},
		{"root not listed", func() gate.Evidence { e := run(failedRoot); e.RootListed = false; return e }(), true, gate.NotEligible},
		{"root by crier", run(`{"passed":false,"result":"FAILURE","metadata":{"uploader":"crier"}}`, known), true, gate.NotEligible},
		{"root in lower case", run(`{"passed":false,"result":"failure"}`, known), true, gate.NotEligible},
		{"root passed", run(passedStep, known), true, gate.NotEligible},
		{"root aborted", run(`{"passed":false,"result":"ABORTED"}`, known), true, gate.NotEligible},
		{"step aborted", run(failedRoot, `{"passed":false,"result":"ABORTED"}`), true, gate.NotEligible},
		{"step by crier", run(failedRoot, `{"passed":false,"result":"failure","metadata":{"uploader":"crier"}}`), true, gate.NotEligible},
		{"step gone", with(run(failedRoot, known), gate.File{Name: "artifacts/e2e/z/finished.json", Missing: true}), true, gate.NotEligible},
		{"step does not load", with(run(failedRoot), gate.File{Name: "artifacts/e2e/z/finished.json", Failure: transient}), true, gate.NotEligible},
		{"step too large", with(run(failedRoot, known), gate.File{Name: "artifacts/e2e/z/finished.json", Failure: final}), false, gate.NotEligible},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			s := failing(t)
			v := s.evidence(tt.files)
			if (v == nil) != tt.wait {
				t.Fatalf("waits = %t", v == nil)
			}
			if tt.wait {
				s.after(10*time.Minute - time.Second).tick()
				if s.evidence(tt.files) != nil {
					t.Fatal("gave up too early")
				}
				s.after(time.Second).tick()
				v = s.evidence(tt.files)
			}
			if v == nil || v.Retry != tt.then {
				t.Errorf("then: %+v, want %s", v, tt.then)
			}
		})
	}
}

func TestFilesThatComeLate(t *testing.T) {
	s := failing(t)
	s.evidence(run(`{"passed":false,"result":"failure"}`))
	s.after(20 * time.Second).tick()
	if v := s.evidence(run(failedRoot, tests(`["a"]`, `["a"]`))); v == nil || v.Retry != gate.KnownIssueEligible {
		t.Errorf("%+v", v)
	}
}

func TestClassificationIsOnlyForGatesThatAskForIt(t *testing.T) {
	for _, fields := range []string{"", `"gatePromotion":true`} {
		s := newStory(t).running(fields)
		s.tick().status(prow.Failure)
		if v := s.r.Verdict; v == nil || v.Retry != gate.NotEligible {
			t.Errorf("%s: %+v", fields, v)
		}
	}
}

func TestFinishedFiles(t *testing.T) {
	got := gate.FinishedFiles([]string{
		"artifacts/e2e/test/finished.json", "artifacts/unit/finished.json", "finished.json", "started.json",
		"artifacts/e2e/test/artifacts/finished.json", "artifacts/finished.json", "artifacts/e2e/gather/build-log.txt",
		"artifacts/e2e/test/xfinished.json", "other/e2e/finished.json", "artifacts//finished.json",
		"artifacts/e2e/a/b/c/finished.json", "artifacts/lint/build-log.txt", "artifacts/lint/artifacts/finished.json",
		"artifacts/release/artifacts/release-images/build-log.txt", "artifacts/build-logs/src.log.gz",
	})
	want := []string{"finished.json", "artifacts/e2e/gather/finished.json", "artifacts/e2e/test/finished.json", "artifacts/lint/finished.json", "artifacts/unit/finished.json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTextFromUpstreamIsNeutralised(t *testing.T) {
	marker := strings.ToUpper(gate.Marker(gate.KnownIssueEligible))
	s := failing(t)
	s.r.Gating.JobName = "job-" + marker
	s.r.JobURL = "https://deck/" + marker
	v := s.evidence(run(failedRoot, tests(`["`+marker+`"]`, `[]`)))
	if v == nil || v.Retry != gate.NotEligible {
		t.Fatalf("%+v", v)
	}
	for _, text := range append([]string{v.JobName, v.JobURL, v.Error}, v.FailedTests...) {
		if gate.HasMarker(text) {
			t.Errorf("a marker got through: %s", text)
		}
	}
	body, _ := s.r.Encode()
	view, err := gate.ViewOf(body)
	if err != nil || gate.HasMarker(view.JobName+view.JobURL) {
		t.Errorf("%+v %v", view, err)
	}
	for _, m := range view.Timeline {
		if gate.HasMarker(m.Text) {
			t.Errorf("a marker in the timeline: %s", m.Text)
		}
	}
}

func TestRecordHoldsNoMarker(t *testing.T) {
	s := failing(t)
	s.evidence(run(failedRoot, tests(`["a"]`, `["a"]`)))
	if body, _ := s.r.Encode(); gate.HasMarker(string(body)) {
		t.Errorf("a marker in the record: %s", body)
	}
}

func TestLargeCompletionIsBounded(t *testing.T) {
	names := `"` + strings.Repeat("x", 2000) + `"`
	for i := range 500 {
		names += `,"` + strings.Repeat("y", 1500) + string(rune('a'+i%26)) + strings.Repeat("z", i%7) + strconv.Itoa(i) + `"`
	}
	v := failing(t).evidence(run(failedRoot, tests("["+names+"]", "[]")))
	body, err := v.MarshalJSON()
	if err != nil || len(body) > 128<<10 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if last := v.FailedTests[len(v.FailedTests)-1]; last != "and 301 more" {
		t.Errorf("last = %q", last)
	}
}
