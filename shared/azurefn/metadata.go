package azurefn

import (
	"encoding/json"
	"strconv"
	"time"
)

// metadata reads what the host knows about the message. The names are those of the Service Bus
// extension; a timer has none of them.
func metadata(m map[string]json.RawMessage) Invocation {
	count, _ := strconv.Atoi(scalar(m["DeliveryCount"])) // zero when there is none
	return Invocation{
		MessageID:     scalar(m["MessageId"]),
		SessionID:     scalar(m["SessionId"]),
		DeliveryCount: count,
		EnqueuedAt:    timestamp(scalar(m["EnqueuedTimeUtc"])),
		Trace:         trace(m),
	}
}

// trace returns the traceparent among the message's own properties, which the host sends under two names. The
// libraries for Service Bus write it as Diagnostic-Id too, the older ones in a form of their own
// (azure-sdk-for-net, MessagingClientDiagnostics.cs).
func trace(m map[string]json.RawMessage) string {
	for _, under := range []string{"ApplicationProperties", "UserProperties"} {
		properties := object(m[under])
		for _, name := range []string{"traceparent", "Diagnostic-Id"} {
			if text := scalar(properties[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// object returns the fields of a metadata value, which may come as JSON inside a string like a scalar; none when it
// is no object.
func object(raw json.RawMessage) map[string]json.RawMessage {
	if text, ok := unquote(raw); ok {
		raw = json.RawMessage(text)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// scalar returns the text of a metadata value. The host sends scalars as JSON inside a string,
// "\"abc\"" for abc and "1" for 1; a bare value is taken as it is. What is not a scalar is empty.
func scalar(raw json.RawMessage) string {
	text, ok := unquote(raw)
	if !ok {
		return bare(raw)
	}
	if inner, ok := unquote([]byte(text)); ok {
		return inner
	}
	return text
}

// unquote decodes a JSON string.
func unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// bare returns a number or a boolean as it is written, everything else as nothing.
func bare(raw []byte) string {
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return ""
	}
	return string(raw)
}

// timestamp reads a time as .NET writes it: with a zone, or without one when the host has lost the
// kind of it on the way, and then it is UTC as the name says. Zero when it is neither.
func timestamp(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
