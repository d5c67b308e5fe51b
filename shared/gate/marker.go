package gate

import (
	"regexp"
	"strings"
)

// EV2 retries a step whose output contains one of these, matched case-insensitively as a substring
// (ARO-Tools, pipelines/types: automatedRetry.errorContainsAny). They are written here and nowhere
// else, and leave this package only through Marker.
const (
	markerKnownIssue        = "ev2-retryable-known-issue-failure"
	markerInfraPrecondition = "ev2-retryable-infra-precondition-failure"
)

// common is the part that the markers share. It counts whatever follows it, so that half a marker that
// meets its other half elsewhere is harmless too.
const common = "ev2-retryable"

// commonInAnyCase matches common.
var commonInAnyCase = regexp.MustCompile("(?i)" + common)

// Marker returns the EV2 marker of a classification, empty when it is not eligible.
func Marker(r Retry) string {
	switch r {
	case KnownIssueEligible:
		return markerKnownIssue
	case InfraPreconditionEligible:
		return markerInfraPrecondition
	}
	return ""
}

// Neutralise returns text with every EV2 marker in it, in any letter case, made harmless: the first
// hyphen becomes an underscore. Every text that comes from elsewhere passes through it before it
// leaves the program.
func Neutralise(text string) string {
	if !HasMarker(text) {
		return text
	}
	return commonInAnyCase.ReplaceAllStringFunc(text, func(m string) string {
		return m[:len("ev2")] + "_" + m[len("ev2-"):]
	})
}

// HasMarker reports whether text contains an EV2 marker or the beginning of one, in any letter case.
func HasMarker(text string) bool { return strings.Contains(strings.ToLower(text), common) }
