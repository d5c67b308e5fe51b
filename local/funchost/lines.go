package funchost

import (
	"bytes"
	"io"
	"sync"
)

// longestLine is where a line without an end is cut.
const longestLine = 64 << 10

// lines passes on what is written to it line by line.
type lines struct {
	to io.Writer

	mu   sync.Mutex // a process's output may still be copied while its end is noticed
	rest []byte
}

// Write never fails: a handler must not be ended by a full disk behind its log.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n') + 1
		if end == 0 && len(l.rest) < longestLine {
			return len(p), nil
		}
		if end == 0 {
			end = longestLine
		}
		l.pass(l.rest[:end])
		l.rest = l.rest[end:]
	}
}

// flush passes on a last line that has no end.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.pass(l.rest)
	}
	l.rest = nil
}

func (l *lines) pass(line []byte) {
	line = bytes.TrimRight(line, "\r\n")
	_, _ = l.to.Write(append(bytes.Clone(line), '\n'))
}
