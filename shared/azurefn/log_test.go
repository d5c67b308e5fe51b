package azurefn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"prowgate/shared/azurefn"
	"prowgate/shared/gate"
)

func TestLogsReachStdoutAndTheAnswer(t *testing.T) {
	var log *slog.Logger
	h := newHost(t, func(ctx context.Context, _ azurefn.Invocation) error {
		log.With("gate", "g-1").WithGroup("job").InfoContext(ctx, "submitted", "id", "e-1")
		log.DebugContext(ctx, "too quiet")
		log.Info("without the context")
		return nil
	})
	log = slog.New(azurefn.NewLog(h.out, slog.LevelInfo))
	_, a := h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, "body-string-in-string")))

	lines := strings.Split(strings.TrimSpace(h.out.String()), "\n")
	if len(lines) != 2 || len(a.Logs) != 1 || a.Logs[0] != lines[0] {
		t.Fatalf("stdout %q, Logs %q", lines, a.Logs)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(a.Logs[0]), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"msg": "submitted", "function": "submit", "invocation": invocationID,
		"message": "build-4711-uksouth-e2e-1", "delivery": 1.0, "gate": "g-1",
	} {
		if got[key] != want {
			t.Errorf("%s: %v, want %v", key, got[key], want)
		}
	}
	if job, _ := got["job"].(map[string]any); job["id"] != "e-1" {
		t.Errorf("job: %v", got["job"])
	}
}

func TestLogsAreBounded(t *testing.T) {
	var log *slog.Logger
	h := newHost(t, func(ctx context.Context, _ azurefn.Invocation) error {
		for range 250 {
			log.InfoContext(ctx, "again")
		}
		return nil
	})
	log = slog.New(azurefn.NewLog(h.out, slog.LevelInfo))
	_, a := h.call(http.MethodPost, "/submit", bytes.NewReader(fixture(t, "timer")))
	if len(a.Logs) != 201 || !strings.Contains(a.Logs[200], "50 more") || strings.Count(h.out.String(), "\n") != 250 {
		t.Errorf("%d Logs, the last %q", len(a.Logs), a.Logs[len(a.Logs)-1])
	}
}

// loud is a value that makes its own text.
type loud string

func (l loud) LogValue() slog.Value { return slog.StringValue(string(l)) }

func TestNoMarkerInAnyLine(t *testing.T) {
	marker := gate.Marker(gate.KnownIssueEligible)
	mixed := strings.ToUpper(marker[:5]) + marker[5:]
	for name, record := range map[string]func(*slog.Logger){
		"message": func(l *slog.Logger) { l.Info("got " + mixed) },
		"value":   func(l *slog.Logger) { l.Info("x", "k", mixed) },
		"key":     func(l *slog.Logger) { l.Info("x", mixed, "v") },
		"error":   func(l *slog.Logger) { l.Info("x", "k", errors.New(mixed)) },
		"valuer":  func(l *slog.Logger) { l.Info("x", "k", loud(mixed)) },
		"any":     func(l *slog.Logger) { l.Info("x", "k", map[string][]string{"a": {mixed}}) },
		"with":    func(l *slog.Logger) { l.With("k", mixed).Info("x") },
		"group":   func(l *slog.Logger) { l.WithGroup(mixed).Info("x", "k", "v") },
	} {
		var out bytes.Buffer
		record(slog.New(azurefn.NewLog(&out, slog.LevelInfo)))
		if gate.HasMarker(out.String()) || !json.Valid(out.Bytes()) {
			t.Errorf("%s: %s", name, out.String())
		}
		if rest := marker[strings.LastIndex(marker, "-"):]; !strings.Contains(out.String(), rest) {
			t.Errorf("%s: nothing was logged: %s", name, out.String())
		}
	}
}

// A logger that was derived twice from one must not share the second half.
func TestDerivedLoggersAreIndependent(t *testing.T) {
	var out bytes.Buffer
	base := slog.New(azurefn.NewLog(&out, slog.LevelInfo)).With("a", 1).With("a", 1).With("a", 1)
	one, two := base.With("b", 2), base.With("c", 3)
	one.Info("one")
	two.Info("two")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if strings.Contains(lines[0], `"c"`) || !strings.Contains(lines[0], `"b":2`) || strings.Contains(lines[1], `"b"`) || !strings.Contains(lines[1], `"c":3`) {
		t.Errorf("%q", lines)
	}
}
