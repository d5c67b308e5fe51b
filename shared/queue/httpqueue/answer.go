package httpqueue

import (
	"encoding/json"
	"net/http"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// failWith answers with what a fault says.
func failWith(w http.ResponseWriter, err error) {
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
	fail(w, status, p)
}

func fail(w http.ResponseWriter, status int, p problem) { answer(w, status, p) }

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
