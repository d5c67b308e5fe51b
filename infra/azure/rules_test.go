package azure

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/config"
	"prowgate/shared/secret"
)

// TestNothingIsUnused: a parameter that nothing reads is one that somebody sets in vain.
func TestNothingIsUnused(t *testing.T) {
	each(t, func(t *testing.T, m template) {
		for name := range m.declared {
			if !m.scope.used["parameters."+name] {
				t.Errorf("parameter %s is not used", name)
			}
		}
		for name := range m.scope.variables {
			if !m.scope.used["variables."+name] {
				t.Errorf("variable %s is not used", name)
			}
		}
	})
}

// TestDependencies: what a resource mentions has to be made before it, and every dependency has to exist. A
// child waits for its parent.
func TestDependencies(t *testing.T) {
	each(t, func(t *testing.T, m template) {
		ids := map[string]bool{}
		for _, r := range m.resources {
			if ids[r.id] {
				t.Errorf("%s is there twice", r.id)
			}
			ids[r.id] = true
		}
		for _, r := range m.resources {
			for _, id := range r.dependsOn {
				if !ids[id] {
					t.Errorf("%s depends on %s, which does not exist", r.id, id)
				}
			}
			needs := r.mentions
			if parent := parentOf(r); parent != "" {
				needs = append(needs, parent)
			}
			for _, id := range needs {
				if !slices.Contains(r.dependsOn, id) {
					t.Errorf("%s does not depend on %s", r.id, id)
				}
			}
		}
	})
}

// parentOf is the id of the resource that a child lies in, empty for one of the first level.
func parentOf(r resource) string {
	if strings.Count(r.kind, "/") == 1 {
		return ""
	}
	return r.id[:strings.LastIndex(r.id[:strings.LastIndex(r.id, "/")], "/")]
}

// TestNames keeps the names within what the services take (learn.microsoft.com, Naming rules and
// restrictions for Azure resources).
func TestNames(t *testing.T) {
	rules := map[string]string{
		"Microsoft.Storage/storageAccounts": `^[a-z0-9]{3,24}$`,
		"Microsoft.KeyVault/vaults":         `^[a-zA-Z](-?[a-zA-Z0-9])+$`, // no two hyphens in a row; the length is looked at below
		"Microsoft.ServiceBus/namespaces":   `^[a-zA-Z][a-zA-Z0-9-]{4,48}[a-zA-Z0-9]$`,
		"Microsoft.Web/sites":               `^[a-zA-Z0-9][a-zA-Z0-9-]{0,58}[a-zA-Z0-9]$`,
	}
	each(t, func(t *testing.T, m template) {
		for kind, rule := range rules {
			for _, r := range m.ofKind(kind) {
				name := filepath.Base(r.id)
				if !regexp.MustCompile(rule).MatchString(name) || strings.HasSuffix(kind, "/vaults") && len(name) > 24 {
					t.Errorf("%s is no name of a %s", name, kind)
				}
			}
		}
	})
}

