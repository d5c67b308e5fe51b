package gate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Names that the service itself sets on a job.
const (
	KeyGateID        = "ev2.rollout/gate-id" // label and annotation
	annotationPrefix = "ev2.rollout/"
	envLocation      = "MULTISTAGE_PARAM_OVERRIDE_LOCATION"
	envSubscriptions = "MULTISTAGE_PARAM_OVERRIDE_ALLOWED_SUBSCRIPTIONS"

	// reservedLabels are Prow's own. Gangway selects by them, and labels of the caller override those
	// of the server, so that a message that sets them could point an abort at other jobs.
	reservedLabels = "prow.k8s.io/"

	// maxWord bounds the names of clouds, environments and regions.
	maxWord = 253
)

var (
	// jobNames is Prow's rule (prow, pkg/config: jobNameRegex).
	jobNames = regexp.MustCompile(`^[A-Za-z0-9-._]+$`)
	commits  = regexp.MustCompile(`^[0-9a-fA-F]{4,64}$`)
)

// problems lists every broken rule, one line each, but those of fields in bad, which have been
// reported as of a wrong type.
func (g *Gating) problems(bad map[string]bool) []string {
	p := &problemList{bad: bad}
	p.add("gateId", validation.IsValidLabelValue(g.GateID)...)
	p.required("jobName", g.JobName)
	if g.JobName != "" && (!jobNames.MatchString(g.JobName) || len(g.JobName) > validation.DNS1123SubdomainMaxLength) {
		p.add("jobName", "must be 1-253 letters, digits, '-', '.' or '_'")
	}
	p.word("cloud", g.Cloud)
	p.word("environment", g.Environment)
	p.word("region", g.Region)
	g.mapProblems(p)
	g.refProblems(p)
	if g.ExecutionID != "" {
		p.lines = append(p.lines, executionIDProblems(g.ExecutionID)...)
	}
	g.timeProblems(p)
	g.retryProblems(p)
	return p.lines
}

func (g *Gating) mapProblems(p *problemList) {
	for _, k := range slices.Sorted(maps.Keys(g.Labels)) {
		field := "labels[" + k + "]"
		p.add(field, validation.IsQualifiedName(k)...)
		p.add(field, validation.IsValidLabelValue(g.Labels[k])...)
		p.notEmpty(field, g.Labels[k])
		if strings.HasPrefix(k, reservedLabels) {
			p.add(field, "labels below "+reservedLabels+" belong to Prow")
		}
		g.reserved(p, field, k, g.Labels[k], KeyGateID, g.GateID)
	}
	for _, k := range slices.Sorted(maps.Keys(g.Annotations)) {
		field := "annotations[" + k + "]"
		p.add(field, validation.IsQualifiedName(strings.ToLower(k))...)
		p.notEmpty(field, g.Annotations[k])
		g.reserved(p, field, k, g.Annotations[k], KeyGateID, g.GateID)
	}
	for _, k := range slices.Sorted(maps.Keys(g.Envs)) {
		field := "envs[" + k + "]"
		p.add(field, validation.IsEnvVarName(k)...)
		p.notEmpty(field, g.Envs[k])
		g.reserved(p, field, k, g.Envs[k], envLocation, g.Region)
		if g.AllowedSubscriptions != "" {
			g.reserved(p, field, k, g.Envs[k], envSubscriptions, g.AllowedSubscriptions)
		}
	}
}

// reserved reports a name that the service sets itself, when the message gives it another value.
func (g *Gating) reserved(p *problemList, field, key, value, reservedKey, ours string) {
	if key == reservedKey && value != ours {
		p.add(field, "is set by the service, to another value")
	}
}

func (g *Gating) refProblems(p *problemList) {
	if _, err := rolloutAnnotations(g.EV2RolloutVersion); err != nil {
		p.add("ev2RolloutVersion", err.Error())
	}
	if g.BaseSHA == "" {
		return
	}
	if !commits.MatchString(g.BaseSHA) {
		p.add("baseSha", "must be a commit's hexadecimal name")
	}
	p.required("org", g.Org)
	p.required("repo", g.Repo)
	p.required("baseRef", g.BaseRef)
}

func (g *Gating) timeProblems(p *problemList) {
	if g.PollInterval <= 0 {
		p.add("pollInterval", "must be greater than 0")
	}
	if g.Timeout <= 0 {
		p.add("timeout", "must be greater than 0")
	}
}

func (g *Gating) retryProblems(p *problemList) {
	if !g.AllowEV2Retry {
		return
	}
	if !g.GatePromotion {
		p.add("allowEv2Retry", "requires gatePromotion")
	}
	if g.MaxEV2AutoRetryFailures <= 0 {
		p.add("maxEv2AutoRetryFailures", "must be greater than 0 when allowEv2Retry is set")
	}
}

// executionIDProblems checks an execution id, which is a ProwJob's name.
func executionIDProblems(id string) []string {
	problems := validation.IsDNS1123Subdomain(id)
	if len(id) > maxID {
		problems = append(problems, fmt.Sprintf("must be at most %d characters", maxID))
	}
	if HasMarker(id) {
		problems = append(problems, "must not contain an EV2 marker")
	}
	return prefixed("executionId: ", problems)
}

// rolloutAnnotations splits "tag.value.tag.value..." into annotations.
func rolloutAnnotations(version string) (map[string]string, error) {
	if version == "" {
		return nil, nil
	}
	parts := strings.Split(version, ".")
	if len(parts)%2 != 0 {
		return nil, fmt.Errorf("must be pairs, tag.value.tag.value...: it has %d parts", len(parts))
	}
	pairs := make(map[string]string, len(parts)/2)
	for i := 0; i < len(parts); i += 2 {
		key, value := annotationPrefix+parts[i], parts[i+1]
		if wrong := validation.IsQualifiedName(strings.ToLower(key)); len(wrong) > 0 || value == "" {
			return nil, fmt.Errorf("pair %d (%s.%s) does not make an annotation", i/2+1, parts[i], value)
		}
		pairs[key] = value
	}
	return pairs, nil
}

// problemList collects one line a problem, "<field>: <rule>".
type problemList struct {
	bad   map[string]bool
	lines []string
}

func (p *problemList) add(field string, rules ...string) {
	if p.bad[field] {
		return
	}
	p.lines = append(p.lines, prefixed(field+": ", slices.Clone(rules))...)
}

func (p *problemList) required(field, value string) {
	if value == "" {
		p.add(field, "is required")
	}
}

// word requires a value that can stand in an annotation, in an environment variable and in a line of text.
func (p *problemList) word(field, value string) {
	p.required(field, value)
	if len(value) > maxWord || strings.ContainsFunc(value, unicode.IsControl) {
		p.add(field, fmt.Sprintf("must be at most %d bytes, without control characters", maxWord))
	}
}

func (p *problemList) notEmpty(field, value string) {
	if value == "" {
		p.add(field, "must not be empty: Gangway refuses empty values")
	}
}
