package console

import (
	"regexp"
	"strings"
	"unicode"

	"prowgate/shared/gate"
)

// retriedByDefault are the texts for which EV2 retries a step whose pipeline names none of its own
// (ARO-Tools, pipelines/types: the defaults of automatedRetry.errorContainsAny).
var retriedByDefault = regexp.MustCompile(`(?i)failed to (establish a new connection|get token|connect to msi)`)

// Text returns s fit for the step's output: no control characters but line breaks and tabs, no EV2
// marker, and none of the texts for which EV2 retries by default.
func Text(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return harmless(s)
}

// Line is Text on one line.
func Line(s string) string {
	return harmless(strings.Join(strings.Fields(Text(s)), " "))
}

func harmless(s string) string {
	return retriedByDefault.ReplaceAllStringFunc(gate.Neutralise(s), func(m string) string {
		return m[:len("failed")] + "_" + m[len("failed "):]
	})
}
