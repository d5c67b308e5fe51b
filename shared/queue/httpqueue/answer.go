package httpqueue

import (
	"encoding/json"
	"net/http"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// failWith answers with what a fault says.
func (s server) failWith(w http.ResponseWriter, err error) {
	p, status := problem{Error: err.Error(), Code: codeUnclear}, http.StatusInternalServerError
	switch fault.KindOf(err) {
	case fault.Refused:
		status, p.Code = http.StatusBadRequest, codeBadRequest
	case fault.Conflict:
		status, p.Code = http.StatusGone, codeLockLost
	case fault.NothingHappened:
		status, p.Code = http.StatusServiceUnavailable, codeNotDone
	case fault.MayHaveHappened:
	}
	s.fail(w, status, p)
}

// fail answers with a problem. All of its texts go through here, for some repeat what the request said.
func (s server) fail(w http.ResponseWriter, status int, p problem) {
	for _, change := range s.texts {
		p.Error, p.Property = change(p.Error), change(p.Property)
	}
	answer(w, status, p)
}

// answer encodes first and then writes.
func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer could not be encoded","code":"`+codeUnclear+`"}`)
	}
	w.Header().Set("Content-Type", queue.ContentType)
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = w.Write(append(body, '\n'))
}
