package gate_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// least is the smallest valid gating message.
const least = `{"gateId":"g1","jobName":"e2e","cloud":"public","environment":"int","region":"westus3"}`

// with returns the least message with more fields.
func with(fields string) string { return strings.TrimSuffix(least, "}") + "," + fields + "}" }

func TestParseGatingDefaults(t *testing.T) {
	g, rejection, err := gate.ParseGating([]byte(least))
	if err != nil || rejection != nil {
		t.Fatalf("ParseGating: %v, %v", rejection, err)
	}
	want := gate.Gating{
		GateID: "g1", JobName: "e2e", Cloud: "public", Environment: "int", Region: "westus3",
		Org: "Azure", Repo: "ARO-HCP", BaseRef: "main",
		PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(4 * time.Hour),
		MaxEV2AutoRetryFailures: 2, AbortOnCancel: true,
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Error(diff)
	}
}

func TestParseGatingReadsEveryField(t *testing.T) {
	g, rejection, err := gate.ParseGating([]byte(with(`
		"allowedSubscriptions":"a,b","labels":{"team":"x"},"annotations":{"note":"y z"},"envs":{"A":"1"},
		"ev2RolloutVersion":"build.12.ARO-HCP.abc","baseSha":"0123abcd","org":"o","repo":"r","baseRef":"b",
		"executionId":"e-1","pollInterval":"5s","timeout":"1h","gatePromotion":true,"allowEv2Retry":true,
		"maxEv2AutoRetryFailures":3,"abortOnCancel":false,"dryRun":true`)))
	if err != nil || rejection != nil {
		t.Fatalf("ParseGating: %v, %v", rejection, err)
	}
	want := gate.Gating{
		GateID: "g1", JobName: "e2e", Cloud: "public", Environment: "int", Region: "westus3",
		AllowedSubscriptions: "a,b", Labels: map[string]string{"team": "x"}, Annotations: map[string]string{"note": "y z"},
		Envs: map[string]string{"A": "1"}, EV2RolloutVersion: "build.12.ARO-HCP.abc", BaseSHA: "0123abcd",
		Org: "o", Repo: "r", BaseRef: "b", ExecutionID: "e-1",
		PollInterval: gate.Duration(5 * time.Second), Timeout: gate.Duration(time.Hour),
		GatePromotion: true, AllowEV2Retry: true, MaxEV2AutoRetryFailures: 3, DryRun: true,
	}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Error(diff)
	}
}

