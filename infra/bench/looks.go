package main

import (
	"net/http"
	"sync"
	"time"
)

// looks are when each job was looked at, as Deck sees it.
type looks struct {
	clock   func() time.Time
	mu      sync.Mutex
	last    map[string]time.Time
	total   int
	between []time.Duration // of two looks at one job, since the last call of begin
}

// watch notes every look before it is answered.
func (l *looks) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/prowjob" {
			l.note(r.URL.Query().Get("prowjob"), l.clock())
		}
		next.ServeHTTP(w, r)
	})
}

func (l *looks) note(id string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.last[id]; ok {
		l.between = append(l.between, now.Sub(before))
	}
	l.last[id] = now
	l.total++
}

// seen returns how many jobs have been looked at, and how often altogether.
func (l *looks) seen() (jobs, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.last), l.total
}

// begin forgets what was measured so far.
func (l *looks) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.between = nil
}

// late returns how late the looks since begin were, the ones that have yet to come included.
func (l *looks) late(interval time.Duration) (late []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.between {
		late = append(late, d-interval)
	}
	now := l.clock()
	for _, at := range l.last {
		if waits := now.Sub(at) - interval; waits > 0 {
			late = append(late, waits)
		}
	}
	return late
}
