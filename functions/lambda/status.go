package main

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"prowgate/shared/gate"
	"prowgate/shared/store"
)

const (
	statusMost = 200 // gates in one answer
	statusPage = 200 // records read at once
)

// status answers the requests to the function's URL, which lets in whom IAM allows:
//
//	GET /api/gates                       the newest gates
//	GET /api/gates/<gate id>             one gate with its timeline
//	GET /api/gates/<gate id>/completion  its completion message; 202 and the gate while there is none
//
// The last takes the place of a queue with sessions, which SQS has not.
type status struct {
	records interface {
		Load(ctx context.Context, key string) (store.Entry, bool, error)
		List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error)
	}
	log *slog.Logger
}

// problem is the body of every answer that is no success.
type problem struct {
	Error string `json:"error"`
}

func (s status) answer(ctx context.Context, method, path string) events.LambdaFunctionURLResponse {
	code, body := s.route(ctx, method, path)
	encoded, err := json.Marshal(body)
	if err != nil {
		code, encoded = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	return events.LambdaFunctionURLResponse{
		StatusCode: code, Body: string(encoded),
		Headers: map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"},
	}
}

func (s status) route(ctx context.Context, method, path string) (code int, body any) {
	rest, ok := strings.CutPrefix(path, "/api/gates")
	switch {
	case !ok || rest != "" && rest[0] != '/':
		return http.StatusNotFound, problem{"there is nothing at this path"}
	case method != http.MethodGet:
		return http.StatusMethodNotAllowed, problem{"only GET is answered"}
	case rest == "" || rest == "/":
		return s.list(ctx)
	}
	name, completion := strings.CutSuffix(rest[1:], "/completion")
	id, err := url.PathUnescape(name)
	if err != nil {
		return http.StatusBadRequest, problem{"the gate's id is not readable"}
	}
	return s.one(ctx, id, completion)
}

func (s status) one(ctx context.Context, id string, completion bool) (code int, body any) {
	e, found, err := s.records.Load(ctx, gate.KeyPrefix+id)
	if err != nil {
		return s.unavailable(ctx, err)
	}
	if !found {
		return http.StatusNotFound, problem{"there is no such gate"}
	}
	v, err := view(e)
	if err != nil {
		return s.unavailable(ctx, err)
	}
	if !completion {
		return http.StatusOK, v
	}
	if n, ok := completionOf(e.Body); ok {
		return http.StatusOK, n
	}
	return http.StatusAccepted, v
}

// completionOf returns the message that a stored gate's verdict is sent with.
func completionOf(body []byte) (gate.Notice, bool) {
	r, err := gate.DecodeRecord(body)
	if err != nil {
		return gate.Notice{}, false
	}
	return gate.CompletionOf(r)
}

// list reads all gates, because the store has no order of time, and keeps the newest.
func (s status) list(ctx context.Context) (code int, body any) {
	gates, after := []gate.View{}, ""
	for {
		entries, err := s.records.List(ctx, gate.KeyPrefix, after, statusPage)
		if err != nil {
			return s.unavailable(ctx, err)
		}
		for _, e := range entries {
			after = e.Key
			v, err := view(e)
			if err != nil {
				s.log.WarnContext(ctx, "a record is left out", "key", e.Key, "error", err)
				continue
			}
			gates = append(gates, v)
		}
		slices.SortFunc(gates, newestFirst)
		gates = gates[:min(len(gates), statusMost)]
		if len(entries) < statusPage {
			return http.StatusOK, map[string][]gate.View{"gates": gates}
		}
	}
}

// view decodes a record. A timeline is never null in JSON.
func view(e store.Entry) (gate.View, error) {
	v, err := gate.ViewOf(e.Body)
	if v.Timeline == nil {
		v.Timeline = []gate.Moment{}
	}
	return v, err
}

func newestFirst(a, b gate.View) int {
	return cmp.Or(cameAt(b).Compare(cameAt(a)), cmp.Compare(a.GateID, b.GateID))
}

func cameAt(v gate.View) time.Time {
	if len(v.Timeline) == 0 {
		return time.Time{}
	}
	return v.Timeline[0].At
}

func (s status) unavailable(ctx context.Context, err error) (code int, body any) {
	s.log.ErrorContext(ctx, "the status cannot be read", "error", err)
	return http.StatusServiceUnavailable, problem{"the records cannot be read now"}
}
