package main

import (
	"io"
	"log/slog"
	"strings"
	"sync"

	"prowgate/shared/gate"
)

// newLog returns the host's own log.
func newLog(to io.Writer, quiet bool) *slog.Logger {
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(prefixed{to: to, prefix: "local: "}, &slog.HandlerOptions{Level: level}))
}

// lockedWriter lets the host's log and the handler's lines share one stream.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// prefixed puts a prefix before each write, which is one line. Whatever the line quotes, no EV2 marker
// gets into a log.
type prefixed struct {
	to     io.Writer
	prefix string
}

func (w prefixed) Write(p []byte) (int, error) {
	line := gate.Neutralise(strings.TrimSuffix(string(p), "\n"))
	_, err := w.to.Write([]byte(w.prefix + line + "\n"))
	return len(p), err
}
