package console

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"prowgate/shared/gate"
)

// retriedByDefault are the texts for which EV2 retries a step whose pipeline names none of its own
// (ARO-Tools, pipelines/types: the defaults of automatedRetry.errorContainsAny).
var retriedByDefault = regexp.MustCompile(`(?i)failed to (establish a new connection|get token|connect to msi)`)

// Text returns s fit for the step's output: no control characters but line breaks and tabs, nothing that
// cannot be seen or turns the direction of writing, no EV2 marker, and none of the texts for which EV2
// retries by default.
func Text(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return ' '
		}
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return harmless(s)
}

// The service bounds what it sends; these hold whatever comes, so that no message floods the step's output.
const (
	maxLine  = 8 << 10  // bytes of a line
	maxWord  = 1 << 10  // of a name or a URL in a verdict
	maxError = 16 << 10 // of a verdict's error
)

// Line is Text on one line, cut where it is too long.
func Line(s string) string { return line(s, maxLine) }

// word is a Line that is a name, an id or a URL.
func word(s string) string { return line(s, maxWord) }

// line cuts before it cleans, too, for that takes its time; cleaning adds nothing and may take much away.
func line(s string, most int) string {
	return clip(harmless(strings.Join(strings.Fields(Text(clip(s, 4*most))), " ")), most)
}

// clip cuts text that is longer than n bytes, at a rune's boundary.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}

func harmless(s string) string {
	return retriedByDefault.ReplaceAllStringFunc(gate.Neutralise(s), func(m string) string {
		return m[:len("failed")] + "_" + m[len("failed "):]
	})
}
