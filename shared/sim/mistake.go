package sim

import "prowgate/shared/engine"

// Mistake is a bug that is built into the program under test, to show that the simulator finds it.
type Mistake struct {
	Name  string
	build func(w *world, p *engine.Parts)
}
