// Package limit holds the bounds that every adapter of the record store puts on an entry before it
// sends it anywhere, so that what one adapter takes the others take too.
//
// Entry point: Check.
package limit

import (
	"fmt"
	"unicode/utf8"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

const (
	// KeyBytes is the longest key.
	KeyBytes = 200
	// BodyBytes is the largest body.
	BodyBytes = 512 << 10
)

// Check returns a fault of kind Refused when e is outside the bounds that store.Entry states. The
// text holds neither the key nor the body.
func Check(e store.Entry) error {
	switch {
	case e.Key == "" || len(e.Key) > KeyBytes:
		return refused(fmt.Sprintf("a key has 1 to %d bytes, this one %d", KeyBytes, len(e.Key)))
	case !utf8.ValidString(e.Key):
		return refused("a key is UTF-8 text")
	case len(e.Body) > BodyBytes:
		return refused(fmt.Sprintf("a body has up to %d bytes, this one %d", BodyBytes, len(e.Body)))
	}
	return nil
}

func refused(text string) error {
	return &fault.Error{Kind: fault.Refused, Op: "save record", Text: text, Err: fault.ErrContent}
}
