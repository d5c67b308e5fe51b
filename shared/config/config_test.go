package config

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// setenv leaves exactly these settings in the environment.
func setenv(t *testing.T, env map[string]string) {
	t.Helper()
	for _, s := range Describe() {
		value, ok := env[s.Name]
		t.Setenv(s.Name, value) // registers the restoring
		if !ok {
			if err := os.Unsetenv(s.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// loaded is Settings as values that can be compared.
type loaded struct {
	Gangway, Prow, Artifacts, Token, TokenURI, Queue, Store string
	Rate, Burst                                             int
	Exclusive                                               bool
	Queues                                                  [4]string
	Port                                                    int
	Level                                                   slog.Level
}

func load(t *testing.T, env map[string]string) loaded {
	t.Helper()
	setenv(t, env)
	s, err := Load()
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return loaded{
		s.GangwayURL.String(), s.ProwURL.String(), s.ArtifactsURL.String(), s.GangwayToken.Reveal(), s.GangwayTokenURI, s.QueueURL.Reveal(),
		s.StoreURL.Reveal(), s.RatePerMinute, s.Burst, s.ExclusiveLabels,
		[4]string{s.SubmitQueue, s.PollQueue, s.CancelQueue, s.CompletionQueue},
		s.Port, s.LogLevel,
	}
}

func defaults() loaded {
	return loaded{
		Gangway: "https://gangway-ci.apps.ci.l2s4.p1.openshiftapps.com", Prow: "https://prow.ci.openshift.org",
		Artifacts: "https://storage.googleapis.com", Queue: "http://127.0.0.1:7071", Store: "memory:", Rate: 9, Burst: 5,
		Queues: [4]string{"gate-submit", "gate-poll", "gate-cancel", "gate-completion"}, Port: 8080,
	}
}

func TestDefaults(t *testing.T) {
	env := map[string]string{"QUEUE_URL": "http://127.0.0.1:7071", "STORE_URL": "memory:"}
	if diff := cmp.Diff(defaults(), load(t, env)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	for _, s := range Describe() {
		if env[s.Name] == "" {
			env[s.Name] = " "
		}
	}
	if diff := cmp.Diff(defaults(), load(t, env)); diff != "" {
		t.Errorf("settings that are set to nothing (-want +got):\n%s", diff)
	}
}

func TestEverySetting(t *testing.T) {
	got := load(t, map[string]string{
		"GANGWAY_URL": "http://127.0.0.1:1/gangway/v1/executions/", "GANGWAY_TOKEN": "sha256~abc\n", "PROW_URL": "https://deck/prowjob",
		"ARTIFACTS_URL": "http://[::1]:3//", "QUEUE_URL": "https://host/", "STORE_URL": "sqlite:/a b?.db", "GANGWAY_RATE_PER_MINUTE": "1",
		"GANGWAY_BURST": "0", "EXCLUSIVE_LABELS": "true", "SUBMIT_QUEUE": "s", "POLL_QUEUE": "P_1", "CANCEL_QUEUE": "c.c",
		"COMPLETION_QUEUE": strings.Repeat("d", 260), "FUNCTIONS_CUSTOMHANDLER_PORT": "65535", "LOG_LEVEL": "WARN",
	})
	want := loaded{
		"http://127.0.0.1:1/gangway", "https://deck", "http://[::1]:3", "sha256~abc", "", "https://host", "sqlite:/a b?.db", 1, 0, true,
		[4]string{"s", "P_1", "c.c", strings.Repeat("d", 260)},
		65535, slog.LevelWarn,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// TestEveryProblemAtOnce sets everything wrong, and a text that must not be told to everything.
func TestEveryProblemAtOnce(t *testing.T) {
	const key = "hunter2"
	env := map[string]string{}
	for _, s := range Describe() {
		env[s.Name] = "?" + key + " "
	}
	env["GANGWAY_TOKEN"] = key + " " + key
	env["GANGWAY_URL"] = "http://user:" + key + "@host"
	env["PROW_URL"] = "http://host:" + key
	env["QUEUE_URL"] = "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=k;EntityPath=q;SharedAccessKey=" + key
	env["STORE_URL"] = "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + key
	setenv(t, env)
	s, err := Load()
	if err == nil {
		t.Fatalf("no error, settings %+v", s)
	}
	lines := strings.Split(err.Error(), "\n")
	for _, setting := range Describe() {
		has := func(line string) bool { return strings.HasPrefix(line, setting.Name+": ") }
		if !anyLine(lines, has) {
			t.Errorf("nothing is said about %s in:\n%v", setting.Name, err)
		}
	}
	if strings.Contains(err.Error(), key) {
		t.Errorf("the error repeats a value:\n%v", err)
	}
	if !cmp.Equal(s.Port, 0) || s.GangwayURL != nil {
		t.Errorf("settings are returned beside an error: %+v", s)
	}
}

func anyLine(lines []string, has func(string) bool) bool {
	for _, line := range lines {
		if has(line) {
			return true
		}
	}
	return false
}

func TestRequired(t *testing.T) {
	setenv(t, nil)
	_, err := Load()
	if want := "QUEUE_URL: is required\nSTORE_URL: is required"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestDescribe(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Describe() {
		if s.Name != strings.ToUpper(s.Name) || s.Name == "" || s.Meaning == "" || seen[s.Name] {
			t.Errorf("setting %+v", s)
		}
		if s.Required && s.Default != "" {
			t.Errorf("%s is required and has a default", s.Name)
		}
		seen[s.Name] = true
	}
	if len(seen) != 18 {
		t.Errorf("%d settings, want the 18 that the README lists", len(seen))
	}
}

func TestBaseURL(t *testing.T) {
	for value, want := range map[string]string{
		"http://h":                        "http://h",
		"https://h/":                      "https://h",
		"https://h:8443/v1/executions":    "https://h:8443",
		"https://h/v1/executions//":       "https://h",
		"https://h/p/v1/executions":       "https://h/p",
		"https://h/p%2Fq/v1/executions":   "https://h/p%2Fq",
		"https://h/v1/executions/x":       "https://h/v1/executions/x",
		"HTTPS://h/myv1/executions":       "https://h/myv1/executions",
		"https://v1/executions":           "https://v1/executions",
		"https://v1/executions/":          "https://v1/executions",
		"https://h/v1/executions/../../x": "https://h/v1/executions/../../x",
	} {
		u, err := baseURL(value, "/v1/executions")
		if err != nil || u.String() != want {
			t.Errorf("%s: got %v, error %v; want %s", value, u, err, want)
		}
	}
}

func TestRefusedURLs(t *testing.T) {
	const absolute = "must be an absolute http or https URL"
	for value, want := range map[string]string{
		"h": absolute, "h:80": absolute, "//h/p": absolute, "/p": absolute, "ftp://h": absolute, "http:h": absolute, "http://": absolute,
		"http://:80": absolute, "http:///p": absolute, "http://h:x": absolute, "http://h h": absolute, "://": absolute, "javascript:x": absolute,
		"http://u@h": "must not hold a user name or password", "http://u:p@h": "must not hold a user name or password",
		"http://h?": "must not have a query", "http://h/?a=b": "must not have a query",
		"http://h#": "must not have a fragment", "http://h/#x": "must not have a fragment",
		"http://h:0": "must have a port from 1 to 65535, or none", "http://h:65536": "must have a port from 1 to 65535, or none",
	} {
		if u, err := baseURL(value, ""); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, error %v; want %s", value, u, err, want)
		}
	}
}

func TestQueueURL(t *testing.T) {
	for value, want := range map[string]string{
		"http://127.0.0.1:7071": "",
		"https://broker":        "",
		"http://h:1/":           "",
		"http://h:1/path":       "must not have a path",
		"http://u:p@h:1":        "must not hold a user name",
		"h:1":                   "or http://host:port",

		"sb://a.servicebus.windows.net":             "",
		"SB://a.servicebus.usgovcloudapi.net/":      "",
		"sb://a":                                    "and nothing more",
		"sb://a.servicebus.windows.net:5671":        "and nothing more",
		"sb://a.servicebus.windows.net/gate-submit": "and nothing more",
		"sb://a.servicebus.windows.net?k=v":         "must not have a query",
		"sb://u:p@a.servicebus.windows.net":         "must not hold a user name",
		"https://a.servicebus.windows.net/":         "must be sb://<namespace>.servicebus.windows.net",
		"amqps://a.servicebus.windows.net/":         "must be sb://<namespace>.servicebus.windows.net",

		"Endpoint=sb://a/;SharedAccessKeyName=n;SharedAccessKey=k":       "",
		"SharedAccessSignature=s;endpoint=sb://a.servicebus.windows.net": "",
		"Endpoint=sb://a/;SharedAccessKey=":                              "must have a part SharedAccessKey",
		"Endpoint=https://a/;SharedAccessKey=k":                          "must have a part Endpoint",
		"Endpoint=sb://a/;SharedAccessKey=k;EntityPath=q":                "without the part EntityPath",

		"https://sqs.us-east-1.amazonaws.com/123456789012/":   "",
		"sqs:http://127.0.0.1:9324/000000000000":              "",
		"SQS:https://sqs.eu-west-1.amazonaws.com/1":           "",
		"https://sqs.us-east-1.amazonaws.com/":                "must end in the account",
		"sqs:https://u:p@sqs.us-east-1.amazonaws.com/1":       "must not hold a user name",
		"https://sqs.us-east-1.amazonaws.com.evil.example:80": "",
		"sqs://us-east-1/123456789012":                        "must be an absolute http or https URL",
	} {
		_, err := QueueForm(value)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", value, err, want)
		}
	}
}

// problem returns the error of loading the settings with one of them changed.
func problem(t *testing.T, name, value string) string {
	t.Helper()
	setenv(t, map[string]string{"QUEUE_URL": "http://h:1", "STORE_URL": "memory:", name: value})
	if _, err := Load(); err != nil {
		return err.Error()
	}
	return ""
}

func TestRules(t *testing.T) {
	const name = "must be 1 to 260 letters, digits, '.', '-' or '_', the first and the last a letter or digit"
	for _, c := range []struct{ setting, value, want string }{
		{"GANGWAY_RATE_PER_MINUTE", "0", "must be a whole number from 1 to 100000"},
		{"GANGWAY_RATE_PER_MINUTE", "9.5", "must be a whole number from 1 to 100000"},
		{"GANGWAY_BURST", "-1", "must be a whole number from 0 to 100000"},
		{"FUNCTIONS_CUSTOMHANDLER_PORT", "0", "must be a whole number from 1 to 65535"},
		{"FUNCTIONS_CUSTOMHANDLER_PORT", "65536", "must be a whole number from 1 to 65535"},
		{"EXCLUSIVE_LABELS", "yes", "must be true or false"},
		{"LOG_LEVEL", "INFO+2", "must be debug, info, warn or error"},
		{"SUBMIT_QUEUE", "a/b", name},
		{"SUBMIT_QUEUE", "-a", name},
		{"SUBMIT_QUEUE", "a.", name},
		{"SUBMIT_QUEUE", "a b", name},
		{"SUBMIT_QUEUE", "é", name},
		{"SUBMIT_QUEUE", "a\nb", name},
		{"SUBMIT_QUEUE", strings.Repeat("a", 261), name},
		{"POLL_QUEUE", "Gate-Submit", "must differ from SUBMIT_QUEUE"},
		{"COMPLETION_QUEUE", "gate-cancel", "must differ from CANCEL_QUEUE"},
		{"GANGWAY_TOKEN", "a b", "must be printable ASCII without spaces"},
		{"GANGWAY_TOKEN", "a\r\nb", "must be printable ASCII without spaces"},
		{"GANGWAY_TOKEN", "@Microsoft.KeyVault(SecretUri=https://v/secrets/s)", "is a Key Vault reference that was not resolved; check the vault, the secret's name and the identity's access"},
	} {
		if got, want := problem(t, c.setting, c.value), c.setting+": "+c.want; got != want {
			t.Errorf("%s=%q: got %q, want %q", c.setting, c.value, got, want)
		}
	}
}

func TestTokenURI(t *testing.T) {
	const rule, both = "GANGWAY_TOKEN_URI: must be https://<vault>.vault.azure.net/secrets/<name> without a version or the ARN of a secret of Secrets Manager", "GANGWAY_TOKEN_URI: must not be set beside GANGWAY_TOKEN"
	for _, c := range []struct{ value, token, want string }{
		{"https://ci-tokens.vault.azure.net/secrets/gangway", "", ""},
		{"https://ci-tokens.vault.azure.net/secrets/gangway/", "", ""},
		{"https://v1-2.vault.usgovcloudapi.net/secrets/gangway", "", ""},
		{"https://ci-tokens.vault.azure.net/secrets/gangway", "a-token", both},
		{"https://ci-tokens.vault.azure.net/secrets/gangway/0123456789abcdef0123456789abcdef", "", rule},
		{"https://ci-tokens.vault.azure.net.evil.example/secrets/gangway", "", rule},
		{"https://ci-tokens.vault.azure.net/keys/gangway", "", rule},
		{"https://u:p@ci-tokens.vault.azure.net/secrets/gangway", "", rule},
		{"http://ci-tokens.vault.azure.net/secrets/gangway", "", rule},
		{"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prowgate/gangway-a1B2c3", "", ""},
		{"arn:aws:secretsmanager:eu-west-1:123456789012:secret:gangway-a1B2c3", "a-token", both},
		{"arn:aws:ssm:eu-west-1:123456789012:parameter/gangway", "", rule},
	} {
		setenv(t, map[string]string{"QUEUE_URL": "http://h:1", "STORE_URL": "memory:", "GANGWAY_TOKEN": c.token, "GANGWAY_TOKEN_URI": c.value})
		s, err := Load()
		if got := fmt.Sprint(err); c.want != "" && got != c.want || c.want == "" && (err != nil || s.GangwayTokenURI != strings.TrimRight(c.value, "/")) {
			t.Errorf("%s: got %q, %s; want %s", c.value, s.GangwayTokenURI, got, c.want)
		}
	}
}

func TestTables(t *testing.T) {
	const url, name, part = "must be https://<account>.table.core.windows.net/<table>", "must end in the name of a table", "must have a part TableName=<table>"
	const account = "must have a part AccountName"
	for value, want := range map[string]string{
		"https://account.table.core.windows.net/records":                    "",
		"https://account.table.core.usgovcloudapi.net/records/":             "",
		"AccountName=a;AccountKey=k;TableName=records":                      "",
		"tablename=records;AccountName=a;AccountKey=k":                      "",
		"AccountName=a;SharedAccessSignature=sv=1&sig=s;TableName=records;": "",
		"http://account.table.core.windows.net/records":                     url,
		"https://account.blob.core.windows.net/records":                     url,
		"https://account.table.core.windows.net":                            name,
		"https://account.table.core.windows.net/a/b":                        name,
		"https://account.table.core.windows.net/1records":                   name,
		"https://account.table.core.windows.net/records?sv=1":               "must not have a query",
		"https://u:p@account.table.core.windows.net/records":                "must not hold a user name",
		"AccountName=a;AccountKey=k":                                        part,
		"AccountName=a;AccountKey=k;TableName=my-records":                   part,
		"AccountName=a;TableName=records":                                   "must have a part AccountKey or SharedAccessSignature",
		"AccountName=a;AccountKey=;TableName=records":                       "must have a part AccountKey or SharedAccessSignature",
		"AccountName=a;accountkey=k;TableName=records":                      "must have a part AccountKey or SharedAccessSignature",
		"DefaultEndpointsProtocol=https;AccountKey=k;TableName=records":     account,
		"BlobEndpoint=https://a/;SharedAccessSignature=s;TableName=records": account,
		"AccountName=;SharedAccessSignature=s;TableName=records":            account,
		"accountname=a;SharedAccessSignature=s;TableName=records":           account,
		"UseDevelopmentStorage=true;TableName=records":                      account,
	} {
		_, _, err := StoreForm(value)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", value, err, want)
		}
	}
}

func TestDynamoDB(t *testing.T) {
	for value, ok := range map[string]bool{
		"dynamodb:prowgate-records": true, "dynamodb:a.b": true, "dynamodb:": false, "dynamodb:ab": false, "dynamodb:a/b": false, "dynamodb://t": false,
	} {
		form, table, err := StoreForm(value)
		if ok && (err != nil || form != FormDynamoDB || "dynamodb:"+table != value) || !ok && err == nil {
			t.Errorf("%s: form %s, table %q, error %v", value, form, table, err)
		}
	}
}

func TestLogLevels(t *testing.T) {
	for value, want := range map[string]slog.Level{"debug": slog.LevelDebug, "Info": slog.LevelInfo, "warn": slog.LevelWarn, "ERROR": slog.LevelError} {
		if got := load(t, map[string]string{"QUEUE_URL": "http://h", "STORE_URL": "memory:", "LOG_LEVEL": value}).Level; got != want {
			t.Errorf("%s: got %v, want %v", value, got, want)
		}
	}
}
