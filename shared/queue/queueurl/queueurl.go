// Package queueurl opens the queue that a QUEUE_URL names. The forms of such a URL are in package config,
// which checks them at the start along with all other settings, so that whoever opens a queue means the
// same by a URL.
//
// Entry point: Open.
package queueurl

import (
	"context"
	"errors"
	"fmt"
	"net/url"

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

// Open returns the queue that raw names. It connects to nothing yet. Its errors name the accepted
// forms and never show raw, which may hold a key.
func Open(raw string) (Queue, error) {
	form, err := config.QueueForm(raw)
	switch {
	case raw == "":
		return nil, fmt.Errorf("QUEUE_URL is not set: %w", err)
	case err != nil:
		return nil, fmt.Errorf("QUEUE_URL: %w", err)
	}
	switch form {
	case config.FormHTTP:
		return openHTTP(raw)
	case config.FormServiceBus:
		b, err := servicebus.New(raw)
		if err != nil {
			return nil, fmt.Errorf("QUEUE_URL: %w", err)
		}
		return b, nil
	case config.FormSQS:
		return nil, errors.New("QUEUE_URL names SQS, which the functions in AWS and the command gate alone open")
	}
	return nil, fmt.Errorf("QUEUE_URL: no adapter opens the form %q", form)
}

func openHTTP(raw string) (Queue, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("QUEUE_URL is not a valid URL") // the cause would show it
	}
	return httpqueue.New(u, nil), nil
}
