package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"prowgate/shared/fault"
	"prowgate/shared/store"
)

// Store returns a store whose calls are spans.
func (t *Telemetry) Store(s store.Store) store.Store {
	if !t.traced() {
		return s
	}
	return records{s, t.tracer}
}

type records struct {
	inner  store.Store
	tracer trace.Tracer
}

func (r records) begin(ctx context.Context, op, key string) (context.Context, trace.Span) {
	return r.tracer.Start(ctx, "store "+op, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(texts(
		"db.operation.name", op, "db.query.summary", key)...))
}

// end closes the span. A conflict is how the store works, and no failure.
func end(span trace.Span, err error) {
	if fault.Is(err, fault.Conflict) {
		span.SetAttributes(texts(keyError, kindOf(err))...)
	} else {
		fail(span, err)
	}
	span.End()
}

// Load implements store.Store.
func (r records) Load(ctx context.Context, key string) (store.Entry, bool, error) {
	ctx, span := r.begin(ctx, "load", key)
	e, ok, err := r.inner.Load(ctx, key)
	end(span, err)
	return e, ok, err
}

// Save implements store.Store.
func (r records) Save(ctx context.Context, e store.Entry) (string, error) {
	ctx, span := r.begin(ctx, "save", e.Key)
	version, err := r.inner.Save(ctx, e)
	end(span, err)
	return version, err
}

// Delete implements store.Store.
func (r records) Delete(ctx context.Context, key, version string) error {
	ctx, span := r.begin(ctx, "delete", key)
	err := r.inner.Delete(ctx, key, version)
	end(span, err)
	return err
}

// Due implements store.Store.
func (r records) Due(ctx context.Context, before time.Time, limit int) ([]store.Entry, error) {
	ctx, span := r.begin(ctx, "due", "")
	entries, err := r.inner.Due(ctx, before, limit)
	end(span, err)
	return entries, err
}

// List implements store.Store.
func (r records) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	ctx, span := r.begin(ctx, "list", prefix)
	entries, err := r.inner.List(ctx, prefix, after, limit)
	end(span, err)
	return entries, err
}
