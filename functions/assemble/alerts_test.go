package assemble_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"prowgate/functions/assemble"
	"prowgate/shared/azurefn"
	"prowgate/shared/config"
	"prowgate/shared/gate"
	"prowgate/shared/secret"
	"prowgate/shared/store"
	"prowgate/shared/store/memory"
)

// alerting is a template whose alerts look for texts of the log.
type alerting struct {
	file   string
	levels *regexp.Regexp // the levels that LOG_LEVEL may have
	text   *regexp.Regexp // what an alert looks for, as it stands in a line of the log, or the event of that line
	texts  int
}

func alertings() []alerting {
	return []alerting{
		{
			"../../infra/azure/main.json", regexp.MustCompile(`"logLevel":\s*\{[^}]*?"allowedValues":\s*(\[[^]]*\])`),
			regexp.MustCompile(`contains "((?:[^"\\]|\\.)*)"`), 3,
		},
		{
			"../../infra/aws/template.json", regexp.MustCompile(`"LogLevel":\s*\{[^}]*?"AllowedValues":\s*(\[[^]]*\])`),
			regexp.MustCompile(`\?"([^"]*)"|\$\.(event = "[^"]*)"`), 7,
		},
	}
}

// values returns all the texts in a document.
func values(v any) (all []string) {
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, item := range v {
			all = append(all, values(item)...)
		}
	case map[string]any:
		for _, item := range v {
			all = append(all, values(item)...)
		}
	}
	return all
}

// read returns the levels that the template allows, and what its alerts look for.
func (a alerting) read(t *testing.T) (levels, texts []string) {
	t.Helper()
	file, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	found := a.levels.FindSubmatch(file)
	if found == nil || json.Unmarshal(found[1], &levels) != nil {
		t.Fatalf("%s: no levels", a.file)
	}
	var document any
	if err := json.Unmarshal(file, &document); err != nil {
		t.Fatal(err)
	}
	for _, value := range values(document) {
		for _, m := range a.text.FindAllStringSubmatch(value, -1) {
			text := strings.ReplaceAll(m[1], `\"`, `"`)
			if event, ok := strings.CutPrefix(m[len(m)-1], `event = "`); ok {
				text = `"event":"` + event + `"`
			}
			texts = append(texts, text)
		}
	}
	return levels, texts
}

// troubles is what the service logs at that level when a tick was lost, and when the token cannot be read or is refused.
func troubles(t *testing.T, level slog.Level) string {
	t.Helper()
	var out bytes.Buffer
	log := slog.New(azurefn.NewLog(&out, level))
	records := memory.New()
	gating := gate.Gating{GateID: "g", JobName: "j", PollInterval: gate.Duration(time.Minute), Timeout: gate.Duration(time.Hour)}
	r, _ := gate.Decide(gate.Record{}, gate.Accepted{Gating: gating}, start.Add(-time.Hour))
	body, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.Save(t.Context(), store.Entry{Key: gate.KeyPrefix + "g", Due: r.Due(), Body: body}); err != nil {
		t.Fatal(err)
	}
	settings := config.Settings{GangwayURL: &url.URL{}, ProwURL: &url.URL{}, ArtifactsURL: &url.URL{}, RatePerMinute: 9}
	away := func(context.Context) (string, error) { return "", errors.New("the vault is away") }
	token := secret.New(away, clock, log)
	e := assemble.Engine(settings, assemble.Cloud{Token: token, Records: records, Sender: sender{}}, clock, log, nil)
	if err := e.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := token.Token(t.Context()); err == nil {
		t.Error("a token was read")
	}
	secret.Fixed("hush-hush", clock, log).Refused(t.Context(), "hush-hush")
	return out.String()
}

// No level that a template allows keeps from the log what its alerts look for.
func TestAlertsAreHeardAtEveryLevel(t *testing.T) {
	for _, a := range alertings() {
		levels, texts := a.read(t)
		if len(texts) != a.texts || len(levels) == 0 {
			t.Errorf("%s: levels %q, texts %q", a.file, levels, texts)
		}
		for _, name := range levels {
			var level slog.Level
			if err := level.UnmarshalText([]byte(name)); err != nil {
				t.Fatal(err)
			}
			logged := troubles(t, level)
			for _, text := range texts {
				if !strings.Contains(logged, text) {
					t.Errorf("%s: at %s nobody hears of %s:\n%s", a.file, name, text, logged)
				}
			}
		}
	}
}