func TestParseGatingRejects(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"unknown field", with(`"gateID":"x"`), "gateID: unknown field"},
		{"missing job", `{"gateId":"g","cloud":"c","environment":"e","region":"r"}`, "jobName: is required"},
		{"missing cloud", `{"gateId":"g","jobName":"j","environment":"e","region":"r"}`, "cloud: is required"},
		{"missing environment", `{"gateId":"g","jobName":"j","cloud":"c","region":"r"}`, "environment: is required"},
		{"missing region", `{"gateId":"g","jobName":"j","cloud":"c","environment":"e"}`, "region: is required"},
		{"gate id with a space", strings.Replace(least, "g1", "a b", 1), "gateId: a valid label"},
		{"gate id of 64", strings.Replace(least, "g1", strings.Repeat("a", 64), 1), "gateId: must be no more than 63"},
		{"job name", strings.Replace(least, "e2e", "a/b", 1), "jobName: must be 1-253 letters"},
		{"number for text", strings.Replace(least, `"westus3"`, "3", 1), "region: must be a string"},
		{"text for flag", with(`"dryRun":"yes"`), "dryRun: must be true or false"},
		{"text for number", with(`"maxEv2AutoRetryFailures":"2"`), "maxEv2AutoRetryFailures: must be a whole number"},
		{"fraction", with(`"maxEv2AutoRetryFailures":1.5`), "maxEv2AutoRetryFailures: must be a whole number"},
		{"number for duration", with(`"timeout":60`), "timeout: must be a duration string"},
		{"bad duration", with(`"timeout":"1 hour"`), "timeout: must be a duration string"},
		{"no interval", with(`"pollInterval":"0s"`), "pollInterval: must be greater than 0"},
		{"negative timeout", with(`"timeout":"-1s"`), "timeout: must be greater than 0"},
		{"list for map", with(`"labels":[]`), "labels: must be an object of strings"},
		{"number in map", with(`"envs":{"A":1}`), "envs: must be an object of strings"},
		{"null in map", with(`"envs":{"A":null}`), "envs[A]: must be a string"},
		{"twice", with(`"region":"eastus"`), "region: given more than once"},
		{"twice in map", with(`"envs":{"A":"1","A":"2"}`), "envs: A: given more than once"},
		{"label key", with(`"labels":{"a b":"x"}`), "labels[a b]: name part must consist of"},
		{"label value", with(`"labels":{"a":"x y"}`), "labels[a]: a valid label must be"},
		{"empty label", with(`"labels":{"a":""}`), "labels[a]: must not be empty"},
		{"label of Prow", with(`"labels":{"prow.k8s.io/refs.repo":"x"}`), "labels[prow.k8s.io/refs.repo]: labels below prow.k8s.io/ belong to Prow"},
		{"another gate's label", with(`"labels":{"ev2.rollout/gate-id":"g2"}`), "is set by the service"},
		{"annotation key", with(`"annotations":{"a/b/c":"x"}`), "annotations[a/b/c]: a valid label key"},
		{"empty annotation", with(`"annotations":{"a":""}`), "annotations[a]: must not be empty"},
		{"large message", with(`"annotations":{"a":"` + strings.Repeat("x", 65<<10) + `"}`), "the message must be at most 65536 bytes"},
		{"long region", strings.Replace(least, "westus3", strings.Repeat("x", 254), 1), "region: must be at most 253 bytes"},
		{"control character", strings.Replace(least, "westus3", `a\u0000b`, 1), "region: must be at most 253 bytes, without control characters"},
		{"long execution id", with(`"executionId":"` + strings.Repeat("a", 101) + `"`), "executionId: must be at most 100 characters"},
		{"another gate's annotation", with(`"annotations":{"ev2.rollout/gate-id":"g2"}`), "is set by the service"},
		{"env name", with(`"envs":{"1 A":"x"}`), "envs[1 A]: a valid environment variable"},
		{"empty env", with(`"envs":{"A":""}`), "envs[A]: must not be empty"},
		{"env of the region", with(`"envs":{"MULTISTAGE_PARAM_OVERRIDE_LOCATION":"x"}`), "is set by the service"},
		{"rollout version", with(`"ev2RolloutVersion":"build.1.x"`), "ev2RolloutVersion: must be pairs"},
		{"rollout tag", with(`"ev2RolloutVersion":"a b.1"`), "ev2RolloutVersion: pair 1"},
		{"empty rollout value", with(`"ev2RolloutVersion":"build."`), "ev2RolloutVersion: pair 1"},
		{"commit", with(`"baseSha":"main"`), "baseSha: must be a commit's hexadecimal name"},
		{"pinned without repo", with(`"baseSha":"abcd","repo":""`), "repo: is required"},
		{"execution id", with(`"executionId":"A/B"`), "executionId: a lowercase RFC 1123"},
		{"retry without promotion", with(`"allowEv2Retry":true`), "allowEv2Retry: requires gatePromotion"},
		{"retry of none", with(`"allowEv2Retry":true,"gatePromotion":true,"maxEv2AutoRetryFailures":0`), "maxEv2AutoRetryFailures: must be greater than 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, rejection, err := gate.ParseGating([]byte(tt.body))
			if err != nil || rejection == nil {
				t.Fatalf("ParseGating: %v, %v; want a rejection", rejection, err)
			}
			if got := strings.Join(rejection.Problems, "\n"); !strings.Contains(got, tt.want) || len(rejection.Problems) != 1 {
				t.Errorf("problems:\n%s\nwant one: %s", got, tt.want)
			}
		})
	}
}

func TestParseGatingListsEveryProblem(t *testing.T) {
	_, rejection, err := gate.ParseGating([]byte(`{"gateId":"g","region":7,"pollInterval":"0s","x":1,"labels":{"a":""}}`))
	if err != nil || rejection == nil {
		t.Fatalf("ParseGating: %v, %v", rejection, err)
	}
	want := []string{
		"region: must be a string", "x: unknown field", "jobName: is required", "cloud: is required",
		"environment: is required", "labels[a]: must not be empty: Gangway refuses empty values",
		"pollInterval: must be greater than 0",
	}
	if diff := cmp.Diff(want, rejection.Problems); diff != "" {
		t.Error(diff)
	}
	if rejection.GateID != "g" {
		t.Errorf("gate id = %q", rejection.GateID)
	}
}

func TestParseGatingTakesNullAsNotGiven(t *testing.T) {
	g, rejection, err := gate.ParseGating([]byte(with(`"labels":null,"timeout":null,"dryRun":null`)))
	if err != nil || rejection != nil || g.Timeout != gate.Duration(gate.DefaultTimeout) {
		t.Fatalf("ParseGating: %+v, %v, %v", g, rejection, err)
	}
}

func TestParseGatingWithoutGate(t *testing.T) {
	marker := gate.Marker(gate.KnownIssueEligible)
	for _, body := range []string{
		"", "null", "[]", `"x"`, "{", `{"jobName":"j"}`, `{"gateId":7}`, `{"gateId":""}`, `{"gateId":null}`, least + "x",
		`{"gateId":"` + strings.Repeat("a", 101) + `"}`, `{"gateId":"` + strings.ToUpper(marker) + `"}`,
	} {
		if _, _, err := gate.ParseGating([]byte(body)); !errors.Is(err, gate.ErrNoGate) {
			t.Errorf("%.40s: %v, want ErrNoGate", body, err)
		}
	}
}

