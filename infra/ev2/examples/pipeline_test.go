package examples

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"prowgate/infra/ev2/gate/console"
	"prowgate/shared/gate"
)

// shellStep is what the tests read of a step (ARO-Tools, pipelines/types: shell.go and common.go).
type shellStep struct {
	Name, Action, Command, Timeout string
	Variables                      []variable
	DryRun                         struct{ Variables []variable }
	ShellIdentity                  map[string]any
	AutomatedRetry                 struct {
		ErrorContainsAny       []string
		MaximumRetryCount      int
		DurationBetweenRetries string
	}
}

type variable struct{ Name, Value, ConfigRef string }

// gatingStep returns the one gating step of the pipeline.
func gatingStep(t *testing.T) shellStep {
	t.Helper()
	var p struct {
		ResourceGroups []struct {
			Name            string
			Steps           []map[string]any
			ValidationSteps []shellStep
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "pipeline.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	var steps []shellStep
	for _, g := range p.ResourceGroups {
		steps = append(steps, g.ValidationSteps...)
	}
	if len(steps) != 1 || steps[0].Action != "Shell" || len(steps[0].ShellIdentity) == 0 {
		t.Fatalf("not one shell step with an identity: %+v", steps)
	}
	return steps[0]
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRetryHasBothMarkersAndWhatItReplaces(t *testing.T) {
	retry := gatingStep(t).AutomatedRetry
	texts := retry.ErrorContainsAny
	if len(texts) != 5 {
		t.Fatalf("%d texts", len(texts))
	}
	markers := []string{gate.Marker(gate.KnownIssueEligible), gate.Marker(gate.InfraPreconditionEligible)}
	if d := cmp.Diff(markers, texts[:2]); d != "" {
		t.Errorf("markers (-want +got):\n%s", d)
	}
	for _, text := range texts {
		if console.Text(text) == text {
			t.Errorf("the command prints %q as it comes", text)
		}
	}
	if retry.MaximumRetryCount != 1 {
		t.Errorf("a failure may be retried once, not %d times", retry.MaximumRetryCount)
	}
	if d, err := time.ParseDuration(retry.DurationBetweenRetries); err != nil || d < time.Minute || d > 3*time.Hour {
		t.Errorf("between retries: %s, %v", d, err)
	}
}

func TestStepHasTimeForTheGate(t *testing.T) {
	text := gatingStep(t).Timeout
	d, err := time.ParseDuration(text)
	if err != nil || !regexp.MustCompile(`^[0-9]+[hms]$`).MatchString(text) {
		t.Errorf("timeout %q: %v", text, err)
	}
	if least := gate.DefaultTimeout + 75*time.Minute; d <= least {
		t.Errorf("%s leaves no room for %s", d, least)
	}
}

// used finds the variables that a script takes from the step.
var used = regexp.MustCompile(`\$\{?([A-Z][A-Z_0-9]+)`)

func TestStepProvidesTheVariablesOfItsScript(t *testing.T) {
	// Those that have defaults and that no pipeline need set.
	optional := []string{"BASE_SHA", "LOG_GRACE_SECONDS"}
	step := gatingStep(t)
	provided := []string{"QUEUE_URL"} // which the command reads
	for _, m := range used.FindAllStringSubmatch(read(t, strings.TrimPrefix(step.Command, "./")), -1) {
		if !slices.Contains(optional, m[1]) {
			provided = append(provided, m[1])
		}
	}
	slices.Sort(provided)
	var names []string
	for _, v := range slices.Concat(step.Variables, step.DryRun.Variables) {
		names = append(names, v.Name)
		if (v.Value == "") == (v.ConfigRef == "") {
			t.Errorf("%s has no value, or two", v.Name)
		}
	}
	slices.Sort(names)
	if d := cmp.Diff(slices.Compact(provided), names); d != "" {
		t.Errorf("variables (-used +provided):\n%s", d)
	}
}

func TestScriptsCanBeStarted(t *testing.T) {
	for _, name := range []string{"gate-step.sh", "curl/submit.sh", "curl/cancel.sh", "curl/wait.sh"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode()&0o111 != 0o111 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
