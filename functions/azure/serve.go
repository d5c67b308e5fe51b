package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	headerTimeout = 10 * time.Second // the host is on this machine and sends headers at once
	drainTimeout  = 5 * time.Second  // how long running invocations may take once ctx has ended
)

// serve listens on loopback, where the host looks for its handler (azure-functions-host,
// WorkerConstants.cs), until ctx ends; then it lets running invocations finish for a short while. What
// is cut off is delivered again.
func serve(ctx context.Context, port int, handler http.Handler, log *slog.Logger) error {
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	log.InfoContext(ctx, "listening", "address", ln.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return drain(context.WithoutCancel(ctx), srv, ended)
	}
}

// drain ends the server and waits for it.
func drain(ctx context.Context, srv *http.Server, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	err := srv.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if last := <-ended; !errors.Is(last, http.ErrServerClosed) {
		err = errors.Join(err, last)
	}
	if err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}
