package azure

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/gate"
)

const pipelinePrincipal = "00000000-0000-0000-0000-000000000000" // of the examples

// roles are built-in roles by their ids (learn.microsoft.com, Azure built-in roles).
func roles() map[string]string {
	return map[string]string{
		"4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0": "Azure Service Bus Data Receiver",
		"69a216fc-b8fb-44d8-bc22-1f3c2cd27a39": "Azure Service Bus Data Sender",
		"0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
		"b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
		"4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
		"3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
	}
}

// TestWhoMayDoWhat: every permission that is needed, and no other. The app receives where a function has a
// trigger, and sends where the engine does (engine.Queues); the pipeline sends gating and cancel messages and
// waits for completions. No scope is wider than one queue, table, vault or account.
func TestWhoMayDoWhat(t *testing.T) {
	want := []string{
		"app: Azure Service Bus Data Sender of queues/gate-completion",
		"app: Azure Service Bus Data Sender of queues/gate-poll",
		"app: Key Vault Secrets User of vaults",
		"app: Monitoring Metrics Publisher of components",
		"app: Storage Blob Data Owner of storageAccounts",
		"app: Storage Table Data Contributor of tables/gates",
		"pipeline: Azure Service Bus Data Receiver of queues/gate-completion",
		"pipeline: Azure Service Bus Data Sender of queues/gate-cancel",
		"pipeline: Azure Service Bus Data Sender of queues/gate-submit",
	}
	each(t, func(t *testing.T, m template) {
		settings, needed := m.settings(t), slices.Clone(want)
		for _, b := range triggers(t) {
			if b.Type == "serviceBusTrigger" {
				needed = append(needed, "app: Azure Service Bus Data Receiver of queues/"+settings[strings.Trim(b.QueueName, "%")])
			}
		}
		slices.Sort(needed)
		var got []string
		for _, r := range m.ofKind("Microsoft.Authorization/roleAssignments") {
			got = append(got, grant(t, m, r))
		}
		slices.Sort(got)
		if diff := cmp.Diff(needed, got); diff != "" {
			t.Errorf("permissions (-needed +given):\n%s", diff)
		}
	})
}

// grant is a role assignment in words.
func grant(t *testing.T, m template, r resource) string {
	t.Helper()
	text := func(name string) string { s, _ := r.at("properties", name).(string); return s }
	who, ok := map[string]string{appPrincipal: "app", pipelinePrincipal: "pipeline"}[text("principalId")]
	role := roles()[filepath.Base(text("roleDefinitionId"))]
	if !ok || role == "" {
		t.Errorf("%s: to %q the role %q", r.id, text("principalId"), text("roleDefinitionId"))
	}
	if !slices.ContainsFunc(m.resources, func(o resource) bool { return o.id == r.scope }) {
		t.Errorf("%s: %s does not exist", r.id, r.scope)
	}
	parts := strings.Split(r.scope, "/")
	kind, name := parts[len(parts)-2], parts[len(parts)-1]
	if kind == "queues" || kind == "tables" {
		kind += "/" + name
	}
	return who + ": " + role + " of " + kind
}

// sweepEvent is the event under which the sweep's finding is logged.
func sweepEvent(t *testing.T) string {
	t.Helper()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	gating := gate.Gating{GateID: "g", JobName: "j", PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(time.Hour)}
	r, _ := gate.Decide(gate.Record{}, gate.Accepted{Gating: gating}, now)
	r, _ = gate.Decide(r, gate.Overdue{}, r.Due().Add(time.Second))
	if len(r.Timeline) == 0 {
		t.Fatal("an overdue gate has no timeline")
	}
	return r.Timeline[len(r.Timeline)-1].Event
}
