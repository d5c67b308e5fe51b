package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"prowgate/gangway/gangwaytest"
	"prowgate/gangway/prow"
)

// surroundings are the servers around a handler that is measured by itself: Prow, and queues that take
// every message and hand out none.
type surroundings struct {
	prow, queues string // addresses
	stop         func()
	world        *gangwaytest.World
	ticks        chan []byte // what was sent to the poll queue; nobody has to read it
}

const ticksAtOnce = 4096

// surround starts the servers. Jobs there hang.
func surround(ctx context.Context, clock func() time.Time) (*surroundings, error) {
	s := &surroundings{
		world: gangwaytest.New(gangwaytest.Options{Clock: clock}),
		ticks: make(chan []byte, ticksAtOnce),
	}
	var stopProw, stopQueues func()
	var err error
	if s.prow, stopProw, err = serve(ctx, s.world); err != nil {
		return nil, err
	}
	if s.queues, stopQueues, err = serve(ctx, http.HandlerFunc(s.take)); err != nil {
		stopProw()
		return nil, err
	}
	s.stop = func() { stopQueues(); stopProw() }
	return s, nil
}

// serve serves on a free port of this machine until stop is called.
func serve(ctx context.Context, h http.Handler) (url string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }() // it ends by stop
	stop = func() {
		_ = server.Close() // whoever is still connected is ended with it
		<-ended
	}
	return "http://" + l.Addr().String(), stop, nil
}

// take answers as a queue does that has stored a message.
func (s *surroundings) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if strings.Contains(r.URL.Path, "gate-poll") {
		select {
		case s.ticks <- body:
		default:
		}
	}
	w.WriteHeader(http.StatusCreated)
}

// hang makes a job of somebody else that does not end, and returns its execution id.
func (s *surroundings) hang(jobName string) string {
	return s.world.AddForeign(gangwaytest.Foreign{
		JobName: jobName, Type: prow.Periodic, ExtraRefs: []prow.Refs{{Org: "Azure", Repo: "ARO-HCP", BaseRef: "main"}},
	})
}