func TestParseCancel(t *testing.T) {
	tests := []struct{ body, problem string }{
		{`{"gateId":"g","reason":"r"}`, ""},
		{`{"executionId":"e-1"}`, ""},
		{`{"reason":"r"}`, "one of them is required"},
		{`{"gateId":"g","why":"r"}`, "why: unknown field"},
		{`{"gateId":1}`, "gateId: must be a string"},
		{`{"executionId":"A/B"}`, "executionId: a lowercase"},
		{`[]`, "not a JSON object"},
	}
	for _, tt := range tests {
		_, err := gate.ParseCancel([]byte(tt.body))
		if got := errText(err); (tt.problem == "") != (err == nil) || !strings.Contains(got, tt.problem) {
			t.Errorf("%s: %q, want %q", tt.body, got, tt.problem)
		}
	}
}

func TestParseTick(t *testing.T) {
	tests := []struct{ body, problem string }{
		{`{"gateId":"g","seq":3}`, ""},
		{`{"executionId":"e","seq":3}`, ""},
		{`{"gateId":"g","executionId":"e","seq":3}`, "exactly one"},
		{`{"seq":3}`, "exactly one"},
		{`{"gateId":"g","seq":"3"}`, "seq: must be a whole number"},
	}
	for _, tt := range tests {
		_, err := gate.ParseTick([]byte(tt.body))
		if got := errText(err); (tt.problem == "") != (err == nil) || !strings.Contains(got, tt.problem) {
			t.Errorf("%s: %q, want %q", tt.body, got, tt.problem)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSubmission(t *testing.T) {
	g := parse(t, with(`"labels":{"team":"x"},"annotations":{"ev2.rollout/build":"mine"},"envs":{"A":"1"},
		"ev2RolloutVersion":"build.12.ARO-HCP.abc","allowedSubscriptions":"s1"`))
	want := prow.Submission{
		JobName: "e2e", Type: prow.Periodic,
		Labels: map[string]string{"team": "x", "ev2.rollout/gate-id": "g1"},
		Annotations: map[string]string{
			"ev2.rollout/gate-id": "g1", "ev2.rollout/cloud": "public", "ev2.rollout/environment": "int",
			"ev2.rollout/region": "westus3", "ev2.rollout/build": "mine", "ev2.rollout/ARO-HCP": "abc",
		},
		Envs: map[string]string{
			"A": "1", "MULTISTAGE_PARAM_OVERRIDE_LOCATION": "westus3",
			"MULTISTAGE_PARAM_OVERRIDE_ALLOWED_SUBSCRIPTIONS": "s1",
		},
	}
	if diff := cmp.Diff(want, g.Submission(false)); diff != "" {
		t.Error(diff)
	}
}

func TestSubmissionPinned(t *testing.T) {
	got := parse(t, with(`"baseSha":"abcd"`)).Submission(false)
	if diff := cmp.Diff(&prow.Refs{Org: "Azure", Repo: "ARO-HCP", BaseRef: "main", BaseSHA: "abcd"}, got.Refs); diff != "" || got.Type != prow.Postsubmit {
		t.Errorf("%s %s", got.Type, diff)
	}
}

func TestSubmissionExclusive(t *testing.T) {
	labels := parse(t, least).Submission(true).Labels
	for _, k := range []string{prow.LabelJob, prow.LabelOrg, prow.LabelRepo, gate.KeyGateID} {
		if labels[k] != "g1" {
			t.Errorf("label %s = %q, want the gate's own", k, labels[k])
		}
	}
}

func parse(t *testing.T, body string) gate.Gating {
	t.Helper()
	g, rejection, err := gate.ParseGating([]byte(body))
	if err != nil || rejection != nil {
		t.Fatalf("ParseGating: %v, %v", rejection, err)
	}
	return g
}

// What counts as an object is what encoding/json takes for one, to the last character.
func FuzzObject(f *testing.F) {
	for _, text := range []string{
		`{}`, ` {"a":1} `, `{"a":1,"a":2}`, `{"a":{"b":[1,{"c":null}]}}`, `{"a":1}x`, `{"a":1}{}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":}`, `{a:1}`,
		`{1:2}`, `[{}]`, `null`, `"x"`, ``, `{`, `{"a":1`, `{"a":1]`, `{"\ud800":1}`, "{\"a\xff\":1}", `{"a":01}`, `{"a":tru}`, `{"a":"` + "\n" + `"}`, `{"a":1}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]json.RawMessage
		isObject := json.Unmarshal([]byte(text), &want) == nil && want != nil
		_, err := gate.ParseTick([]byte(text))
		notObject := err != nil && strings.Contains(err.Error(), "not a JSON object")
		if isObject == notObject {
			t.Errorf("%q: encoding/json takes it for an object: %t, we: %t", text, isObject, !notObject)
		}
	})
}
