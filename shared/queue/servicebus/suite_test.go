package servicebus

import (
	"testing"

	"prowgate/shared/queue/queuetest"
)

func TestSuite(t *testing.T) {
	f := startFar(t)
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		f.reset()
		b := f.bus(t)
		return queuetest.Harness{
			Sender: b, Receiver: b, Plain: plain, Duplicates: dup, Sessions: sessions,
			Now: f.clock, Advance: f.advance,
			LockDuration: lockDuration, MaxDeliveries: 3, DuplicateWindow: window,
			Patience: patience, Quiet: quiet,
		}
	})
}
