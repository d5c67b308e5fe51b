package engine

import (
	"context"
	"slices"

	"prowgate/shared/gate"
)

// evidence reads the finished.json files of a run. What could not be read is part of the evidence.
func (e *Engine) evidence(ctx context.Context, jobURL string) gate.Evidence {
	names, err := e.Artifacts.List(ctx, jobURL)
	if err != nil {
		return gate.Evidence{Failure: failure(err)}
	}
	ev := gate.Evidence{RootListed: slices.Contains(names, gate.RootFile)}
	for _, name := range gate.FinishedFiles(names) {
		body, found, err := e.Artifacts.Read(ctx, jobURL, name)
		ev.Files = append(ev.Files, gate.File{Name: name, Body: body, Missing: err == nil && !found, Failure: failure(err)})
	}
	return ev
}
