package funchost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"prowgate/shared/queue"
)

// invocation is the body of a request to the handler.
type invocation struct {
	Data     map[string]any
	Metadata map[string]any
}

// sys is the one part of the metadata that travels as an object.
type sys struct {
	MethodName string
	UtcNow     time.Time
	RandGuid   string
}

// timerData is what a timer's trigger sends. The status is there because the schedule is monitored.
type timerData struct {
	Schedule       struct{ AdjustForDST bool }
	ScheduleStatus struct{ Last, Next, LastUpdated time.Time }
	IsPastDue      bool
}

// queuePayload is the request for one message. The body travels as text encoded as JSON twice, and
// every scalar of the metadata as JSON inside a string (azure-functions-host,
// ScriptInvocationContextExtensions.cs).
func queuePayload(f Function, d queue.Delivery, now time.Time) ([]byte, error) {
	meta := map[string]any{
		"DeliveryCount":   d.DeliveryCount,
		"SequenceNumber":  d.Sequence,
		"EnqueuedTimeUtc": d.EnqueuedAt.UTC(),
		"ExpiresAtUtc":    expiry(d),
		"MessageId":       d.ID,
		"LockToken":       d.Lock,
		"ContentType":     d.ContentType,
	}
	optional(meta, "SessionId", d.SessionID)
	optional(meta, "CorrelationId", d.CorrelationID)
	for name, v := range meta {
		text, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("metadata %s: %w", name, err)
		}
		meta[name] = text
	}
	meta["sys"] = newSys(f, now)
	if d.Trace != "" { // the message's own properties, an object under the name of either library
		own := map[string]string{"traceparent": d.Trace}
		meta["ApplicationProperties"], meta["UserProperties"] = own, own
	}
	body, err := encode(strings.ToValidUTF8(string(d.Body), "\uFFFD"))
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return encodeInvocation(invocation{Data: map[string]any{f.Binding: body}, Metadata: meta})
}

// expiry is when the message will be dropped; .NET's last moment when never.
func expiry(d queue.Delivery) time.Time {
	if d.TTL <= 0 {
		return time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC)
	}
	return d.EnqueuedAt.Add(d.TTL).UTC()
}

func optional(meta map[string]any, name, value string) {
	if value != "" {
		meta[name] = value
	}
}

// timerPayload is the request for one run of a schedule: the last run, the one after this, and whether
// this one is late.
func timerPayload(f Function, last, next, now time.Time, late bool) ([]byte, error) {
	var t timerData
	t.Schedule.AdjustForDST = true
	t.ScheduleStatus.Last, t.ScheduleStatus.Next, t.ScheduleStatus.LastUpdated = last.UTC(), next.UTC(), last.UTC()
	t.IsPastDue = late
	return encodeInvocation(invocation{
		Data:     map[string]any{f.Binding: t},
		Metadata: map[string]any{"sys": newSys(f, now)},
	})
}

func newSys(f Function, now time.Time) sys {
	return sys{MethodName: f.Name, UtcNow: now.UTC(), RandGuid: uuid.NewString()}
}

func encodeInvocation(i invocation) ([]byte, error) {
	text, err := encode(i)
	return []byte(text), err
}

// encode is json.Marshal without the escapes for HTML, which .NET does not make either.
func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
