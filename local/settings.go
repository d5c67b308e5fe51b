package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"prowgate/shared/queue/broker"
)

// The queues' settings and their usual names.
var queueSettings = [...]struct{ setting, name string }{ //nolint:gochecknoglobals // a table
	{"SUBMIT_QUEUE", "gate-submit"},
	{"POLL_QUEUE", "gate-poll"},
	{"CANCEL_QUEUE", "gate-cancel"},
	{completionSetting, "gate-completion"},
}

const completionSetting = "COMPLETION_QUEUE"

// The rate limit in front of OpenShift CI's Gangway, which the stand-in keeps too.
const (
	rateSetting, usualRate   = "GANGWAY_RATE_PER_MINUTE", 9
	burstSetting, usualBurst = "GANGWAY_BURST", 5
)

// settings are environment variables. An empty one counts as missing; of two with one name the later
// counts, as for a process.
type settings []string

func (s settings) lookup(name string) (string, bool) {
	for _, kv := range slices.Backward(s) {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			return v, v != ""
		}
	}
	return "", false
}

// filled returns the settings with a value for name: the one that is there, or the given one.
func (s settings) filled(name, value string) settings {
	if _, ok := s.lookup(name); ok {
		return s
	}
	return append(slices.Clip(s), name+"="+value)
}

// number returns the setting as a whole number of at least the given one.
func (s settings) number(name string, usual, least int) (int, error) {
	text, ok := s.lookup(name)
	if !ok {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("%s: %q is not a whole number of at least %d", name, text, least)
	}
	return n, nil
}

// withQueues fills in the queues' names, so that host and handler agree on them.
func (s settings) withQueues() settings {
	for _, q := range queueSettings {
		s = s.filled(q.setting, q.name)
	}
	return s
}

// queueNames are the queues' names, in the order in which a gate meets them.
func (s settings) queueNames() []string {
	var names []string
	for _, q := range queueSettings {
		name, _ := s.lookup(q.setting)
		names = append(names, name)
	}
	return names
}

// queues describes the broker's queues. The numbers are those of the deployed Service Bus namespace.
func (s settings) queues() ([]broker.QueueConfig, error) {
	var all []broker.QueueConfig
	for _, q := range queueSettings {
		name, _ := s.lookup(q.setting)
		if slices.ContainsFunc(all, func(c broker.QueueConfig) bool { return c.Name == name }) {
			return nil, fmt.Errorf("%s: another queue is called %q too", q.setting, name)
		}
		c := broker.QueueConfig{Name: name, LockDuration: time.Minute, MaxDeliveries: 10, DuplicateWindow: 10 * time.Minute}
		if q.setting == completionSetting {
			c.DuplicateWindow = 0
			c.Sessions, c.DefaultTTL = true, 24*time.Hour
		}
		all = append(all, c)
	}
	return all, nil
}

// withStandIn points whatever is missing of Prow's three addresses at the stand-in. The stand-in takes
// any token; a real one has no business there.
func (s settings) withStandIn(base string) settings {
	s = append(slices.Clip(s), "GANGWAY_TOKEN=local")
	for _, name := range []string{"GANGWAY_URL", "PROW_URL", "ARTIFACTS_URL"} {
		s = s.filled(name, base)
	}
	return s
}
