package azurefn

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"prowgate/shared/gate"
)

// maxLines is how many log lines one answer carries; all of them are on stdout.
const maxLines = 200

// scope collects the log lines of one invocation. It travels in the context.
type scope struct {
	in      Invocation
	mu      sync.Mutex
	kept    []string
	dropped int
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	return sc
}

func (sc *scope) add(line string) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.kept) == maxLines {
		sc.dropped++
		return
	}
	sc.kept = append(sc.kept, line)
}

// lines returns a copy of what was logged so far.
func (sc *scope) lines() []string {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	lines := append([]string{}, sc.kept...)
	if sc.dropped > 0 {
		lines = append(lines, fmt.Sprintf("and %d more lines on stdout", sc.dropped))
	}
	return lines
}

// attrs names the invocation in every line that is logged for it.
func (sc *scope) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("function", sc.in.Function)}
	if sc.in.ID != "" {
		attrs = append(attrs, slog.String("invocation", sc.in.ID))
	}
	if sc.in.MessageID != "" {
		attrs = append(attrs, slog.String("message", sc.in.MessageID), slog.Int("delivery", sc.in.DeliveryCount))
	}
	return attrs
}

// NewLog returns a log handler that writes each record to out as one line of JSON. A record that is
// logged with the context of an invocation names that invocation and is also returned in the answer's
// Logs, because the host does not know which invocation a line on stdout belongs to. What more finds in a
// record's context is added to its line. No line ever holds an EV2 marker, wherever in the record it was.
// Records may be logged by many goroutines.
func NewLog(out io.Writer, level slog.Leveler, more ...func(context.Context) []slog.Attr) slog.Handler {
	return &logHandler{out: &lineWriter{w: out}, level: level, more: more}
}

type logHandler struct {
	out   *lineWriter
	level slog.Leveler
	more  []func(context.Context) []slog.Attr
	with  []func(slog.Handler) slog.Handler // the attributes and groups added so far, in order
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.adding(func(in slog.Handler) slog.Handler { return in.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.adding(func(in slog.Handler) slog.Handler { return in.WithGroup(name) })
}

func (h *logHandler) adding(f func(slog.Handler) slog.Handler) *logHandler {
	with := append(h.with[:len(h.with):len(h.with)], f)
	return &logHandler{out: h.out, level: h.level, more: h.more, with: with}
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	sc := scopeOf(ctx)
	line, err := h.render(ctx, sc, r)
	if err != nil {
		return err
	}
	if sc != nil {
		sc.add(line)
	}
	return h.out.writeLine(line)
}

// render makes the line. The marker is looked for in the finished line, so that no key, group, error
// or value of any type can carry one past.
func (h *logHandler) render(ctx context.Context, sc *scope, r slog.Record) (string, error) {
	var buf bytes.Buffer
	var inner slog.Handler = slog.NewJSONHandler(&buf, nil)
	if sc != nil {
		inner = inner.WithAttrs(sc.attrs())
	}
	for _, attrs := range h.more {
		inner = inner.WithAttrs(attrs(ctx))
	}
	for _, f := range h.with {
		inner = f(inner)
	}
	if err := inner.Handle(ctx, r); err != nil {
		return "", err
	}
	return gate.Neutralise(strings.TrimSuffix(buf.String(), "\n")), nil
}

// lineWriter keeps lines whole.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) writeLine(line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.w, line+"\n")
	return err
}
