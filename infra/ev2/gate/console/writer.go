package console

import (
	"bytes"
	"io"
	"sync"
)

// Writer passes whole lines on, each made harmless by Text. Lines, because a text that two writes make
// together must be seen as one. It is safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte
}

// NewWriter returns a writer of clean lines.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write keeps what follows the last line break until the next Write or Flush.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	lines := string(w.rest[:end])
	w.rest = append([]byte(nil), w.rest[end:]...)
	_, err := io.WriteString(w.to, Text(lines))
	return len(p), err
}

// exactly writes a line that is not to be made harmless. Nobody is told when that fails.
func (w *Writer) exactly(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.to, line)
}

// Flush writes the unfinished line, if there is one.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 {
		return nil
	}
	line := string(w.rest)
	w.rest = nil
	_, err := io.WriteString(w.to, Text(line))
	return err
}
