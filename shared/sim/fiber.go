package sim

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// fiber is one invocation of a function. It runs until it gives up control at a call boundary, saying
// how long it is to be left alone.
type fiber struct {
	name string
	in   *instance
	next func() (time.Duration, bool)
	stop func()
	give func(time.Duration) bool
	dead bool
	err  error
	hurt bool // the store or the queue failed it, or its process was held up
}

// killed unwinds a fiber whose process has ended.
type killed struct{}

// givenUp unwinds a handler that fails its message; only a mistake does so by a panic.
type givenUp struct{ err error }

// start begins an invocation; done is called at its end, unless the process is killed before.
func (w *world) start(in *instance, name string, do func(context.Context) error, done func(*fiber)) {
	f := &fiber{name: name, in: in}
	var steps iter.Seq[time.Duration] = func(yield func(time.Duration) bool) {
		defer func() { w.unwound(f, recover()) }()
		f.give = yield
		f.err = do(context.Background())
	}
	f.next, f.stop = iter.Pull(steps)
	in.fibers = append(in.fibers, f)
	w.after(w.latency(), func() { w.resume(f, done) })
}

// unwound takes what a fiber's panic was, if it ended in one.
func (w *world) unwound(f *fiber, p any) {
	switch p := p.(type) {
	case nil, killed:
	case givenUp:
		f.err = p.err
	default:
		f.err = fmt.Errorf("panic: %v", p)
		w.violate(0, "%s: %v", f.name, f.err)
	}
}

// resume lets a fiber run to its next call boundary.
func (w *world) resume(f *fiber, done func(*fiber)) {
	if f.dead {
		return
	}
	w.running = f
	wait, more := f.next()
	w.running = nil
	if more {
		w.after(wait, func() { w.resume(f, done) })
		return
	}
	if f.dead {
		return // killed on the way
	}
	w.end(f)
	w.tracef("%s ended: %v", f.name, f.err)
	done(f)
}

func (w *world) end(f *fiber) {
	f.dead = true
	f.in.fibers = slices.DeleteFunc(f.in.fibers, func(g *fiber) bool { return g == f })
}

// boundary is called by a fiber at each side of each call to the world outside. It lets time pass, in
// which other fibers run, and may be the end of the process.
func (w *world) boundary(most time.Duration) {
	f := w.running
	w.wait(w.draw(most))
	if w.strikes(w.rates.kill, "process killed") {
		w.kill(f.in, f)
		panic(killed{})
	}
}

// wait lets time pass.
func (w *world) wait(d time.Duration) {
	if !w.running.give(d) {
		panic(killed{})
	}
}

// kill ends a process with all that runs in it. Nothing is settled: locks end by themselves.
func (w *world) kill(in *instance, current *fiber) {
	w.tracef("instance %d is killed in %s", in.number, current.name)
	for _, f := range slices.Clone(in.fibers) {
		w.end(f)
		if f != current {
			f.stop()
		}
	}
}
