package tables

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// progress is how far a call's request got. It travels in the context; a token is fetched under the same
// one, but not over this package's transport.
type progress struct{ began, sought, wrote atomic.Bool }

type progressKey struct{}

// left reports whether the request may have reached the service. The standard transport reports headers as
// written before it sends the body; another one is believed only if the error can come from the dial alone.
func (p *progress) left(err error) bool {
	if !p.began.Load() || p.sought.Load() && !p.wrote.Load() {
		return false
	}
	return p.wrote.Load() || !neverConnected(err)
}

// neverConnected reports whether err says that there was no connection.
func neverConnected(err error) bool {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) || errors.As(err, &cert) ||
		errors.As(err, &op) && op.Op == "dial"
}

// watched is a transport that notes the progress of every request.
type watched struct{ next policy.Transporter }

// Do implements policy.Transporter.
func (w watched) Do(req *http.Request) (*http.Response, error) {
	p, ok := req.Context().Value(progressKey{}).(*progress)
	if !ok {
		return w.next.Do(req)
	}
	p.began.Store(true)
	return w.next.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn:      func(string) { p.sought.Store(true) },
		WroteHeaders: func() { p.wrote.Store(true) },
	})))
}
