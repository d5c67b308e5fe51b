package azurefn

import (
	"encoding/json"
	"net/http"
	"strconv"

	"prowgate/shared/gate"
)

// ready answers GET /.
type ready struct {
	Functions []string `json:"functions"`
}

// reply is the document that the host reads (azure-functions-host, HttpScriptInvocationResult.cs).
// Outputs stay empty: the host decodes an output value that happens to be base64, and output bindings
// can set neither message id, session nor schedule.
type reply struct {
	Outputs     struct{} `json:"Outputs"`
	Logs        []string `json:"Logs"`
	ReturnValue any      `json:"ReturnValue"`
	Error       string   `json:"Error,omitempty"` // for people; the host does not read it
}

func succeeded(logs []string) reply { return reply{Logs: append([]string{}, logs...)} }

func failed(logs []string, text string) reply {
	a := succeeded(logs)
	a.Error = gate.Neutralise(text)
	return a
}

// write encodes, then writes: whatever fails, the host never sees a 2xx with an empty body.
func write(w http.ResponseWriter, status int, document any) {
	body, err := json.Marshal(document)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"Outputs":{},"Logs":[],"ReturnValue":null}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A host that has hung up delivers the message again; there is nobody left to tell.
	_, _ = w.Write(body)
}
