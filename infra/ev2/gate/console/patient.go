package console

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// patience is how long a line waits for its reader. A pipe whose reader stands still blocks whoever writes
	// to it, and a step has more urgent things to do: a signal to answer.
	patience = 200 * time.Millisecond
	// lastPatience is the same for the program's last words.
	lastPatience = 500 * time.Millisecond
	// mostKept is how much is kept for a reader that stands still, in bytes.
	mostKept = 256 << 10
)

// patient writes in order, by a goroutine that lives while there is something to write. Once a reader has
// made a write wait, nobody waits for it until it has caught up; what goes beyond mostKept is left out, in
// whole writes, and the reader is told how much. It is safe for concurrent use.
type patient struct {
	to io.Writer

	mu      sync.Mutex
	rest    []byte
	lost    int
	stalled bool
	idle    chan struct{} // closed when all is written; nil while nothing is being written
}

// Write never fails: a step whose stderr is gone has nobody left to tell.
func (p *patient) Write(b []byte) (int, error) {
	p.mu.Lock()
	if len(p.rest)+len(b) > mostKept {
		p.lost += len(b)
	} else {
		p.rest = append(p.rest, b...)
	}
	if p.idle == nil {
		p.idle = make(chan struct{})
		go p.drain()
	}
	stalled := p.stalled
	p.mu.Unlock()
	if !stalled {
		p.await(patience)
	}
	return len(b), nil
}

// await waits until all is written, but no longer than d.
func (p *patient) await(d time.Duration) {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()
	if idle == nil {
		return
	}
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
		p.mu.Lock()
		p.stalled = p.idle != nil
		p.mu.Unlock()
	}
}

func (p *patient) drain() {
	for b := p.next(); b != nil; b = p.next() {
		_, _ = p.to.Write(b)
	}
}

// next takes what is to be written, nil when that is nothing.
func (p *patient) next() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.rest
	if p.lost > 0 {
		b = fmt.Appendf(b, "... %d bytes are left out here, nobody read them in time\n", p.lost)
	}
	p.rest, p.lost = nil, 0
	if len(b) == 0 {
		close(p.idle)
		p.idle, p.stalled = nil, false
		return nil
	}
	return b
}
