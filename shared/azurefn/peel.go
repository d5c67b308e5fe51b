package azurefn

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// request is what the host posts (azure-functions-host, HttpScriptInvocationContext.cs).
type request struct {
	Data     map[string]json.RawMessage
	Metadata map[string]json.RawMessage
}

// peel decodes an invocation. Every function has exactly one binding, its trigger, so Data holds
// exactly one value.
func peel(raw []byte) (Invocation, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return Invocation{}, errors.New("the request has no body")
	}
	var req request
	if err := json.Unmarshal(raw, &req); err != nil {
		return Invocation{}, fmt.Errorf("the body is no invocation: %w", err)
	}
	if len(req.Data) != 1 {
		return Invocation{}, fmt.Errorf("the request's Data must hold the trigger and nothing else, it holds %d values", len(req.Data))
	}
	in := metadata(req.Metadata)
	for name, value := range req.Data {
		body, err := peelBody(value)
		if err != nil {
			return Invocation{}, fmt.Errorf("the request's Data.%s: %w", name, err)
		}
		in.Body = body
	}
	return in, nil
}

// peelBody takes the host's wrapping off a trigger's value. An object is the body itself; the host
// makes one of whatever it can convert. Everything else comes as a string.
func peelBody(value json.RawMessage) ([]byte, error) {
	switch value[0] {
	case '{':
		return value, nil
	case '"':
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return nil, err
		}
		return peelText(strings.TrimSpace(s))
	}
	return nil, fmt.Errorf("neither an object nor a string, it begins with %q", value[0])
}

// peelText tells the three kinds of string apart by their first character, which no two share:
//
//   - a JSON string literal is a text message; the host has encoded it a second time
//     (azure-functions-host, ScriptInvocationContextExtensions.cs). It is unquoted once and never
//     again: what is inside is the sender's.
//   - a JSON object is the body as text.
//   - base64 is a message of bytes.
//
// The text null is a message without a body.
func peelText(s string) ([]byte, error) {
	switch {
	case s == "" || s == "null":
		return nil, nil
	case s[0] == '"':
		var text string
		if err := json.Unmarshal([]byte(s), &text); err != nil {
			return nil, fmt.Errorf("a JSON string in a string is broken: %w", err)
		}
		return []byte(text), nil
	case s[0] == '{':
		return []byte(s), nil
	}
	body, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errors.New("the string is neither JSON nor base64")
	}
	return body, nil
}
