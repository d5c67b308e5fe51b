package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"prowgate/shared/gate"
	"prowgate/shared/store"
)

// status answers the requests to the function's URL, which lets in whom IAM allows:
//
//	GET /api/page                        the page for people
//	GET /api/gates                       the newest gates
//	GET /api/gates/<gate id>             one gate with its timeline
//	GET /api/gates/<gate id>/completion  its completion message; 202 and the gate while there is none
//
// The last takes the place of a queue with sessions, which SQS has not; the others are the page's.
type status struct {
	records interface {
		Load(ctx context.Context, key string) (store.Entry, bool, error)
	}
	page http.Handler
	log  *slog.Logger
}

// serve answers one request.
func (s status) serve(ctx context.Context, e events.LambdaFunctionURLRequest) events.LambdaFunctionURLResponse {
	w := &answer{header: http.Header{}, code: http.StatusOK}
	r, err := requestOf(ctx, e)
	if err != nil {
		s.problem(w, http.StatusBadRequest, "the address is not readable")
	} else {
		s.handler().ServeHTTP(w, r)
	}
	return w.response()
}

func (s status) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/gates/{gateId}/completion", s.completion)
	mux.Handle("/", s.page)
	return mux
}

// requestOf returns the request that a function's URL was asked with.
func requestOf(ctx context.Context, e events.LambdaFunctionURLRequest) (*http.Request, error) {
	target := e.RawPath
	if e.RawQueryString != "" {
		target += "?" + e.RawQueryString
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, e.RequestContext.HTTP.Method, "https://"+e.RequestContext.DomainName, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = u.Path, u.RawPath, u.RawQuery
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// completion gives the very message that goes to the queue of completions, as often as it is asked for.
func (s status) completion(w http.ResponseWriter, r *http.Request) {
	e, found, err := s.records.Load(r.Context(), gate.KeyPrefix+r.PathValue("gateId"))
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	if !found {
		s.problem(w, http.StatusNotFound, "there is no such gate")
		return
	}
	record, err := gate.DecodeRecord(e.Body)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	if n, ok := gate.CompletionOf(record); ok {
		s.json(w, http.StatusOK, n)
		return
	}
	v, err := gate.ViewOf(e.Body)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.json(w, http.StatusAccepted, v)
}

func (s status) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	s.log.ErrorContext(r.Context(), "the completion cannot be read", "error", err)
	s.problem(w, http.StatusServiceUnavailable, "the records cannot be read now")
}

// problem is the answer that is no success.
func (s status) problem(w http.ResponseWriter, code int, text string) {
	s.json(w, code, map[string]string{"error": text})
}

func (s status) json(w http.ResponseWriter, code int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		code, encoded = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = w.Write(encoded) // into memory
}

// answer is a response in memory, as the runtime wants it.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
func (a *answer) WriteHeader(code int)        { a.code = code }

func (a *answer) response() events.LambdaFunctionURLResponse {
	r := events.LambdaFunctionURLResponse{StatusCode: a.code, Body: a.body.String(), Headers: map[string]string{}}
	for name := range a.header {
		r.Headers[name] = a.header.Get(name)
	}
	if !utf8.Valid(a.body.Bytes()) {
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(a.body.Bytes()), true
	}
	return r
}
