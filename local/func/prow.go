package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"prowgate/gangway/gangwaytest"
)

const (
	jobTakes    = 30 * time.Second // of a job at the stand-in
	headersTake = 10 * time.Second // of a request to it
	perMinute   = 9                // the limit in front of OpenShift CI's Gangway
	burstAtOnce = 5
)

// serveProw serves the stand-in for Gangway, Deck and the artifacts bucket at the base URL if that is on this
// machine; elsewhere is the real one, or somebody else's. The returned function ends it.
func serveProw(ctx context.Context, base string, clock func() time.Time) (end func(), err error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, errors.New("GANGWAY_URL must be a URL")
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return func() {}, nil
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("the stand-in for Prow: %w", err)
	}
	world := gangwaytest.New(gangwaytest.Options{
		Clock: clock, BaseURL: base, RatePerMinute: perMinute, Burst: burstAtOnce, ScriptFor: gangwaytest.Demo(jobTakes),
	})
	server := &http.Server{Handler: world, ReadHeaderTimeout: headersTake}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }() // always an error, that it was closed
	return func() { _ = server.Close(); <-ended }, nil      // there is nobody to hear of it
}
