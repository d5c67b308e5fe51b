package upstream

import (
	"context"
	"fmt"
)

const workAhead = 64 // bulk changes that may be under way without anybody waiting for them

// work is what Gangway does after it has answered a bulk change: a list, then an update of each job.
type work struct {
	begun chan context.Context // of the lists
	held  chan struct{}        // closed when the lists may go on; nil: nothing holds them
}

func newWork() work { return work{begun: make(chan context.Context, workAhead)} }

// begin takes note of a bulk change's list, and keeps it while work is held. Only work in the background
// has a deadline of its own.
func (s *Store) begin(ctx context.Context) {
	if _, ok := ctx.Deadline(); !ok {
		return
	}
	s.mu.Lock()
	held := s.work.held
	s.mu.Unlock()
	s.work.begun <- ctx
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-ctx.Done():
	}
}

// HoldWork keeps bulk changes from looking at any job, until the next Settle.
func (s *Store) HoldWork() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work.held == nil {
		s.work.held = make(chan struct{})
	}
}

func (s *Store) releaseWork() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work.held != nil {
		close(s.work.held)
		s.work.held = nil
	}
}

// Settle lets held work go on and returns when the oldest bulk change that has begun and was not waited for
// has done its work. Gangway cancels the context of its list when all is done.
func (s *Store) Settle(ctx context.Context) error {
	s.releaseWork()
	select {
	case begun := <-s.work.begun:
		select {
		case <-begun.Done():
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the bulk change goes on: %w", ctx.Err())
		}
	case <-ctx.Done():
		return fmt.Errorf("no bulk change has begun: %w", ctx.Err())
	}
}
