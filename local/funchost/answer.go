package funchost

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"

	"prowgate/shared/fault"
)

// errHangs is the verdict on a good status with nothing in it: the real host waits for a result that
// will never come (DefaultHttpWorkerService.cs sets none for a null result).
var errHangs = errors.New("the answer is empty, so the invocation never ends")

// answer is what a handler has to say.
type answer struct {
	Outputs     map[string]any
	Logs        []string
	ReturnValue any
}

// judgeAnswer reads a handler's answer as the real host does: nil is success, errHangs is neither success
// nor failure, anything else is a failed invocation. The logs of a failed one are dropped.
func judgeAnswer(status int, contentType string, body []byte) ([]string, error) {
	if status < 200 || status > 299 {
		return nil, fmt.Errorf("status %d: %s", status, fault.Line(string(body)))
	}
	if len(body) == 0 {
		return nil, errHangs
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" && media != "text/json" {
		return nil, fmt.Errorf("content type %q, must be application/json", contentType)
	}
	var a *answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if a == nil {
		return nil, errHangs
	}
	return a.Logs, nil
}
