// Package fault gives every failure of a foreign system one of four kinds, chosen once, where the
// failure enters the program. Code decides on the kind and never on a message's text.
//
// Entry point: KindOf, which the engine asks of every error that an adapter returns. An error without
// a kind counts as MayHaveHappened, the only assumption that never makes a second job.
package fault

import (
	"errors"
	"time"
)

// Kind says what a failed call may have done.
type Kind int

const (
	// MayHaveHappened: the call may have taken effect; look before repeating it.
	MayHaveHappened Kind = iota
	// NothingHappened: the call surely had no effect; repeating it later is safe.
	NothingHappened
	// Refused: the other side understood and said no; repeating cannot help.
	Refused
	// Conflict: somebody else changed the thing first; load it and decide again.
	Conflict
)

// String returns the kind's name as it appears in logs.
func (k Kind) String() string {
	switch k {
	case MayHaveHappened:
		return "may have happened"
	case NothingHappened:
		return "nothing happened"
	case Refused:
		return "refused"
	case Conflict:
		return "conflict"
	}
	return "unknown"
}

// Error is a foreign failure with its kind. Text is for people; it holds no secret and no header.
type Error struct {
	Kind       Kind
	Op         string        // what was tried, "create execution"
	Text       string        // what went wrong
	RetryAfter time.Duration // what the other side asked for; 0 when it said nothing
	Err        error         // the cause, kept for errors.Is and errors.As; may be nil
}

// Error returns "<op>: <text>", with the cause when there is no text of our own.
func (e *Error) Error() string {
	text := e.Text
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if e.Op == "" {
		return text
	}
	return e.Op + ": " + text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrTooFast is in the chain of a fault that says that requests came too fast for a shared limit.
var ErrTooFast = errors.New("too many requests")

// ErrContent is in the chain of a fault that comes of what was to be sent, stored or read, which no later try makes
// better. Being Refused alone says less: a right may be granted, and a firewall opened.
var ErrContent = errors.New("it cannot be taken as it is")

// KindOf returns the kind of the first Error in err's chain, MayHaveHappened when there is none.
// It must not be asked of a nil error.
func KindOf(err error) Kind {
	var f *Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return MayHaveHappened
}

// RetryAfter returns how long the other side asked to be left alone, 0 when it did not say.
func RetryAfter(err error) time.Duration {
	var f *Error
	if errors.As(err, &f) {
		return f.RetryAfter
	}
	return 0
}

// Is reports whether err is a failure of kind k; false for nil.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }
