// Package queueurl turns the setting QUEUE_URL into a queue: the form of the URL chooses the adapter.
// A new adapter is one more row of the table in this file.
//
// Entry point: Open.
package queueurl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"prowgate/shared/config"
	"prowgate/shared/queue"
	"prowgate/shared/queue/httpqueue"
	"prowgate/shared/queue/servicebus"
)

// Queue is both faces of a queue. Close lets go of its connections.
type Queue interface {
	queue.Sender
	queue.Receiver
	Close(ctx context.Context) error
}

// form is one accepted form of QUEUE_URL.
type form struct {
	example string
	match   func(raw string) bool
	open    func(raw string) (Queue, error) // its errors must not repeat raw: it may hold a key
}

func forms() []form {
	return []form{
		{"sb://<namespace>.servicebus.windows.net", scheme("sb"), openServiceBus},
		{"a Service Bus connection string", hasEndpoint, openServiceBus},
		{"http://host:port", scheme("http", "https"), openHTTP},
	}
}

// Open returns the queue that raw names. It connects to nothing yet. Its errors name the accepted
// forms and never show raw, which may hold a key.
func Open(raw string) (Queue, error) {
	if form, _ := config.QueueForm(raw); form == config.FormSQS {
		return nil, errors.New("QUEUE_URL names SQS, which the functions in AWS and the command gate alone open")
	}
	var examples []string
	for _, f := range forms() {
		if f.match(raw) {
			return f.open(raw)
		}
		examples = append(examples, f.example)
	}
	if raw == "" {
		return nil, errors.New("QUEUE_URL is not set; accepted forms: " + strings.Join(examples, ", "))
	}
	return nil, errors.New("QUEUE_URL has no known form; accepted forms: " + strings.Join(examples, ", "))
}

// scheme matches URLs by their scheme, in any letter case.
func scheme(names ...string) func(string) bool {
	return func(raw string) bool {
		before, _, found := strings.Cut(raw, "://")
		for _, name := range names {
			if found && strings.EqualFold(before, name) {
				return true
			}
		}
		return false
	}
}

// hasEndpoint matches connection strings, whose parts come in any order.
func hasEndpoint(raw string) bool {
	lower := ";" + strings.ToLower(raw)
	return strings.Contains(lower, ";endpoint=") || strings.Contains(lower, ";sharedaccesskey")
}

func openServiceBus(raw string) (Queue, error) {
	b, err := servicebus.New(raw)
	if err != nil {
		return nil, fmt.Errorf("QUEUE_URL: %w", err)
	}
	return b, nil
}

func openHTTP(raw string) (Queue, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("QUEUE_URL is not a valid URL") // the cause would show it
	case u.Hostname() == "":
		return nil, errors.New("QUEUE_URL names no host")
	case u.User != nil:
		return nil, errors.New("QUEUE_URL must not hold a user or password")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("QUEUE_URL must not have a query or fragment")
	}
	return httpqueue.New(u, nil), nil
}
