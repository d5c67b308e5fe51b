package config

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
)

// queueName is what Service Bus takes as the name of a queue, without the slash, which the local
// host's paths and the dead-letter suffix need for themselves (learn.microsoft.com, naming rules of
// Microsoft.ServiceBus namespaces/queues).
var queueName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,258}[A-Za-z0-9])?$`)

// CheckQueueName returns the rule that the name of a queue breaks, nil when it breaks none.
func CheckQueueName(name string) error {
	if !queueName.MatchString(name) {
		return errors.New("must be 1 to 260 letters, digits, '.', '-' or '_', the first and the last a letter or digit")
	}
	return nil
}

// problems collects what is wrong.
type problems []error

func (p *problems) add(name, rule string) { *p = append(*p, fmt.Errorf("%s: %s", name, rule)) }

// note adds err, if there is one, under the variable's name.
func (p *problems) note(name string, err error) {
	if err != nil {
		*p = append(*p, fmt.Errorf("%s: %w", name, err))
	}
}

// parse checks all values. An empty QUEUE_URL or STORE_URL is told by complete.
func (r *raw) parse(opens []Form) (Settings, error) {
	var p problems
	s := Settings{
		GangwayToken:    r.token(&p),
		GangwayTokenURI: r.tokenURI(&p, opens),
		QueueURL:        NewSecret(r.queue()),
		StoreURL:        NewSecret(r.StoreURL),
		RatePerMinute:   integer(&p, "GANGWAY_RATE_PER_MINUTE", r.RatePerMinute, 1, 100_000),
		Burst:           integer(&p, "GANGWAY_BURST", r.Burst, 0, 100_000),
		ExclusiveLabels: boolean(&p, "EXCLUSIVE_LABELS", r.ExclusiveLabels),
		SubmitQueue:     r.SubmitQueue,
		PollQueue:       r.PollQueue,
		CancelQueue:     r.CancelQueue,
		CompletionQueue: r.CompletionQueue,
		Port:            integer(&p, "FUNCTIONS_CUSTOMHANDLER_PORT", r.Port, 1, 65535),
		LogLevel:        level(&p, "LOG_LEVEL", r.LogLevel),
	}
	r.urls(&p, &s)
	r.forms(&p, opens)
	r.queueNames(&p)
	r.telemetry(&p, &s)
	return s, errors.Join(p...)
}

func (r *raw) urls(p *problems, s *Settings) {
	var err error
	s.GangwayURL, err = baseURL(r.GangwayURL, "/v1/executions")
	p.note("GANGWAY_URL", err)
	s.ProwURL, err = baseURL(r.ProwURL, "/prowjob")
	p.note("PROW_URL", err)
	s.ArtifactsURL, err = baseURL(r.ArtifactsURL, "")
	p.note("ARTIFACTS_URL", err)
}

// forms checks where the queues and the records are, if that is said.
func (r *raw) forms(p *problems, opens []Form) {
	for _, f := range []struct {
		name, value string
		rows        []row
	}{{"QUEUE_URL", r.QueueURL, queueRows}, {"STORE_URL", r.StoreURL, storeRows}} {
		if f.value != "" {
			_, _, err := find(f.rows, f.value, opens)
			p.note(f.name, err)
		}
	}
}

// queue returns QUEUE_URL; one that paths are appended to has no trailing slash.
func (r *raw) queue() string {
	if strings.HasPrefix(r.QueueURL, "http") {
		return strings.TrimRight(r.QueueURL, "/")
	}
	return r.QueueURL
}

// token refuses what cannot be sent in a header, and the reference itself, which is what App Service
// hands over when it could not resolve it.
func (r *raw) token(p *problems) Secret {
	switch {
	case strings.HasPrefix(r.GangwayToken, "@Microsoft.KeyVault("):
		p.add("GANGWAY_TOKEN", "is a Key Vault reference that was not resolved; check the vault, the secret's name and the identity's access")
	case strings.ContainsFunc(r.GangwayToken, func(c rune) bool { return c <= ' ' || c > '~' }):
		p.add("GANGWAY_TOKEN", "must be printable ASCII without spaces")
	}
	return NewSecret(r.GangwayToken)
}

// secretURI is a Key Vault secret in one of Azure's clouds, without a version.
var secretURI = regexp.MustCompile(`^https://[A-Za-z0-9-]{3,24}\.vault\.(azure\.net|azure\.cn|usgovcloudapi\.net)/secrets/[A-Za-z0-9-]{1,127}$`)

// tokenURI refuses a version, which would name the same token for ever.
func (r *raw) tokenURI(p *problems, opens []Form) string {
	uri := strings.TrimRight(r.GangwayTokenURI, "/")
	if uri == "" {
		return ""
	}
	_, _, err := find(tokenRows, uri, opens)
	switch {
	case err != nil:
		p.note("GANGWAY_TOKEN_URI", err)
	case r.GangwayToken != "":
		p.add("GANGWAY_TOKEN_URI", "must not be set beside GANGWAY_TOKEN")
	}
	return uri
}

// queueNames checks the names by Service Bus's rules; it compares names without regard to case.
func (r *raw) queueNames(p *problems) {
	seen := map[string]string{}
	for _, q := range [][2]string{
		{"SUBMIT_QUEUE", r.SubmitQueue},
		{"POLL_QUEUE", r.PollQueue},
		{"CANCEL_QUEUE", r.CancelQueue},
		{"COMPLETION_QUEUE", r.CompletionQueue},
	} {
		variable, name := q[0], q[1]
		if err := CheckQueueName(name); err != nil {
			p.add(variable, err.Error())
		}
		if other, ok := seen[strings.ToLower(name)]; ok {
			p.add(variable, "must differ from "+other)
			continue
		}
		seen[strings.ToLower(name)] = variable
	}
}

func integer(p *problems, name, value string, low, high int) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		p.add(name, fmt.Sprintf("must be a whole number from %d to %d", low, high))
	}
	return n
}

func boolean(p *problems, name, value string) bool {
	b, err := strconv.ParseBool(value)
	if err != nil {
		p.add(name, "must be true or false")
	}
	return b
}

func level(p *problems, name, value string) slog.Level {
	switch strings.ToLower(value) {
	case "debug":
		return slog.LevelDebug
	case "info":
		return slog.LevelInfo
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	p.add(name, "must be debug, info, warn or error")
	return slog.LevelInfo
}
