package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// invocation is the document that the Functions host posts for one message: the body as text encoded as JSON
// twice, the metadata's scalars as JSON inside strings (azure-functions-host, ScriptInvocationContextExtensions.cs).
func invocation(function, id string, body []byte, at time.Time) ([]byte, error) {
	quoted := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			return "null" // of strings, numbers and times in our century there is none that cannot be encoded
		}
		return string(text)
	}
	return json.Marshal(map[string]any{
		"Data": map[string]any{"message": quoted(string(body))},
		"Metadata": map[string]any{
			"DeliveryCount": "1", "SequenceNumber": "4711", "MessageId": quoted(id), "ContentType": quoted("application/json"),
			"EnqueuedTimeUtc": quoted(at.UTC()), "ExpiresAtUtc": quoted(at.UTC().Add(time.Hour)),
			"LockToken":     quoted("7d2c5a0e-31f6-4a39-9a11-6c7d1b9d0f55"),
			"CorrelationId": quoted(id),
			"sys":           map[string]any{"MethodName": function, "UtcNow": at.UTC(), "RandGuid": "4a39-9a11"},
		},
	})
}

// invoke posts one document and wants it to be taken well.
func invoke(ctx context.Context, client *http.Client, url string, document []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("X-Azure-Functions-InvocationId", "7d2c5a0e-31f6-4a39-9a11-6c7d1b9d0f55")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	return err
}
