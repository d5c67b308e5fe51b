package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"time"
)

const (
	// strayLine is how much of a line is passed on at once, in bytes. A longer one is broken, also inside a marker.
	strayLine = 64 << 10
	// strayPatience is how long the end waits for a program that still holds the pipe.
	strayPatience = 200 * time.Millisecond
)

// stray is what is written to os.Stderr by whoever knows no console: the SDK of AWS quotes there what a server has
// answered, that of Azure does with AZURE_SDK_GO_LOGGING, and a credential_process inherits it. None of it is clean.
type stray struct {
	in, out *os.File
	passed  chan struct{} // closed when nothing more is passed on
}

// divert puts a pipe in the place of os.Stderr. Nobody may have begun to use that; the stderr of the process is the
// caller's alone from then on.
func divert() (*stray, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	os.Stderr = in
	return &stray{in, out, make(chan struct{})}, nil
}

// pass passes whole lines on, until nobody holds the pipe any more or end is called. As it always reads on, nobody
// who writes waits longer than one write to the console takes.
func (s *stray) pass(to io.Writer) {
	defer close(s.passed)
	lines := bufio.NewReaderSize(s.out, strayLine)
	for {
		line, err := lines.ReadSlice('\n')
		if n := len(line); n > 0 {
			_, _ = to.Write(line)
			if line[n-1] != '\n' {
				_, _ = to.Write([]byte{'\n'})
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// end returns when all that was written has been passed on, or soon: a program that was started may hold the pipe
// for long, and a reader may be slow.
func (s *stray) end() {
	_ = s.in.Close()
	_ = s.out.SetReadDeadline(time.Now().Add(strayPatience))
	select {
	case <-s.passed:
	case <-time.After(3 * strayPatience):
	}
}
