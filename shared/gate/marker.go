package gate

import "regexp"

// EV2 retries a step whose output contains one of these, matched case-insensitively as a substring
// (ARO-Tools, pipelines/types: automatedRetry.errorContainsAny). They are written here and nowhere
// else, and leave this package only through Marker.
const (
	markerKnownIssue        = "ev2-retryable-known-issue-failure"
	markerInfraPrecondition = "ev2-retryable-infra-precondition-failure"
)

// markerLike matches the part that the markers share, whatever follows it, so that half a marker that
// meets its other half elsewhere is harmless too.
var markerLike = regexp.MustCompile(`(?i)ev2-retryable`)

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
	return markerLike.ReplaceAllStringFunc(text, func(m string) string {
		return m[:len("ev2")] + "_" + m[len("ev2-"):]
	})
}

// HasMarker reports whether text contains an EV2 marker or the beginning of one, in any letter case.
func HasMarker(text string) bool { return markerLike.MatchString(text) }
