// Package sent tells of a failed HTTP request whether it may have reached its server. An SDK fails in many ways
// before it sends anything (no credentials, no token, no connection), and only after that moment a write
// without an answer may have been done.
//
// Entry points: Watch, for the transport of an SDK's client, and Begin, for each call made over it.
package sent

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
)

// Doer is the transport that the SDKs of Azure and AWS take.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Progress is how far a call's requests got.
type Progress struct{ began, sought, got, wrote atomic.Bool }

type progressKey struct{}

// Begin returns a context under which watched transports note the progress of one call. What the SDK fetches
// under it over another transport, as a token, does not count.
func Begin(ctx context.Context) (context.Context, *Progress) {
	p := &Progress{}
	return context.WithValue(ctx, progressKey{}, p), p
}

// Left reports whether a request of the call, which failed with err, may have reached the server. The standard
// transport hands a request over to be written when it has a connection, and then does not wait for that to end when the
// caller leaves; another transport is believed only if the error can come from the dial alone.
func (p *Progress) Left(err error) bool {
	if !p.began.Load() || p.sought.Load() && !p.got.Load() {
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

// Watch returns a transport that notes the progress of every request.
func Watch(next Doer) Doer { return watched{next} }

type watched struct{ next Doer }

// Do implements Doer.
func (w watched) Do(req *http.Request) (*http.Response, error) {
	p, ok := req.Context().Value(progressKey{}).(*Progress)
	if !ok {
		return w.next.Do(req)
	}
	p.began.Store(true)
	return w.next.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn:      func(string) { p.sought.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { p.got.Store(true) },
		WroteHeaders: func() { p.wrote.Store(true) },
	})))
}
