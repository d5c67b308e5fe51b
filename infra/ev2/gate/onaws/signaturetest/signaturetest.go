// Package signaturetest lets a test's server refuse, as IAM does, what is not signed by one key: AWS Signature
// Version 4 worked out from its description (docs.aws.amazon.com/IAM, Create a signed AWS API request), and not by
// the library that signs.
//
// Entry point: Key.Guard.
package signaturetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Key is who may ask, and for what.
type Key struct {
	ID, Secret, Token string
	Region, Service   string
	Clock             func() time.Time
}

const (
	algorithm = "AWS4-HMAC-SHA256"
	stamp     = "20060102T150405Z"
	tolerance = 5 * time.Minute // between the clocks
)

// Guard answers a request that is not signed by k with 403 and AWS's body; others go on to next.
func (k Key) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := k.Verify(r); err != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, `{"Message":"Forbidden"}`) // AWS says no more
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Verify says why a request without a body is not signed by k, nil when it is.
func (k Key) Verify(r *http.Request) error {
	at, err := time.Parse(stamp, r.Header.Get("X-Amz-Date"))
	if err != nil || k.Clock().Sub(at).Abs() > tolerance {
		return errors.New("no date, or not of now")
	}
	if r.Header.Get("X-Amz-Security-Token") != k.Token {
		return errors.New("another session's token")
	}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), algorithm+" ")
	parts := strings.Split(rest, ", ")
	if !ok || len(parts) != 3 {
		return errors.New("no signature")
	}
	scope := strings.Join([]string{at.Format("20060102"), k.Region, k.Service, "aws4_request"}, "/")
	if parts[0] != "Credential="+k.ID+"/"+scope {
		return errors.New("for another key, day, region or service: " + parts[0])
	}
	names := strings.TrimPrefix(parts[1], "SignedHeaders=")
	for _, needed := range []string{"host", "x-amz-date"} {
		if !strings.Contains(";"+names+";", ";"+needed+";") {
			return errors.New(needed + " is not signed")
		}
	}
	text := strings.Join([]string{algorithm, at.Format(stamp), scope, hash(canonical(r, names))}, "\n")
	if want := hex.EncodeToString(sign(k.signingKey(at), text)); parts[2] != "Signature="+want {
		return errors.New("another signature")
	}
	return nil
}

// canonical is the canonical request: of a path that was escaped every part is escaped once more.
func canonical(r *http.Request, names string) string {
	var headers strings.Builder
	for _, name := range strings.Split(names, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	path := strings.ReplaceAll(r.URL.EscapedPath(), "%", "%25")
	return strings.Join([]string{r.Method, path, r.URL.RawQuery, headers.String(), names, hash("")}, "\n")
}

func (k Key) signingKey(at time.Time) []byte {
	key := []byte("AWS4" + k.Secret)
	for _, part := range []string{at.Format("20060102"), k.Region, k.Service, "aws4_request"} {
		key = sign(key, part)
	}
	return key
}

func sign(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
