package gangway

import (
	"io"
	"log"
	"net"
	"net/http"
	"testing"
)

// hijack takes the connection away from the server, lets end do what it wants, and closes it.
func hijack(t *testing.T, w http.ResponseWriter, end func(*testing.T, *net.TCPConn)) {
	t.Helper()
	h, ok := w.(http.Hijacker)
	if !ok {
		t.Error("not HTTP/1")
		return
	}
	conn, _, err := h.Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Error("not TCP")
		return
	}
	end(t, tcp)
}

// hangUp listens, and closes every connection at once.
func hangUp(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

func nopLog() *log.Logger { return log.New(io.Discard, "", 0) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(w, text)
	check(t, err)
}
