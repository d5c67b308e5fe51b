package servicebus

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"prowgate/shared/queue"
)

// Limits of a message in the Standard tier (learn.microsoft.com, Service Bus quotas).
const (
	maxBody = 256 << 10 // bytes, of the whole message
	maxID   = 128       // characters
)

// objection returns why Service Bus would not take the message, empty when it might.
func objection(m queue.Message) string {
	switch {
	case len(m.Body) > maxBody:
		return fmt.Sprintf("the body has %d bytes, more than %d", len(m.Body), maxBody)
	case utf8.RuneCountInString(m.ID) > maxID || utf8.RuneCountInString(m.SessionID) > maxID:
		return fmt.Sprintf("the message id or the session id is longer than %d characters", maxID)
	case m.TTL < 0:
		return "the time-to-live is negative"
	}
	return ""
}

// The properties that carry a traceparent; the second is what the SDKs of other languages write
// (azure-sdk-for-net, MessagingClientDiagnostics.cs).
const (
	propertyTrace      = "traceparent"
	propertyDiagnostic = "Diagnostic-Id"
)

// traceOf returns the trace that a message carries.
func traceOf(properties map[string]any) string {
	for _, name := range []string{propertyTrace, propertyDiagnostic} {
		if text, ok := properties[name].(string); ok {
			return text
		}
	}
	return ""
}

func outgoing(m queue.Message) *azservicebus.Message {
	kind := cmp.Or(m.ContentType, queue.ContentType)
	out := &azservicebus.Message{
		Body: m.Body, ContentType: &kind, MessageID: set(m.ID), SessionID: set(m.SessionID), CorrelationID: set(m.CorrelationID),
	}
	if !m.ScheduledAt.IsZero() {
		at := m.ScheduledAt.UTC()
		out.ScheduledEnqueueTime = &at
	}
	if m.TTL > 0 {
		out.TimeToLive = &m.TTL
	}
	if m.Trace != "" {
		out.ApplicationProperties = map[string]any{propertyTrace: m.Trace}
	}
	return out
}

func set(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func incoming(m *azservicebus.ReceivedMessage) queue.Delivery {
	return queue.Delivery{
		Message: queue.Message{
			ID: m.MessageID, SessionID: deref(m.SessionID), CorrelationID: deref(m.CorrelationID), ContentType: deref(m.ContentType),
			Trace: traceOf(m.ApplicationProperties), Body: m.Body, ScheduledAt: deref(m.ScheduledEnqueueTime), TTL: deref(m.TimeToLive),
		},
		Lock: lockOf(m), Sequence: deref(m.SequenceNumber), DeliveryCount: int(m.DeliveryCount),
		EnqueuedAt: deref(m.EnqueuedTime), LockedUntil: deref(m.LockedUntil),
		DeadReason: deref(m.DeadLetterReason), DeadText: deref(m.DeadLetterErrorDescription),
	}
}

func lockOf(m *azservicebus.ReceivedMessage) string { return hex.EncodeToString(m.LockToken[:]) }

// byToken is a message of which only the lock is known. The SDK settles it by a request instead of on the
// link that it came from (azservicebus, messageSettler.go).
func byToken(lock string) (*azservicebus.ReceivedMessage, bool) {
	token, err := hex.DecodeString(lock)
	if err != nil || len(token) != 16 {
		return nil, false
	}
	return &azservicebus.ReceivedMessage{LockToken: [16]byte(token)}, true
}

func deref[T string | int64 | time.Time | time.Duration](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
