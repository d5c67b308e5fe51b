package gangway_test

import (
	"prowgate/gangway"
	"prowgate/shared/engine"
)

// The clients are what the engine asks for.
var (
	_ engine.Gangway   = (*gangway.Client)(nil)
	_ engine.Deck      = (*gangway.Deck)(nil)
	_ engine.Artifacts = (*gangway.Artifacts)(nil)
)
