package gangwaytest

import (
	"strings"
	"time"

	"prowgate/gangway/prow"
)

// The layout of a ci-operator multi-stage run: artifacts/<test>/<step>/finished.json, and what a step
// uploads itself below artifacts/<test>/<step>/artifacts/.
const (
	testName = "e2e-parallel"
	preStep  = "aro-hcp-provision-environment"
	testStep = "aro-hcp-test-local"
	postStep = "aro-hcp-deprovision-environment"
)

// Passing returns a job that succeeds after d.
func Passing(d time.Duration) Script {
	return run(d, prow.Success, "Job succeeded.", []stepRun{{preStep, true, ""}, {testStep, true, suite(nil, nil)}, {postStep, true, ""}})
}

// Failing returns a job whose tests ran, and failed, by d: failed names the failed tests, allowed those
// that are labelled as known issues, whether they failed or not.
func Failing(d time.Duration, failed, allowed []string) Script {
	return run(d, prow.Failure, "Job failed.", []stepRun{{preStep, true, ""}, {testStep, false, suite(failed, allowed)}, {postStep, true, ""}})
}

// InfraFailing returns a job that fails by d before its tests: the pre step fails, the test step never
// runs, the post step does.
func InfraFailing(d time.Duration) Script {
	return run(d, prow.Failure, "Job failed.", []stepRun{{preStep, false, ""}, {postStep, true, ""}})
}

// Erroring returns a job that ends in an error after d without ever having had a pod.
func Erroring(d time.Duration) Script {
	return Script{Steps: []Step{{After: d, State: prow.Errored, Description: "Pod can not be created: unknown cluster alias."}}}
}

// Hanging returns a job that stays pending until somebody ends it.
func Hanging() Script {
	return Script{Steps: []Step{{After: 0, State: prow.Pending, Description: "Job triggered."}}}
}

// AbortedByOthers returns a job that somebody else aborts after d.
func AbortedByOthers(d time.Duration) Script {
	s := Hanging()
	s.Steps[0].After = d / 4
	s.Steps = append(s.Steps, Step{After: d, State: prow.Aborted, Description: "Aborted by somebody else."})
	s.Artifacts = []Artifact{{After: d, Path: "finished.json", Body: `{"timestamp":$TIMESTAMP,"passed":false,"result":"ABORTED"}`}}
	return s
}

// Demo returns scripts by the ending of a job's name, for Options.ScriptFor: -pass, -fail (failed tests
// that are no known issue), -flaky (failed tests that all are), -infra, -error, -aborted, -hang. A run
// takes as long as given.
func Demo(pass time.Duration) func(jobName string) (Script, bool) {
	unknown := "Engineering should create a cluster and delete it"
	known := []string{"Customer should see the console", "Customer should scale a node pool"}
	scripts := []struct {
		suffix string
		script Script
	}{
		{"-pass", Passing(pass)},
		{"-fail", Failing(pass, []string{unknown, known[0]}, known)},
		{"-flaky", Failing(pass, known[:1], known)},
		{"-infra", InfraFailing(pass)},
		{"-error", Erroring(pass)},
		{"-aborted", AbortedByOthers(pass)},
		{"-hang", Hanging()},
	}
	return func(jobName string) (Script, bool) {
		for _, s := range scripts {
			if strings.HasSuffix(jobName, s.suffix) {
				s.script.ExtraRefs = []prow.Refs{{Org: "Azure", Repo: "ARO-HCP", BaseRef: "main"}}
				return s.script, true
			}
		}
		return Script{}, false
	}
}

// stepRun is one step of a run; metadata is that of its finished.json, "" for none.
type stepRun struct {
	name     string
	passed   bool
	metadata string
}

// run puts a job's steps at even distances, the first quarter being the wait for a pod.
func run(d time.Duration, end prow.State, description string, steps []stepRun) Script {
	pending := d / 4
	s := Script{Steps: []Step{
		{After: pending, State: prow.Pending, Description: "Job triggered."},
		{After: d, State: end, Description: description},
	}}
	for i, step := range steps {
		at := pending + (d-pending)*time.Duration(i+1)/time.Duration(len(steps)+1)
		s.Artifacts = append(s.Artifacts, step.artifacts(at)...)
	}
	return s.with(d, "build-log.txt", "INFO ci-operator version v20261101\nINFO "+description+"\n").
		with(d, "artifacts/ci-operator.log", `{"level":"info","msg":"`+description+`"}`).
		with(d, "finished.json", finished(end == prow.Success,
			`{"infra-commit":"4f2f4a1","repo":"Azure/ARO-HCP","repos":{"Azure/ARO-HCP":"main"},"work-namespace":"ci-op-stand-in"}`))
}

// with adds an artifact.
func (s Script) with(after time.Duration, path, body string) Script {
	s.Artifacts = append(s.Artifacts, Artifact{After: after, Path: path, Body: body, Gzip: strings.HasSuffix(path, ".txt")})
	return s
}

// artifacts are a step's own finished.json, its log, and uploads, of which one has a deceptive name.
func (r stepRun) artifacts(at time.Duration) []Artifact {
	root := "artifacts/" + testName + "/" + r.name + "/"
	return Script{}.
		with(at, root+"build-log.txt", "step "+r.name+"\n").
		with(at, root+"artifacts/junit.xml", "<testsuites></testsuites>").
		with(at, root+"artifacts/finished.json", `{"metadata":{"ev2-failed-tests":["not a step's result"],"ev2-allow-retry-tests":"wrong type"}}`).
		with(at, root+"finished.json", finished(r.passed, r.metadata)).Artifacts
}

// finished is a finished.json as the sidecar writes it (prow, pkg/sidecar/run.go).
func finished(passed bool, metadata string) string {
	result := `"passed":false,"result":"FAILURE"`
	if passed {
		result = `"passed":true,"result":"SUCCESS"`
	}
	if metadata == "" {
		metadata = "{}"
	}
	return `{"timestamp":$TIMESTAMP,` + result + `,"metadata":` + metadata + `}`
}

// suite is the metadata that the ARO-HCP test step writes when its suite has finished.
func suite(failed, allowed []string) string {
	var labelled []string
	for _, f := range failed {
		for _, a := range allowed {
			if f == a {
				labelled = append(labelled, f)
			}
		}
	}
	list := func(names []string) []string { return append([]string{}, names...) }
	return string(marshal(map[string]any{
		"ev2-failed-tests":      list(failed),
		"ev2-allow-retry-tests": list(labelled),
		"ev2-suite-summary":     map[string]any{"total": 40, "failed": len(failed), "passed": 40 - len(failed), "skipped": 0},
	}))
}
