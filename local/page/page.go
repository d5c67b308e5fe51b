// Package page puts the gates' page on the local host, and on it what only this host has: the queues
// with their counts, and the dead letters, which people can read, re-send and drop.
//
//	POST /dead-letters/resend   sends the dead letter's bytes to its queue once more
//	POST /dead-letters/drop     removes it for good
//
// Both take the form fields queue and sequence, and nothing that another origin made a browser send.
//
// Entry point: Register.
package page

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"prowgate/shared/page"
	"prowgate/shared/queue"
	"prowgate/shared/queue/depth"
)

// Path is where the page is.
const Path = "/"

// every is how often an open page looks again.
const every = 2 * time.Second

// Records is the part of the record store that is read.
type Records = page.Records

// Broker is the part of the broker that the page needs. See the broker for the kinds of its errors.
type Broker interface {
	queue.Sender
	Counts(ctx context.Context, name string) (depth.Counts, error)
	Peek(ctx context.Context, name string, after int64, limit int) ([]queue.Delivery, error)
	Discard(ctx context.Context, name string, sequence int64) error
}

// Config is what the page shows. All fields but Records are required.
type Config struct {
	Records Records // nil where the handler keeps its records in its own memory
	Broker  Broker
	Queues  []string
	Clock   func() time.Time
	Log     *slog.Logger
}

// Register adds the page's routes to mux.
func Register(mux *http.ServeMux, c Config) { register(mux, c, every) }

// register is Register with another time between two looks of an open page.
func register(mux *http.ServeMux, c Config, every time.Duration) {
	d := desk{c, make(chan struct{}, 1)}
	page.New(page.Config{
		Records: c.Records, Queues: d.queues, Clock: c.Clock, Log: c.Log, Where: "local host", Path: Path, Every: every,
	}).Register(mux)
	// The host's own guard looks at every request; a page that changes something does not rely on it.
	own := http.NewCrossOriginProtection()
	mux.Handle("POST /dead-letters/resend", own.Handler(d.acting(d.resend)))
	mux.Handle("POST /dead-letters/drop", own.Handler(d.acting(d.drop)))
}
