package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"prowgate/shared/config"
)

// root is the repository, seen from this package's folder, where its tests run.
const root = "../.."

// strict decodes a file in which every field has to be known.
func strict(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.More() {
		t.Fatalf("%s: %v", filepath.Base(file), err)
	}
}

// deployed are the queues as infra/azure/main.json makes them, by the setting's parameter.
func deployed(t *testing.T) map[string]deployedQueue {
	t.Helper()
	raw, err := os.ReadFile(root + "/infra/azure/main.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources []struct {
			Type, Name string
			Properties json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &template); err != nil {
		t.Fatal(err)
	}
	found := map[string]deployedQueue{}
	for _, r := range template.Resources {
		if r.Type != "Microsoft.ServiceBus/namespaces/queues" {
			continue
		}
		var q deployedQueue
		if err := json.Unmarshal(r.Properties, &q); err != nil {
			t.Fatal(err)
		}
		_, parameter, _ := strings.Cut(r.Name, "parameters('")
		parameter, _, _ = strings.Cut(parameter, "'")
		found[parameter] = q
	}
	return found
}

type deployedQueue struct {
	LockDuration               span
	MaxDeliveryCount           int
	RequiresSession            bool
	RequiresDuplicateDetection bool
	DeadLettering              bool `json:"deadLetteringOnMessageExpiration"`
}

// settingsOf returns the values of local.settings.json, which may hold nothing that nobody reads.
func settingsOf(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		IsEncrypted bool
		Values      map[string]string
	}
	strict(t, settingsFile, &file)
	if file.IsEncrypted {
		t.Error("func cannot read encrypted values here")
	}
	known := map[string]bool{"FUNCTIONS_WORKER_RUNTIME": true, "AzureWebJobsStorage": true, "SERVICEBUS": true}
	for _, s := range config.Describe() {
		known[s.Name] = true
	}
	for name := range file.Values {
		if !known[name] {
			t.Errorf("nobody reads %s", name)
		}
	}
	return file.Values
}

