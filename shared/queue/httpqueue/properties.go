package httpqueue

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"prowgate/shared/queue"
)

// properties are a message's BrokerProperties. Times are RFC 1123 in GMT, as Service Bus writes them;
// read, they may be RFC 3339 as well, which keeps fractions of a second.
type properties struct {
	MessageID     string  `json:"MessageId,omitempty"`
	SessionID     string  `json:"SessionId,omitempty"`
	CorrelationID string  `json:"CorrelationId,omitempty"`
	ScheduledAt   string  `json:"ScheduledEnqueueTimeUtc,omitempty"`
	TimeToLive    float64 `json:"TimeToLive,omitempty"` // seconds

	Sequence      int64  `json:"SequenceNumber,omitempty"`
	DeliveryCount int    `json:"DeliveryCount,omitempty"`
	EnqueuedAt    string `json:"EnqueuedTimeUtc,omitempty"`
	LockToken     string `json:"LockToken,omitempty"`
	LockedUntil   string `json:"LockedUntilUtc,omitempty"`
	DeadReason    string `json:"DeadLetterReason,omitempty"`
	DeadText      string `json:"DeadLetterErrorDescription,omitempty"`
}

// known are the properties that a sender may set: those of Service Bus. Only the first five mean
// something here.
func known() []string {
	return []string{
		"MessageId", "SessionId", "CorrelationId", "ScheduledEnqueueTimeUtc", "TimeToLive",
		"Label", "To", "ReplyTo", "ReplyToSessionId", "PartitionKey", "ViaPartitionKey", "State",
		"SequenceNumber", "EnqueuedSequenceNumber", "DeliveryCount", "EnqueuedTimeUtc", "LockToken", "LockedUntilUtc",
		"DeadLetterSource", "DeadLetterReason", "DeadLetterErrorDescription",
	}
}

// propertyError is a property that cannot be used.
type propertyError struct{ property, text string }

func (e *propertyError) Error() string {
	if e.property == "" {
		return propertiesHeader + ": " + e.text
	}
	return propertiesHeader + ": " + e.property + ": " + e.text
}

// readMessage makes a message of the header's properties; its error is a *propertyError.
func readMessage(header string) (queue.Message, error) {
	var m queue.Message
	if header == "" {
		return m, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(header), &raw); err != nil {
		return m, &propertyError{"", "not a JSON object"}
	}
	for name := range raw {
		if !slices.Contains(known(), name) {
			return m, &propertyError{name, "unknown property"}
		}
	}
	for _, r := range readers() {
		if value, ok := raw[r.name]; ok {
			if text := r.read(value, &m); text != "" {
				return m, &propertyError{r.name, text}
			}
		}
	}
	return m, nil
}

// reader reads one property into a message and returns what is wrong with it, if anything.
type reader struct {
	name string
	read func(value json.RawMessage, m *queue.Message) string
}

func readers() []reader {
	return []reader{
		{"MessageId", text(func(m *queue.Message) *string { return &m.ID })},
		{"SessionId", text(func(m *queue.Message) *string { return &m.SessionID })},
		{"CorrelationId", text(func(m *queue.Message) *string { return &m.CorrelationID })},
		{"ScheduledEnqueueTimeUtc", readScheduled},
		{"TimeToLive", readTTL},
	}
}

func text(field func(*queue.Message) *string) func(json.RawMessage, *queue.Message) string {
	return func(value json.RawMessage, m *queue.Message) string {
		if json.Unmarshal(value, field(m)) != nil {
			return "must be a string"
		}
		return ""
	}
}

func readScheduled(value json.RawMessage, m *queue.Message) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return "must be a string"
	}
	at, err := parseTime(s)
	if err != nil {
		return "must be a time as in RFC 1123 (GMT) or RFC 3339"
	}
	m.ScheduledAt = at
	return ""
}

func readTTL(value json.RawMessage, m *queue.Message) string {
	var seconds float64
	if json.Unmarshal(value, &seconds) != nil {
		return "must be a number of seconds"
	}
	if seconds <= 0 {
		return "must be above 0"
	}
	m.TTL = duration(seconds)
	return ""
}

// duration turns seconds into a duration, the longest one where they are too many.
func duration(seconds float64) time.Duration {
	if seconds >= time.Duration(math.MaxInt64).Seconds() {
		return math.MaxInt64
	}
	return time.Duration(seconds * float64(time.Second))
}

// messageProperties is what a sender says of a message. The schedule keeps its fraction of a second.
func messageProperties(m queue.Message) properties {
	p := properties{
		MessageID: m.ID, SessionID: m.SessionID, CorrelationID: m.CorrelationID, TimeToLive: m.TTL.Seconds(),
	}
	if !m.ScheduledAt.IsZero() {
		p.ScheduledAt = m.ScheduledAt.UTC().Format(time.RFC3339Nano)
	}
	return p
}

// deliveryProperties is what a receiver is told of a message.
func deliveryProperties(d queue.Delivery) properties {
	p := messageProperties(d.Message)
	p.ScheduledAt = formatTime(d.ScheduledAt)
	p.Sequence, p.DeliveryCount, p.LockToken = d.Sequence, d.DeliveryCount, d.Lock
	p.EnqueuedAt, p.LockedUntil = formatTime(d.EnqueuedAt), formatTime(d.LockedUntil)
	p.DeadReason, p.DeadText = d.DeadReason, d.DeadText
	return p
}

// readDelivery is the reverse of deliveryProperties; body and content type are not in it.
func readDelivery(header string) (queue.Delivery, error) {
	var p properties
	if err := json.Unmarshal([]byte(header), &p); err != nil {
		return queue.Delivery{}, fmt.Errorf("header %s: %w", propertiesHeader, err)
	}
	d := queue.Delivery{
		Message:  queue.Message{ID: p.MessageID, SessionID: p.SessionID, CorrelationID: p.CorrelationID, TTL: duration(p.TimeToLive)},
		Sequence: p.Sequence, DeliveryCount: p.DeliveryCount, Lock: p.LockToken,
		DeadReason: p.DeadReason, DeadText: p.DeadText,
	}
	var errs []error
	for target, s := range map[*time.Time]string{&d.ScheduledAt: p.ScheduledAt, &d.EnqueuedAt: p.EnqueuedAt, &d.LockedUntil: p.LockedUntil} {
		at, err := parseTime(s)
		*target, errs = at, append(errs, err)
	}
	return d, errors.Join(errs...)
}

// parseTime reads RFC 1123 in GMT and RFC 3339; empty is the zero time.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(http.TimeFormat, s); err == nil {
		return at.UTC(), nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	return at.UTC(), err
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(http.TimeFormat)
}

// headerValue returns v as JSON that is safe in a header: everything outside printable ASCII escaped.
func headerValue(v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range string(plain) {
		switch {
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String(), nil
}
