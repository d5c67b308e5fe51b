package main

import (
	"errors"
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

// check tells of everything in the settings that keeps this host from its work. Of the rest the handler tells.
func (s settings) check() error {
	_, err := s.queues()
	if s.elsewhere() {
		return err
	}
	_, rateErr := s.rate()
	_, burstErr := s.burst()
	return errors.Join(err, rateErr, burstErr)
}

// elsewhere reports whether Prow is not the stand-in.
func (s settings) elsewhere() bool {
	_, ok := s.lookup("GANGWAY_URL")
	return ok
}

// rate and burst are the stand-in's limits.
func (s settings) rate() (int, error)  { return s.number(rateSetting, usualRate, 1) }
func (s settings) burst() (int, error) { return s.number(burstSetting, usualBurst, 0) }

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

// The deliveries after which the deployed namespace puts a message aside (infra/azure/main.json): with the waits between
// them, those of a message that wakes a function outlast an hour and a half without a store.
const wakingDeliveries, completionDeliveries = 100, 10

// queues describes the broker's queues. The numbers are those of the deployed Service Bus namespace.
func (s settings) queues() ([]broker.QueueConfig, error) {
	var all []broker.QueueConfig
	var problems []error
	for _, q := range queueSettings {
		name, _ := s.lookup(q.setting)
		if slices.ContainsFunc(all, func(c broker.QueueConfig) bool { return c.Name == name }) {
			problems = append(problems, fmt.Errorf("%s: another queue is called %q too", q.setting, name))
		}
		c := broker.QueueConfig{Name: name, LockDuration: time.Minute, MaxDeliveries: wakingDeliveries, DuplicateWindow: 10 * time.Minute}
		if q.setting == completionSetting {
			c.MaxDeliveries, c.DuplicateWindow = completionDeliveries, 0
			c.Sessions, c.DefaultTTL = true, 24*time.Hour
		}
		all = append(all, c)
	}
	return all, errors.Join(problems...)
}

// withStandIn points whatever is missing of Prow's three addresses at the stand-in. The stand-in takes
// any token; a real one has no business there, nor has the place that holds it.
func (s settings) withStandIn(base string) settings {
	s = append(slices.Clip(s), "GANGWAY_TOKEN=local", "GANGWAY_TOKEN_URI=")
	for _, name := range []string{"GANGWAY_URL", "PROW_URL", "ARTIFACTS_URL"} {
		s = s.filled(name, base)
	}
	return s
}
