package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/queue/broker"
)

// deployedQueues are the queues that infra/azure/main.json makes, in its order, with the names that are usual.
func deployedQueues(t *testing.T) []broker.QueueConfig {
	t.Helper()
	raw, err := os.ReadFile("../infra/azure/main.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources []struct {
			Type, Name string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(raw, &template); err != nil {
		t.Fatal(err)
	}
	var all []broker.QueueConfig
	for _, r := range template.Resources {
		if r.Type == "Microsoft.ServiceBus/namespaces/queues" {
			_, name, _ := strings.Cut(r.Name, "parameters('")
			name, _, _ = strings.Cut(name, "Queue')")
			all = append(all, queueOf(t, "gate-"+name, r.Properties))
		}
	}
	return all
}

// queueOf reads a queue's properties. Each has to be known, so that none is set in one place alone.
func queueOf(t *testing.T, name string, properties map[string]any) broker.QueueConfig {
	t.Helper()
	q := broker.QueueConfig{Name: name}
	for property, v := range properties {
		switch property {
		case "lockDuration":
			q.LockDuration = iso(t, v)
		case "maxDeliveryCount":
			q.MaxDeliveries = int(v.(float64))
		case "duplicateDetectionHistoryTimeWindow":
			q.DuplicateWindow = iso(t, v)
		case "requiresDuplicateDetection": // its window says so
		case "requiresSession":
			q.Sessions = v.(bool)
		case "defaultMessageTimeToLive":
			q.DefaultTTL = iso(t, v)
		case "deadLetteringOnMessageExpiration":
			q.DeadLetterOnExpiry = v.(bool)
		default:
			t.Errorf("%s: %s is unknown here", name, property)
		}
	}
	return q
}

// iso reads an ISO 8601 duration of one unit.
func iso(t *testing.T, v any) time.Duration {
	t.Helper()
	for _, u := range []struct {
		before, after string
		unit          time.Duration
	}{{"PT", "S", time.Second}, {"PT", "M", time.Minute}, {"PT", "H", time.Hour}, {"P", "D", 24 * time.Hour}} {
		digits, before := strings.CutPrefix(v.(string), u.before)
		digits, after := strings.CutSuffix(digits, u.after)
		if n, err := strconv.Atoi(digits); before && after && err == nil {
			return time.Duration(n) * u.unit
		}
	}
	t.Fatalf("%q is no duration that is read here", v)
	return 0
}

// TestQueuesAreTheDeployedOnes: what a queue puts aside, forgets or holds back it does here as there.
func TestQueuesAreTheDeployedOnes(t *testing.T) {
	got, err := settings{}.withQueues().queues()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(deployedQueues(t), got); d != "" || len(got) != 4 {
		t.Errorf("queues (-deployed +local):\n%s", d)
	}
}

func TestQueueNames(t *testing.T) {
	q, err := settings{"SUBMIT_QUEUE=s"}.withQueues().queues()
	if err != nil || len(q) != 4 || q[0].Name != "s" || q[1].Name != "gate-poll" {
		t.Fatalf("%+v, %v", q, err)
	}
	if _, err := (settings{"POLL_QUEUE=gate-submit"}).withQueues().queues(); err == nil || !strings.Contains(err.Error(), "POLL_QUEUE") {
		t.Errorf("two queues of one name: %v", err)
	}
}
