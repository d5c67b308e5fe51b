package gangway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

var errTooLarge = errors.New("larger than the limit")

// htmlText is what is said instead of an HTML page, which is never pasted.
const htmlText = "an HTML page (a login page?) instead of an answer"

// isHTML reports whether an answer is a page for people. A proxy that wants a login sends one, also with
// status 200.
func isHTML(h http.Header, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "text/html") {
		return true
	}
	start := bytes.TrimLeft(body[:min(len(body), 512)], "\xef\xbb\xbf \t\r\n")
	lower := bytes.ToLower(start)
	return bytes.HasPrefix(lower, []byte("<!doctype html")) || bytes.HasPrefix(lower, []byte("<html"))
}

// inflated returns body, unpacked if it is gzip. Objects stored with Content-Encoding gzip come packed when
// the transport did not ask for that itself; the two magic bytes tell, for no text begins with them.
func inflated(body io.ReadCloser) io.ReadCloser {
	return &inflater{in: bufio.NewReader(body), Closer: body}
}

// inflater looks at the first bytes at the first Read, not before.
type inflater struct {
	in  *bufio.Reader
	out io.Reader
	err error // why there is no out
	io.Closer
}

func (r *inflater) Read(p []byte) (int, error) {
	if r.out == nil && r.err == nil {
		r.err = r.begin()
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.out.Read(p)
}

func (r *inflater) begin() error {
	// An error here comes again from the reader itself, after the bytes before it.
	magic, _ := r.in.Peek(2)
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		r.out = r.in
		return nil
	}
	unpacked, err := gzip.NewReader(r.in)
	if err != nil {
		return err
	}
	r.out = unpacked
	return nil
}
