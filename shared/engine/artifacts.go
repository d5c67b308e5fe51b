package engine

import (
	"context"
	"slices"
	"time"

	"prowgate/shared/fault"
	"prowgate/shared/gate"
)

// Bounds of what is read of one run at a time. Time: an invocation ends after a few minutes, and must not
// end over slow reading. Size: real runs have some dozens of files of some hundred bytes.
const (
	evidenceTime  = time.Minute
	evidenceFiles = 300
	evidenceBytes = 8 << 20
)

// evidence reads the finished.json files of a run. What could not be read is part of the evidence.
func (e *Engine) evidence(ctx context.Context, jobURL string) gate.Evidence {
	ctx, cancel := context.WithTimeout(ctx, evidenceTime)
	defer cancel()
	names, err := e.Artifacts.List(ctx, jobURL)
	if err != nil {
		return gate.Evidence{Failure: failure(err)}
	}
	ev, size := gate.Evidence{RootListed: slices.Contains(names, gate.RootFile)}, 0
	files := gate.FinishedFiles(names)
	for _, name := range files {
		body, found, err := e.Artifacts.Read(ctx, jobURL, name)
		ev.Files = append(ev.Files, gate.File{Name: name, Body: body, Missing: err == nil && !found, Failure: failure(err)})
		if size += len(body); len(files) > evidenceFiles || size > evidenceBytes {
			return gate.Evidence{Failure: &gate.Failure{Kind: fault.Refused, Text: "its steps have left more than can be read"}}
		}
		if ctx.Err() != nil { // the rest would fail the same way
			return gate.Evidence{Failure: &gate.Failure{Text: "its artifacts could not be read in " + evidenceTime.String()}}
		}
	}
	return ev
}
