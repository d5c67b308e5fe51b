package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"prowgate/shared/fault"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		" a\tb\r\n c ":                   "a b c",
		"a\x00b\x1b[31mc\x7fd\u0085e":    "a b [31mc d e",
		"a\u2028b\u00a0c":                "a b c",
		"not \xff UTF-8":                 "not ? UTF-8",
		strings.Repeat("é", 300):         strings.Repeat("é", 300),
		strings.Repeat("é", 301):         strings.Repeat("é", 300) + "...",
		"\n" + strings.Repeat(" x", 200): strings.Repeat("x ", 150) + "...",
	} {
		if got := fault.Line(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	signed := func(err error) error {
		return fmt.Errorf("get: %w", &url.Error{Op: "Get", URL: "https://h/?sig=hush-hush", Err: err})
	}
	for want, err := range map[string]error{
		"the time was up":          signed(context.DeadlineExceeded),
		"the call was given up":    signed(context.Canceled),
		"connection reset by peer": signed(errors.New("connection\nreset by peer")),
		"no URL: a b":              errors.New("no URL: a  b"),
	} {
		if got := fault.Reason(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
