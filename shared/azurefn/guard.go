package azurefn

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
)

// What a request has to bring, so that no web page in a browser on this machine can make one. The Functions host calls
// 127.0.0.1 and names the invocation in a header, also when it hands a request on (azure-functions-host,
// DefaultHttpWorkerService.cs, BuildAndGetUri and AddHeaders); a browser sends no header of that name to another origin.
// A request that is handed on may name the app's public host, so that its Host header says nothing.
const (
	invocationHeader = "X-Azure-Functions-InvocationId"

	// SecretSetting is the environment variable, and SecretHeader the header, of a secret that a host may share with
	// the handler that it starts. The local host does, anew for each start; the Functions host knows of none.
	SecretSetting = "PROWGATE_HOST_SECRET"
	SecretHeader  = "X-Prowgate-Host-Secret"

	// ProofHeader is the header of the answer to GET / that holds the Proof of the handler's secret.
	ProofHeader = "X-Prowgate-Host-Proof"
)

// Proof shows that whoever answers knows the secret, without showing the secret. There is one of no secret too.
func Proof(secret string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte("answers as the handler")) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

// guard says why a request is not the host's, and with which status it is refused; nothing when it may be.
func (s *server) guard(r *http.Request) (status int, why string) {
	switch {
	case s.Secret != "" && !hmac.Equal([]byte(r.Header.Get(SecretHeader)), []byte(s.Secret)):
		return http.StatusForbidden, "only the host that started this handler may call it"
	case r.Header.Get(invocationHeader) == "":
		return http.StatusForbidden, "there is no header " + invocationHeader
	case s.HTTP.takes(r):
		return 0, ""
	case !loopbackName(r.Host):
		return http.StatusMisdirectedRequest, "the handler answers only to 127.0.0.1, localhost and [::1]"
	case http.NewCrossOriginProtection().Check(r) != nil:
		return http.StatusForbidden, "a page of another origin may not call a function"
	}
	return 0, ""
}

// loopbackName reports whether a Host header names this machine's loopback. Any other name may be one that a page
// lets point here, to be of one origin with the handler.
func loopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return host == "127.0.0.1" || host == "::1" || strings.EqualFold(host, "localhost")
}
