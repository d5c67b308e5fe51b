package gangway

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"prowgate/shared/fault"
)

// echoes are servers that send the token back, behind as many bytes as they are told, where it becomes part of an error.
func echoes(t *testing.T) map[string]func(pad int) http.HandlerFunc {
	t.Helper()
	text := func(pad int) string { return strings.Repeat("x", pad) + secretToken + strings.Repeat("y", 400) }
	raw := func(head string) func(pad int) http.HandlerFunc {
		return func(pad int) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				hijack(t, w, func(t *testing.T, conn *net.TCPConn) { write(t, conn, head+text(pad)+"\r\n\r\n") })
			}
		}
	}
	return map[string]func(pad int) http.HandlerFunc{
		"refusal":         func(pad int) http.HandlerFunc { return answer(400, "text/plain", text(pad)) },
		"refusal in JSON": func(pad int) http.HandlerFunc { return answer(400, "application/json", `{"message":"`+text(pad)+`"}`) },
		"escaped in JSON": func(pad int) http.HandlerFunc {
			return answer(400, "application/json", `{"message":"`+strings.Replace(text(pad), "~", `\u007e`, 1)+`"}`)
		},
		"redirect": raw("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://"),
		"no HTTP":  raw(""),
		"header":   raw("HTTP/1.1 200 OK\r\n"),
		"trailer":  raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"),
		"answer":   func(pad int) http.HandlerFunc { return answer(200, "application/json", text(pad)) },
		"answer, no time": func(pad int) http.HandlerFunc {
			return answer(200, "application/json", `{"create_time":"`+text(pad)+`"}`)
		},
		"answer, of no id": func(pad int) http.HandlerFunc { return answer(200, "application/json", `{"id":"`+text(pad)+`"}`) },
	}
}

// TestNoPartOfTheTokenIsInAnError: it goes before a text is cut to length, wherever the cut is.
func TestNoPartOfTheTokenIsInAnError(t *testing.T) {
	pads := []int{0, 20} // parsers show the beginning of what they cannot read
	for pad := 190; pad <= 310; pad++ {
		pads = append(pads, pad)
	}
	for name, echo := range echoes(t) {
		t.Run(name, func(t *testing.T) {
			for _, pad := range pads {
				_, err := NewClient(serve(t, echo(pad))).Create(t.Context(), aSubmission())
				f := (*fault.Error)(nil)
				if !errors.As(err, &f) {
					t.Fatalf("pad %d: %v", pad, err)
				}
				wantFault(t, err, f.Kind, "")
				if strings.Contains(err.Error(), secretToken[:4]) || len(err.Error()) > 450 {
					t.Fatalf("pad %d: %v", pad, err)
				}
			}
		})
	}
}

// TestCutOffAnswerIsOne: the echo does not come from somewhere else.
func TestCutOffAnswerIsOne(t *testing.T) {
	_, err := NewClient(serve(t, echoes(t)["trailer"](0))).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.MayHaveHappened, "the answer was cut off: malformed MIME header: missing colon: \"(token)")
	_, err = NewClient(serve(t, echoes(t)["no HTTP"](0))).Create(t.Context(), aSubmission())
	wantFault(t, err, fault.MayHaveHappened, "no usable answer: ")
}

// TestHushedErrorsAreKnown: whoever asks for the cause still finds it.
func TestHushedErrorsAreKnown(t *testing.T) {
	cause := errors.Join(errors.New("echo "+secretToken), io.ErrUnexpectedEOF)
	err := hushed(cause, secretToken)
	if strings.Contains(err.Error(), secretToken) || !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if hushed(io.EOF, secretToken) != io.EOF || hushed(cause, "") != cause { //nolint:errorlint // the very same
		t.Error("an error that holds no token is changed")
	}
}
