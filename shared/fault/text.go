package fault

import (
	"context"
	"errors"
	"net/url"
	"strings"
)

// mostText is how many runes of a foreign text are kept.
const mostText = 300

// Line returns a foreign text for people: one line without control characters, its white space folded, cut to 300
// runes.
func Line(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return r <= ' ' || r >= 0x7f && r <= 0xa0 || r == '\u2028' || r == '\u2029'
	}), " ")
	if runes := []rune(text); len(runes) > mostText {
		return string(runes[:mostText]) + "..."
	}
	return text
}

// Reason returns what went wrong in one line, without the URL that net/http puts in front of it: one of a signed
// request holds what the signature allows.
func Reason(err error) string {
	var u *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the time was up"
	case errors.Is(err, context.Canceled):
		return "the call was given up"
	case errors.As(err, &u):
		err = u.Err
	}
	return Line(err.Error())
}
