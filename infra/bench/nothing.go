package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"time"
)

// nothingSetting makes a process of this program the handler that does nothing.
const nothingSetting = "BENCH_NOTHING"

// serveNothing is the least that a custom handler in Go can do: it decodes the host's JSON down to the
// message's fields, and answers that all went well.
func serveNothing(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if err := decodeOnly(r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"Outputs":{},"Logs":[],"ReturnValue":null}`)) // the host has gone, or has it
	})
	address := net.JoinHostPort("127.0.0.1", os.Getenv("FUNCTIONS_CUSTOMHANDLER_PORT"))
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.ListenAndServe()
}

// decodeOnly decodes an invocation: the document, the text in it that is JSON, and the message that is JSON
// in that text.
func decodeOnly(r *http.Request) error {
	var invocation struct{ Data, Metadata map[string]json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&invocation); err != nil {
		return err
	}
	for _, value := range invocation.Data {
		var literal, body string
		var message map[string]any
		if err := json.Unmarshal(value, &literal); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(literal), &body); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(body), &message); err != nil {
			return err
		}
	}
	return nil
}
