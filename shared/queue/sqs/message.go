package sqs

import (
	"cmp"
	"encoding/base64"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"prowgate/shared/queue"
)

// The attributes that carry what a message of SQS has no place for. A message from elsewhere has none of
// them: its id is then SQS's own, and its body is taken as it is.
const (
	attributeID          = "Id"
	attributeContentType = "ContentType"
	attributeCorrelation = "CorrelationId"
	attributeSession     = "SessionId"
	attributeTrace       = "traceparent"
	attributeScheduled   = "ScheduledAt" // RFC 3339
	attributeEncoding    = "Encoding"    // base64: of a body that SQS would not take
)

const encodingBase64 = "base64"

// encode returns the message as SQS takes it: attributes are never empty, nor is the body.
func encode(m queue.Message, now time.Time) (body string, attributes map[string]string) {
	attributes = map[string]string{attributeContentType: cmp.Or(m.ContentType, queue.ContentType)}
	for key, value := range map[string]string{
		attributeID: m.ID, attributeCorrelation: m.CorrelationID, attributeSession: m.SessionID, attributeTrace: m.Trace,
	} {
		if value != "" {
			attributes[key] = value
		}
	}
	if m.ScheduledAt.After(now) {
		attributes[attributeScheduled] = m.ScheduledAt.UTC().Format(time.RFC3339Nano)
	}
	if body = string(m.Body); body != "" && printable(body) {
		return body, attributes
	}
	attributes[attributeEncoding] = encodingBase64
	return "=" + base64.StdEncoding.EncodeToString(m.Body), attributes
}

// printable reports whether SQS takes the text (SQS API, SendMessage: MessageBody).
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}

// Decode returns the message that arrived as this body with these attributes; id is SQS's own, for a
// message that carries none.
func Decode(id, body string, attributes map[string]string) (queue.Message, error) {
	m := queue.Message{
		ID:            cmp.Or(attributes[attributeID], id),
		ContentType:   cmp.Or(attributes[attributeContentType], queue.ContentType),
		CorrelationID: attributes[attributeCorrelation],
		SessionID:     attributes[attributeSession],
		Trace:         attributes[attributeTrace],
		Body:          []byte(body),
	}
	var err error
	if at := attributes[attributeScheduled]; at != "" {
		if m.ScheduledAt, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return m, errors.New("the message's scheduled time is not readable")
		}
	}
	switch attributes[attributeEncoding] {
	case "":
	case encodingBase64:
		if m.Body, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(body, "=")); err != nil {
			return m, errors.New("the message's body is no base64")
		}
	default:
		return m, errors.New("the message's body has an unknown encoding")
	}
	return m, nil
}
