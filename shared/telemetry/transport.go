package telemetry

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Transport returns a transport on which each request is a span under the peer's name; inner, which may be nil
// for Go's default, when there are no traces. Told of a request are its method, host and path, and the answer's
// status: no query, no header and no body. The trace itself is not sent along: it is nobody else's business.
func (t *Telemetry) Transport(peer string, inner http.RoundTripper) http.RoundTripper {
	if !t.traced() {
		return inner
	}
	if inner == nil {
		inner = http.DefaultTransport
		if own, ok := inner.(*http.Transport); ok {
			inner = own.Clone()
		}
	}
	return transport{peer, inner, t.tracer}
}

type transport struct {
	peer   string
	inner  http.RoundTripper
	tracer trace.Tracer
}

// RoundTrip implements http.RoundTripper. The span lasts until the answer's body has been read or closed.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(req.Context(), text(t.peer+" "+req.Method), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(texts(
		"peer.service", t.peer, "http.request.method", req.Method, "server.address", req.URL.Hostname(), "server.port", req.URL.Port(),
		"url.path", req.URL.Path)...))
	res, err := t.inner.RoundTrip(req.WithContext(ctx))
	if err != nil {
		fail(span, err)
		span.End()
		return res, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", res.StatusCode))
	if res.StatusCode >= http.StatusBadRequest {
		span.SetAttributes(attribute.String(keyError, strconv.Itoa(res.StatusCode)))
		span.SetStatus(codes.Error, "")
	}
	res.Body = &body{ReadCloser: res.Body, span: span}
	return res, nil
}

// body ends a span with itself.
type body struct {
	io.ReadCloser
	span trace.Span
	once sync.Once
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.end(nil)
	return b.ReadCloser.Close()
}

func (b *body) end(err error) {
	b.once.Do(func() {
		if !errors.Is(err, io.EOF) {
			fail(b.span, err)
		}
		b.span.End()
	})
}
