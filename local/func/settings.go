package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// settingsFile is where func looks for an app's settings (Azure Functions Core Tools).
const settingsFile = "local.settings.json"

// readSettings returns the values of such a file.
func readSettings(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	var s struct{ Values map[string]string }
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s.Values, nil
}

// copyFile puts the settings beside host.json. They may hold keys, so that nobody else may read them.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("copy the settings: %w", err)
	}
	return nil
}
