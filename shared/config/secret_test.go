package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const text = "hunter2"

func TestSecretIsNeverPrinted(t *testing.T) {
	s := NewSecret(text)
	settings := Settings{GangwayToken: s, QueueURL: s, StoreURL: s}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(h).Info("m", "s", s, "p", &s, "settings", settings, "error", fmt.Errorf("with %v", s))
	}
	asJSON, err := json.Marshal(map[string]any{"s": s, "p": &s, "settings": settings})
	if err != nil {
		t.Fatal(err)
	}
	printed := []string{s.String(), s.GoString(), log.String(), string(asJSON), errors.New(fmt.Sprint(s)).Error()}
	hidden := struct {
		s Secret
		l []Secret
	}{s, []Secret{s}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%10.3s", "%T"} {
		for _, v := range []any{s, &s, settings, &settings, hidden, []Secret{s}, map[string]Secret{"k": s}} {
			printed = append(printed, fmt.Sprintf(verb, v))
		}
	}
	for _, p := range printed {
		if strings.Contains(p, text) || strings.Contains(strings.ToLower(p), fmt.Sprintf("%x", text)) {
			t.Errorf("the secret is printed: %s", p)
		}
	}
	if got := fmt.Sprintf("%s %v %q", s, s, s); got != "[secret] [secret] [secret]" {
		t.Errorf("got %s", got)
	}
}

func TestReveal(t *testing.T) {
	if got := NewSecret(text).Reveal(); got != text {
		t.Errorf("got %q", got)
	}
	if got := (Secret{}).Reveal(); got != "" {
		t.Errorf("the zero secret holds %q", got)
	}
}
