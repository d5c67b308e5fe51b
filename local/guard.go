package main

import (
	"net"
	"net/http"
	"strings"
)

// guarded keeps web pages of elsewhere out. A host that listens on loopback answers only to loopback's
// own names, or a page could reach it by a name of its own that it lets point here (DNS rebinding); and
// no browser may send what another origin made it send.
func guarded(next http.Handler, loopback bool) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	if !loopback {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackName(r.Host) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusMisdirectedRequest)
			_, _ = w.Write([]byte(`{"error":"this host answers only to 127.0.0.1, localhost and [::1]"}` + "\n")) // nobody is left to be told
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackName reports whether a Host header names this machine's loopback.
func loopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return host == "127.0.0.1" || host == "::1" || strings.EqualFold(host, "localhost")
}