// The emulator's queues are the deployed ones, except where it has narrower limits: an hour to live, five minutes of
// duplicate detection (azure-service-bus-emulator-installer, Config-schema.json).
func TestEmulatorHasOurQueues(t *testing.T) {
	var file emulatorFile
	strict(t, "Config.json", &file)
	u := file.UserConfig
	if len(u.Namespaces) != 1 || u.Namespaces[0].Name != "sbemulatorns" || len(u.Namespaces[0].Topics) > 0 || u.Logging.Type == "" {
		t.Fatalf("%+v", u)
	}
	settings, want, got := settingsOf(t), map[string]deployedQueue{}, map[string]deployedQueue{}
	for parameter, q := range deployed(t) {
		q.MaxDeliveryCount = min(q.MaxDeliveryCount, 10) // the emulator takes no more
		want[settings[strings.ToUpper(strings.TrimSuffix(parameter, "Queue"))+"_QUEUE"]] = q
	}
	for _, q := range u.Namespaces[0].Queues {
		p := q.Properties
		got[q.Name] = deployedQueue{p.LockDuration, p.MaxDeliveryCount, p.RequiresSession, p.RequiresDuplicateDetection, p.DeadLetteringOnMessageExpiration}
		within := func(what string, d span, least, most time.Duration) {
			if time.Duration(d) < least || time.Duration(d) > most {
				t.Errorf("%s: %s is %v", q.Name, what, time.Duration(d))
			}
		}
		within("lock", p.LockDuration, 5*time.Second, 5*time.Minute)
		within("time to live", p.DefaultMessageTimeToLive, 5*time.Minute, time.Hour)
		within("duplicate window", p.DuplicateDetectionHistoryTimeWindow, 5*time.Second, 5*time.Minute)
		if p.ForwardTo != "" || p.ForwardDeadLetteredMessagesTo != "" || p.MaxDeliveryCount < 1 || p.MaxDeliveryCount > 10 {
			t.Errorf("%s: %+v", q.Name, p)
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(got) != 4 {
		t.Errorf("queues (-deployed +emulated):\n%s", d)
	}
}

// The handler takes the settings, and the host finds in them what host.json and the functions name.
func TestSettingsAreComplete(t *testing.T) {
	values := settingsOf(t)
	for name, value := range values {
		t.Setenv(name, value)
	}
	s, err := config.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range config.Describe() {
		if strings.HasSuffix(d.Name, "_QUEUE") && values[d.Name] != d.Default {
			t.Errorf("%s is %q, usually %q", d.Name, values[d.Name], d.Default)
		}
	}
	if s.QueueURL.Reveal() != values["SERVICEBUS"] {
		t.Error("the host and the handler use two namespaces")
	}
	if values["FUNCTIONS_WORKER_RUNTIME"] != "custom" || values["AzureWebJobsStorage"] != "UseDevelopmentStorage=true" {
		t.Errorf("%v", values)
	}
	files, err := filepath.Glob(root + "/functions/*/function.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("functions: %v, %v", files, err)
	}
	for _, file := range files {
		var f struct {
			Bindings []struct{ QueueName, Connection string }
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range f.Bindings {
			if name := strings.Trim(b.QueueName, "%"); name != "" && (values[name] == "" || values[b.Connection] == "") {
				t.Errorf("%s: no value for %s or %s", file, b.QueueName, b.Connection)
			}
		}
	}
}

// composeFile is compose.yaml, as far as it is used.
type composeFile struct {
	Name     string                    `json:"name"`
	Services map[string]composeService `json:"services"`
}

type composeService struct {
	Image       string            `json:"image"`
	Command     string            `json:"command"`
	DependsOn   []string          `json:"depends_on"`
	Environment map[string]string `json:"environment"`
	Ports       []string          `json:"ports"`
	Volumes     []string          `json:"volumes"`
}

// What the settings say is what the containers serve, and on this machine only.
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatal(err)
	}
	images := map[string]string{}
	for name, s := range c.Services {
		images[name] = s.Image
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to others", name, p)
			}
		}
	}
	if d := cmp.Diff(map[string]string{
		"servicebus": "mcr.microsoft.com/azure-messaging/servicebus-emulator:${EMULATOR_TAG:-latest}",
		"sql":        "${SQL_IMAGE:-mcr.microsoft.com/azure-sql-edge:latest}",
		"storage":    "mcr.microsoft.com/azure-storage/azurite:3.35.0",
	}, images); d != "" {
		t.Error(d)
	}
	bus, sql := c.Services["servicebus"], c.Services["sql"]
	if bus.Environment["SQL_SERVER"] != "sql" || !slices.Contains(bus.DependsOn, "sql") || bus.Environment["MSSQL_SA_PASSWORD"] != sql.Environment["MSSQL_SA_PASSWORD"] {
		t.Errorf("the emulator does not find its SQL server: %+v", bus)
	}
	for _, s := range []composeService{bus, sql} {
		if !strings.HasPrefix(s.Environment["ACCEPT_EULA"], "${ACCEPT_EULA:?") {
			t.Error("a licence is accepted that nobody was asked about")
		}
	}
	if !slices.Contains(bus.Volumes, "./Config.json:/ServiceBus_Emulator/ConfigFiles/Config.json:ro") || !slices.Contains(bus.Ports, "127.0.0.1:5672:5672") ||
		!slices.Contains(bus.Ports, "127.0.0.1:5300:5300") || !slices.Contains(c.Services["storage"].Ports, "127.0.0.1:10002:10002") {
		t.Errorf("%+v", c.Services)
	}
	if pinned := strings.TrimPrefix(c.Services["storage"].Image, "mcr.microsoft.com/azure-storage/azurite:"); !strings.Contains(wirePackages(t), `"azurite": "`+pinned+`"`) {
		t.Errorf("the wire tests run another Azurite than %s", pinned)
	}
}

func wirePackages(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/infra/wire/package.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
