package console_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prowgate/infra/ev2/gate/console"
)

// gated passes on what is written once its gate is open.
type gated struct {
	bytes.Buffer
	open chan struct{}
}

func (g *gated) Write(p []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(p)
}

// A reader that stands still makes the first line wait a moment and the others not at all. When it reads on it
// gets them in order, and is told what there was no room for.
func TestReaderOfStderrThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, err := &bytes.Buffer{}, &gated{open: make(chan struct{})}
		c := console.New(out, err, time.Now)
		began := time.Now()
		for range 40 {
			c.Say("line %s", strings.Repeat("x", 8000))
		}
		if d := time.Since(began); d > 200*time.Millisecond {
			t.Errorf("40 lines took %s", d)
		}
		c.Flush()
		if d := time.Since(began); d > time.Second {
			t.Errorf("the end took %s", d)
		}
		close(err.open)
		synctest.Wait()
		c.Say("the last one")
		text := err.String()
		if n := strings.Count(text, "line x"); n < 20 || n > 35 || !strings.Contains(text, "bytes are left out here, nobody read them in time\n") {
			t.Errorf("%d lines of %d bytes, end %q", n, len(text), text[max(0, len(text)-200):])
		}
		if !strings.HasSuffix(text, "the last one\n") {
			t.Errorf("end %q", text[len(text)-200:])
		}
	})
}