// TestSafety: no shared key, no local account, TLS 1.2, HTTPS only, nothing public.
func TestSafety(t *testing.T) {
	type rule struct {
		kind string
		path []string
		want any
	}
	rules := []rule{
		{"Microsoft.Storage/storageAccounts", []string{"properties", "allowSharedKeyAccess"}, false},
		{"Microsoft.Storage/storageAccounts", []string{"properties", "allowBlobPublicAccess"}, false},
		{"Microsoft.Storage/storageAccounts", []string{"properties", "minimumTlsVersion"}, "TLS1_2"},
		{"Microsoft.Storage/storageAccounts", []string{"properties", "supportsHttpsTrafficOnly"}, true},
		{"Microsoft.Storage/storageAccounts/blobServices/containers", []string{"properties", "publicAccess"}, "None"},
		{"Microsoft.ServiceBus/namespaces", []string{"properties", "disableLocalAuth"}, true},
		{"Microsoft.ServiceBus/namespaces", []string{"properties", "minimumTlsVersion"}, "1.2"}, // 1.0 when made by an API version before 2022
		{"Microsoft.ServiceBus/namespaces", []string{"sku", "name"}, "Standard"},                // the cheapest with sessions and duplicate detection
		{"Microsoft.KeyVault/vaults", []string{"properties", "enableRbacAuthorization"}, true},
		{"Microsoft.KeyVault/vaults", []string{"properties", "enablePurgeProtection"}, true},
		{"Microsoft.Insights/components", []string{"properties", "DisableLocalAuth"}, true},
		{"Microsoft.Web/sites", []string{"properties", "httpsOnly"}, true},
		{"Microsoft.Web/sites", []string{"properties", "siteConfig", "minTlsVersion"}, "1.2"},
		{"Microsoft.Web/sites", []string{"properties", "siteConfig", "ftpsState"}, "Disabled"},
		{"Microsoft.Web/sites", []string{"properties", "functionAppConfig", "runtime", "name"}, "custom"},
		{"Microsoft.Web/sites", []string{"properties", "functionAppConfig", "runtime", "version"}, "1.0"},
		{"Microsoft.Web/sites", []string{"properties", "functionAppConfig", "deployment", "storage", "authentication", "type"}, "UserAssignedIdentity"},
		{"Microsoft.Web/sites", []string{"identity", "type"}, "UserAssigned"},
		{"Microsoft.Web/serverfarms", []string{"sku", "name"}, "FC1"},
		{"Microsoft.Web/serverfarms", []string{"properties", "reserved"}, true}, // Linux
	}
	each(t, func(t *testing.T, m template) {
		for _, way := range []string{"scm", "ftp"} { // each has a password of its own unless it is turned off
			off := func(r resource) bool {
				return r.kind == "Microsoft.Web/sites/basicPublishingCredentialsPolicies" && filepath.Base(r.id) == way && r.at("properties", "allow") == false
			}
			if !slices.ContainsFunc(m.resources, off) {
				t.Errorf("the app can be published to by %s with a password", way)
			}
		}
		for _, c := range rules {
			found := m.ofKind(c.kind)
			if len(found) != 1 {
				t.Errorf("%d resources of type %s, want one", len(found), c.kind)
			}
			for _, r := range found {
				if got := r.at(c.path...); got != c.want {
					t.Errorf("%s: %s is %v, want %v", r.id, strings.Join(c.path, "."), got, c.want)
				}
			}
		}
	})
}

// TestNoSecrets: neither a secret nor what would hand one out is in a file that people copy around.
func TestNoSecrets(t *testing.T) {
	for _, file := range append(environments(t), "main.json") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"listKeys", "AccountKey", "SharedAccessKey", "sha256~", "listSecrets", "primaryKey"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s holds %q", file, word)
			}
		}
	}
}

// TestQueues: the four queues as the code expects them, and as the local host makes them, but that a failed
// message may come a hundred times: with the waits between (functions.Wait) that outlasts an hour and a half of trouble.
func TestQueues(t *testing.T) {
	ours := map[string]any{
		"lockDuration": "PT1M", "maxDeliveryCount": json.Number("100"), "requiresDuplicateDetection": true,
		"duplicateDetectionHistoryTimeWindow": "PT10M",
	}
	sessions := map[string]any{
		"lockDuration": "PT1M", "maxDeliveryCount": json.Number("10"), "requiresSession": true, "defaultMessageTimeToLive": "P1D",
		"deadLetteringOnMessageExpiration": false,
	}
	want := map[string]any{}
	for _, s := range config.Describe() {
		switch s.Name {
		case "SUBMIT_QUEUE", "POLL_QUEUE", "CANCEL_QUEUE":
			want[s.Default] = ours
		case "COMPLETION_QUEUE":
			want[s.Default] = sessions
		}
	}
	each(t, func(t *testing.T, m template) {
		got := map[string]any{}
		for _, q := range m.ofKind("Microsoft.ServiceBus/namespaces/queues") {
			got[filepath.Base(q.id)] = q.at("properties")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("queues (-code +template):\n%s", diff)
		}
	})
}

// settings are the app settings of the function app.
func (m template) settings(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	list, _ := m.ofKind("Microsoft.Web/sites")[0].at("properties", "siteConfig", "appSettings").([]any)
	for _, item := range list {
		s, _ := item.(map[string]any)
		name, _ := s["name"].(string)
		value, ok := s["value"].(string)
		if _, twice := found[name]; twice || !ok {
			t.Errorf("setting %q: twice, or no text", name)
		}
		found[name] = value
	}
	return found
}

