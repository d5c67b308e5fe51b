package config

import (
	"fmt"
	"io"
	"log/slog"
)

// hidden is what every way of printing a secret shows.
const hidden = "[secret]"

// Secret is a text that no log, error or JSON shows. It is kept behind a pointer, so that fmt prints an
// address where it may not call methods (in an unexported field). The zero value is the empty secret.
type Secret struct{ text *string }

// NewSecret returns a secret of the given text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text; only the client that sends it should ask.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String hides the text.
func (s Secret) String() string { return hidden }

// GoString hides the text from %#v.
func (s Secret) GoString() string { return hidden }

// Format hides the text from every verb of fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalJSON hides the text.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }
