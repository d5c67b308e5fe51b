package cli

import (
	"regexp"
	"strings"
)

// traceParent is the form of the header of W3C Trace Context, version 00.
var traceParent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// trace returns the trace that this command's messages belong to: the caller's, which TRACEPARENT names as
// shells and CI systems pass it on, else a new one. The functions go on in it when they trace at all.
func (a *app) trace() string {
	if given := strings.TrimSpace(a.settings.TraceParent); traceParent.MatchString(given) {
		return given
	}
	hex := func() string { return strings.ReplaceAll(a.NewID(), "-", "") }
	trace, span := hex(), hex()
	made := "00-" + trace + "-" + span[min(16, len(span)):] + "-01"
	if !traceParent.MatchString(made) {
		return "" // an id that is no UUID
	}
	return made
}