// TestSettings: the handler starts with the template's settings, and there is none of which nobody knows. The
// port comes from the host, and the token from the vault.
func TestSettings(t *testing.T) {
	each(t, func(t *testing.T, m template) {
		want := append([]string{
			"AzureWebJobsStorage__accountName", "AzureWebJobsStorage__credential", "AzureWebJobsStorage__clientId",
			"APPLICATIONINSIGHTS_CONNECTION_STRING", "APPLICATIONINSIGHTS_AUTHENTICATION_STRING", "AZURE_CLIENT_ID",
		}, triggerSettings(t)...)
		for _, s := range config.Describe() {
			if s.Name != "GANGWAY_TOKEN" && s.Name != "FUNCTIONS_CUSTOMHANDLER_PORT" {
				want = append(want, s.Name)
			}
		}
		got := m.settings(t)
		if diff := cmp.Diff(unique(want), slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("settings (-code +template):\n%s", diff)
		}
		for name, value := range got {
			t.Setenv(name, value)
		}
		t.Setenv("GANGWAY_TOKEN", "")
		t.Setenv("FUNCTIONS_CUSTOMHANDLER_PORT", "")
		if _, err := config.Load(); err != nil {
			t.Errorf("the handler would not start: %v", err)
		}
		if got["QUEUE_URL"] != "sb://"+got["SERVICEBUS__fullyQualifiedNamespace"] {
			t.Errorf("triggers at %s, queues at %s", got["SERVICEBUS__fullyQualifiedNamespace"], got["QUEUE_URL"])
		}
		for _, name := range []string{"AZURE_CLIENT_ID", "SERVICEBUS__clientId", "AzureWebJobsStorage__clientId"} {
			if got[name] != appClient {
				t.Errorf("%s is %s, want the app's identity", name, got[name])
			}
		}
	})
}

// trigger is a binding of a function.json.
type trigger struct{ Type, Name, Connection, QueueName string }

// triggers are those of all functions, by the functions' names.
func triggers(t *testing.T) map[string]trigger {
	t.Helper()
	files, err := filepath.Glob("../../functions/*/function.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("functions: %q, %v", files, err)
	}
	found := map[string]trigger{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var f struct{ Bindings []trigger }
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		f.Bindings = slices.DeleteFunc(f.Bindings, func(b trigger) bool { return b.Type == "http" }) // the answer of an httpTrigger
		if len(f.Bindings) != 1 {
			t.Fatalf("%s: %d bindings that could be the trigger", file, len(f.Bindings))
		}
		found[filepath.Base(filepath.Dir(file))] = f.Bindings[0]
	}
	return found
}

// triggerSettings are the settings that the Functions host looks up for the triggers: the queue names, and the
// parts of an identity-based connection.
func triggerSettings(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, b := range triggers(t) {
		if b.Type != "serviceBusTrigger" {
			continue
		}
		names = append(names, strings.Trim(b.QueueName, "%"))
		for _, part := range []string{"fullyQualifiedNamespace", "credential", "clientId"} {
			names = append(names, b.Connection+"__"+part)
		}
	}
	return names
}

// TestAlertsLookForWhatIsLogged: an alert that looks for another text than the code writes never fires.
func TestAlertsLookForWhatIsLogged(t *testing.T) {
	queries := func(m template) map[string]string {
		found := map[string]string{}
		for _, r := range m.ofKind("Microsoft.Insights/scheduledQueryRules") {
			for _, c := range r.at("properties", "criteria", "allOf").([]any) {
				name := filepath.Base(r.id)
				found[name[strings.LastIndex(name, "-")+1:]], _ = c.(map[string]any)["query"].(string)
			}
		}
		return found
	}
	each(t, func(t *testing.T, m template) {
		want := map[string]string{
			"refused": `message contains "` + secret.RefusedText + `" or message contains "` + secret.UnreadableText + `"`,
			"overdue": `contains "\"event\":\"` + sweepEvent(t) + `\""`,
			"sweep":   `name == "sweep" and success == true`,
		}
		got := queries(m)
		for name, part := range want {
			if !strings.Contains(got[name], part) {
				t.Errorf("alert %s asks %s, which has not %s", name, got[name], part)
			}
		}
		if _, ok := triggers(t)["sweep"]; !ok || len(got) != len(want) {
			t.Errorf("alerts %q", got)
		}
	})
}

// TestRatesAreShared: the example environments together keep within what one Gangway allows, which is the
// handler's default for one that is alone. Each may send its burst and one more at once, as nginx counts
// (ngx_http_limit_req_module: the first request is no excess), so that it is burst + 1 which is shared out.
func TestRatesAreShared(t *testing.T) {
	allowed, given := map[string]int{}, map[string]int{}
	for _, s := range config.Describe() {
		if n, err := strconv.Atoi(s.Default); err == nil {
			allowed[s.Name] = n
		}
	}
	const burst = "GANGWAY_BURST"
	allowed[burst]++
	each(t, func(t *testing.T, m template) {
		for _, name := range []string{"GANGWAY_RATE_PER_MINUTE", burst} {
			n, err := strconv.Atoi(m.settings(t)[name])
			if err != nil {
				t.Fatal(err)
			}
			given[name] += n
		}
		given[burst]++
	})
	for name, sum := range given {
		if sum > allowed[name] {
			t.Errorf("%s: %d in all environments together, allowed are %d", name, sum, allowed[name])
		}
	}
}
