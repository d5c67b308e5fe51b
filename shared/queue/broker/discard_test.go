package broker

import (
	"path/filepath"
	"testing"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

// TestDiscard takes single messages out of the middle of a dead-letter queue, also for the next process.
func TestDiscard(t *testing.T) {
	path, h := filepath.Join(t.TempDir(), "data.db"), newHands()
	b := reopen(t, path, h)
	const dead = "plain" + queue.DeadLetter
	for _, id := range []string{"a", "b", "c"} {
		send(t, b, "plain", queue.Message{ID: id})
		if err := b.DeadLetter(t.Context(), "plain", receive(t, b, "plain", ""), "reason", ""); err != nil {
			t.Fatal(err)
		}
	}
	held := receive(t, b, dead, "")
	for sequence, gone := range map[int64]bool{held.Sequence: false, 2: true, 99: false} {
		if err := b.Discard(t.Context(), dead, sequence); gone != (err == nil) || err != nil && !fault.Is(err, fault.Conflict) {
			t.Errorf("message %d: %v", sequence, err)
		}
	}
	if err := b.Discard(t.Context(), "nowhere", 1); !fault.Is(err, fault.Refused) {
		t.Errorf("a queue that does not exist: %v", err)
	}
	if err := b.Complete(t.Context(), dead, held); err != nil {
		t.Error(err)
	}
	b = reopen(t, path, h)
	counts(t, b, dead, depth.Counts{Active: 1})
	if d := receive(t, b, dead, ""); d.ID != "c" {
		t.Errorf("%s is left", d.ID)
	}
}

// TestDiscardFreesASession: what was behind a discarded message can be received.
func TestDiscardFreesASession(t *testing.T) {
	b, _ := newTest(t)
	send(t, b, "session", queue.Message{ID: "a", SessionID: "s"})
	send(t, b, "session", queue.Message{ID: "b", SessionID: "s"})
	found, err := b.Peek(t.Context(), "session", 0, 1)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := b.Discard(t.Context(), "session", found[0].Sequence); err != nil {
		t.Error(err)
	}
	if d := receive(t, b, "session", "s"); d.ID != "b" {
		t.Errorf("received %s", d.ID)
	}
	counts(t, b, "session", depth.Counts{Locked: 1})
}
