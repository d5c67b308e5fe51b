package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"prowgate/shared/gate"
)

// field is a flag that becomes a field of the gating message.
type field struct{ flag, name, help string }

var (
	textFields = []field{
		{"gate-id", "gateId", "id of this attempt; a new one is made when it is not given. Never reuse the id of a gate that has ended"},
		{"job-name", "jobName", "Prow job to run (required)"},
		{"cloud", "cloud", "cloud of the rollout (required)"},
		{"environment", "environment", "environment of the rollout (required)"},
		{"region", "region", "region of the rollout (required)"},
		{"allowed-subscriptions", "allowedSubscriptions", "subscriptions that the job may use"},
		{"ev2-rollout-version", "ev2RolloutVersion", "tag.value.tag.value..., each pair becomes an annotation"},
		{"base-sha", "baseSha", "commit to pin the job to; without it the job runs without refs"},
		{"org", "org", "organisation of the pinned run (default " + gate.DefaultOrg + ")"},
		{"repo", "repo", "repository of the pinned run (default " + gate.DefaultRepo + ")"},
		{"base-ref", "baseRef", "branch of the pinned run (default " + gate.DefaultBaseRef + ")"},
		{"execution-id", "executionId", "follow this execution instead of submitting one"},
	}
	mapFields = []field{
		{"label", "labels", "k=v, a label for the job; may be repeated, also as k=v,k=v. Else v is all that follows the first ="},
		{"annotation", "annotations", "k=v, an annotation for the job; as --label"},
		{"environment-variable", "envs", "k=v, an environment variable for the job; as --label"},
	}
	durationFields = []field{
		{"poll-interval", "pollInterval", "between two looks at the job (default " + gate.DefaultPollInterval.String() + ")"},
		{"timeout", "timeout", "how long the job may take from its submission (default " + gate.DefaultTimeout.String() + ")"},
	}
	boolFields = []field{
		{"gate-promotion", "gatePromotion", "a bad job result fails the step"},
		{"allow-ev2-retry", "allowEv2Retry", "classify a failure for EV2's automatic retry; needs --gate-promotion"},
		{"abort-on-cancel", "abortOnCancel", "a cancelled step aborts the job (default true)"},
		{"dry-run", "dryRun", "report what would be submitted, submit nothing"},
	}
	numberFields = []field{
		{
			"max-ev2-auto-retry-failures", "maxEv2AutoRetryFailures",
			fmt.Sprintf("most failed tests that still allow a retry (default %d)", gate.DefaultMaxEV2AutoRetryFailures),
		},
	}

	// formerFlags are those of `prow-job-executor execute` (ARO-HCP, tooling/prow-job-executor) whose
	// values the service holds. They are taken, so that a step moves over by changing the command.
	formerFlags = []string{"prow-token-keyvault-uri", "prow-token-keyvault-secret", "gangway-url", "prow-url"}
)

// addFields defines the flags. They have no defaults of their own: the service has them.
func addFields(fs *pflag.FlagSet) {
	for _, f := range textFields {
		fs.String(f.flag, "", f.help)
	}
	for _, f := range mapFields {
		fs.Var(&pairs{isName: nameRule(f.flag)}, f.flag, f.help)
	}
	for _, f := range durationFields {
		fs.Duration(f.flag, 0, f.help)
	}
	for _, f := range boolFields {
		fs.Bool(f.flag, false, f.help)
	}
	for _, f := range numberFields {
		fs.Int(f.flag, 0, f.help)
	}
	for _, flag := range formerFlags {
		fs.String(flag, "", "")
		fs.Lookup(flag).Hidden = true
	}
}

// former returns the given flags that no longer say anything.
func former(fs *pflag.FlagSet) []string {
	var all []string
	for _, flag := range formerFlags {
		if given(fs, flag) {
			all = append(all, "--"+flag)
		}
	}
	return all
}

// gatingBody returns the gating message that the flags make: only what was given, in a stable order. A
// text that is empty counts as not given, for pipelines pass variables that may be empty.
func gatingBody(fs *pflag.FlagSet, gateID string) ([]byte, error) {
	m := scalars(fs)
	for _, f := range textFields {
		if v, _ := fs.GetString(f.flag); v != "" {
			m[f.name] = v
		}
	}
	for _, f := range mapFields {
		if v := pairsOf(fs, f.flag); len(v) > 0 {
			m[f.name] = v
		}
	}
	m["gateId"] = gateID
	return json.Marshal(m)
}

// scalars returns the fields whose value is not a text, if their flag was given one.
func scalars(fs *pflag.FlagSet) map[string]any {
	m := map[string]any{}
	for _, f := range durationFields {
		if v, _ := fs.GetDuration(f.flag); given(fs, f.flag) {
			m[f.name] = v.String()
		}
	}
	for _, f := range boolFields {
		if v, _ := fs.GetBool(f.flag); given(fs, f.flag) {
			m[f.name] = v
		}
	}
	for _, f := range numberFields {
		if v, _ := fs.GetInt(f.flag); given(fs, f.flag) {
			m[f.name] = v
		}
	}
	return m
}

// checked returns what the service will read in a gating message. The error lists every rule that the message
// breaks, by the flag that has to change.
func checked(body []byte) (gate.Gating, error) {
	g, rejection, err := gate.ParseGating(body)
	switch {
	case err != nil: // the id is of a kind that no answer could name
		return g, fmt.Errorf("--gate-id: %w", err)
	case rejection == nil:
		return g, nil
	}
	lines := make([]string, 0, len(rejection.Problems))
	for _, p := range rejection.Problems {
		lines = append(lines, flagOf(p)+p)
	}
	return g, fmt.Errorf("nothing was sent, the message would be rejected: %s", strings.Join(lines, "; "))
}

// flagOf returns "--<flag>: " for a problem, "<field>: <rule>" or "<field>[<key>]: <rule>"; empty when no flag
// makes the field.
func flagOf(problem string) string {
	name, _, _ := strings.Cut(problem, ":")
	name, _, _ = strings.Cut(name, "[")
	for _, fields := range [][]field{textFields, mapFields, durationFields, boolFields, numberFields} {
		for _, f := range fields {
			if f.name == name {
				return "--" + f.flag + ": "
			}
		}
	}
	return ""
}
