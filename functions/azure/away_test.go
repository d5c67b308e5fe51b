package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Service Bus and the table are away when the handler starts. It starts all the same, in a small part of the 30 s that
// the host gives it (azure-functions-host, HttpWorkerOptions), fails what needs them so that the message comes
// again, and goes on.
func TestStartWithoutQueuesAndTable(t *testing.T) {
	const nobody = "127.0.0.1:1" // refuses connections
	bus := "Endpoint=sb://" + nobody + ";SharedAccessKeyName=n;SharedAccessKey=aHVzaC1odXNo;UseDevelopmentEmulator=true;"
	table := "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aHVzaC1odXNo;TableEndpoint=http://" + nobody + "/a;TableName=gates"
	exe := build(t)
	for name, env := range map[string][]string{
		"queue":           {"QUEUE_URL=" + bus, "STORE_URL=sqlite:" + filepath.Join(t.TempDir(), "records.db")},
		"queue and table": {"QUEUE_URL=" + bus, "STORE_URL=" + table},
		"identity":        {"QUEUE_URL=sb://nowhere.servicebus.invalid", "STORE_URL=https://nowhere.table.core.invalid/gates", "AZURE_CLIENT_ID=11111111-2222-3333-4444-555555555555", "IDENTITY_ENDPOINT=http://" + nobody, "IDENTITY_HEADER=h"},
	} {
		t.Run(name, func(t *testing.T) {
			h := launch(t, exe, env...)
			if h.ready > 10*time.Second {
				t.Errorf("the first answer came after %v", h.ready)
			}
			h.held("submit", dryRun)
			h.alive()
			if out := h.end() + h.stderr.String(); strings.Contains(out, "aHVzaC1odXNo") {
				t.Errorf("a key is in the output: %s", out)
			}
		})
	}
}

// held invokes a function with a message whose failure is not to be answered at once: the host would give the message
// back, and it would have used all its deliveries up in a moment.
func (h *handler) held(function, message string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/"+function, strings.NewReader(
		`{"Data":{"message":`+message+`},"Metadata":{"DeliveryCount":"1","MessageId":"\"m-1\""}}`))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("X-Azure-Functions-InvocationId", "i-1")
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = res.Body.Close()
		h.t.Errorf("%s: answered with %d at once", function, res.StatusCode)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		h.t.Error(err)
	}
}
