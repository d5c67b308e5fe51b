package gate

import "testing"

// No event leads to a second conclusion today; whichever does tomorrow must not change what was sent.
func TestASecondConclusionChangesNothing(t *testing.T) {
	d := &decision{r: Record{GateID: "g1", Phase: PhaseRunning}}
	d.conclude(Succeeded, "")
	first, sent := *d.r.Verdict, len(d.commands)
	d.conclude(Failed, "later")
	if d.r.Verdict.Outcome != Succeeded || d.r.Verdict.Error != first.Error || len(d.commands) != sent {
		t.Errorf("%+v, %d commands more", *d.r.Verdict, len(d.commands)-sent)
	}
}
