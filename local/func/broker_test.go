package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"prowgate/infra/wire"
	"prowgate/shared/queue"
	"prowgate/shared/queue/broker"
	"prowgate/shared/queue/depth"
	"prowgate/shared/queue/servicebus"
)

// emulatorFile is Config.json, field by field; anything else in it is a mistake (azure-service-bus-emulator-installer,
// ServiceBus-Emulator/Schema/Config-schema.json).
type emulatorFile struct {
	UserConfig struct {
		Namespaces []struct {
			Name   string
			Queues []emulatorQueue
			Topics []struct{}
		}
		Logging struct{ Type string }
	}
}

type emulatorQueue struct {
	Name       string
	Properties struct {
		DeadLetteringOnMessageExpiration    bool
		DefaultMessageTimeToLive            span
		DuplicateDetectionHistoryTimeWindow span
		ForwardDeadLetteredMessagesTo       string
		ForwardTo                           string
		LockDuration                        span
		MaxDeliveryCount                    int
		RequiresDuplicateDetection          bool
		RequiresSession                     bool
	}
}

// span is an ISO 8601 duration of hours, minutes and seconds.
type span time.Duration

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(string(text), "PT")))
	*s = span(d)
	return err
}

// queues are the queues that Config.json gives the emulator, as the test broker wants them.
func queues(t *testing.T) []broker.QueueConfig {
	t.Helper()
	var file emulatorFile
	strict(t, "Config.json", &file)
	var all []broker.QueueConfig
	for _, q := range file.UserConfig.Namespaces[0].Queues {
		p := q.Properties
		c := broker.QueueConfig{
			Name: q.Name, LockDuration: time.Duration(p.LockDuration), MaxDeliveries: p.MaxDeliveryCount, Sessions: p.RequiresSession,
			DefaultTTL: time.Duration(p.DefaultMessageTimeToLive), DeadLetterOnExpiry: p.DeadLetteringOnMessageExpiration,
		}
		if p.RequiresDuplicateDetection {
			c.DuplicateWindow = time.Duration(p.DuplicateDetectionHistoryTimeWindow)
		}
		all = append(all, c)
	}
	return all
}

// far is the test broker of infra/wire, whose clock stands still unless its control channel moves it.
type far struct {
	address string
	begun   time.Time
}

func startFar(t *testing.T) far {
	t.Helper()
	begun := time.Now().Truncate(time.Millisecond)
	setup, err := json.Marshal(map[string]any{"now": begun.UnixMilli(), "queues": queues(t)})
	if err != nil {
		t.Fatal(err)
	}
	return far{wire.Start(t, "servicebus.mjs", string(setup)), begun}
}

// run lets the broker's clock go with the wall's until the test is over.
func (f far) run(t *testing.T) {
	t.Helper()
	last, tick, ended := f.begun, time.NewTicker(25*time.Millisecond), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
			}
			passed := time.Since(last).Truncate(time.Millisecond)
			last = last.Add(passed)
			if _, err := f.tell("advance", map[string]int64{"ms": passed.Milliseconds()}); err != nil && t.Context().Err() == nil {
				t.Errorf("move the broker's clock: %v", err)
				return
			}
		}
	}()
	t.Cleanup(func() { tick.Stop(); <-ended })
}

// tell sends one command to the control channel and returns how full the queues are.
func (f far) tell(command string, body any) (map[string]depth.Counts, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	answer, err := http.Post("http://"+f.address+"/"+command, queue.ContentType, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var state struct{ Queues map[string]depth.Counts }
	err = json.NewDecoder(answer.Body).Decode(&state)
	return state.Queues, err
}

func (f far) counts(t *testing.T) map[string]depth.Counts {
	t.Helper()
	counts, err := f.tell("state", nil)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

func (f far) url() string {
	return "Endpoint=sb://" + f.address + ";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
}

func (f far) bus(t *testing.T) *servicebus.Bus {
	t.Helper()
	b, err := servicebus.New(f.url())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
