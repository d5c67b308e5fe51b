package broker

import (
	"path/filepath"
	"testing"

	"prowgate/shared/queue"
)

// BenchmarkRoundTrip is one message sent, received under a lock and completed, behind a queue of
// 100,000 others where it says so.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("memory", func(b *testing.B) { roundTrips(b, New(testConfig(newHands()))) })
	b.Run("memory behind 100000", func(b *testing.B) {
		br := New(testConfig(newHands()))
		for range 100_000 {
			send(b, br, "plain", queue.Message{Body: []byte("{}")})
		}
		roundTrips(b, br)
	})
	b.Run("sqlite", func(b *testing.B) {
		roundTrips(b, openBroker(b, openFile(b, filepath.Join(b.TempDir(), "data.db")), newHands()))
	})
}

func roundTrips(b *testing.B, br *Broker) {
	ctx := b.Context()
	m := queue.Message{ID: "m", Body: make([]byte, 1024)}
	for b.Loop() {
		send(b, br, "plain", m)
		if err := br.Complete(ctx, "plain", receive(b, br, "plain", "")); err != nil {
			b.Fatal(err)
		}
	}
}
