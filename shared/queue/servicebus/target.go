package servicebus

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// The ports of AMQP, with TLS and without.
const (
	portTLS   = "5671"
	portPlain = "5672"
)

// target is what a QUEUE_URL names.
type target struct {
	host       string   // of the namespace, with a port if it has one of its own
	connection string   // the connection string; empty: an identity is used
	plain      bool     // no TLS: the emulator of Service Bus
	secrets    []string // must not be shown
}

// dialer makes the connection that AMQP is spoken over.
type dialer func(ctx context.Context) (net.Conn, error)

func parse(raw string) (target, error) {
	if strings.HasPrefix(strings.ToLower(raw), "sb:") {
		return parseNamespace(raw)
	}
	return parseConnection(raw)
}

func parseNamespace(raw string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" ||
		u.Port() != "" || !strings.Contains(u.Hostname(), ".") {
		return target{}, errors.New("must be sb://<namespace>.servicebus.windows.net and nothing more") // the cause would show it
	}
	return target{host: u.Hostname()}, nil
}

// parseConnection reads "Key=value;..." as the SDK does (azservicebus, internal/conn/conn.go), whose errors
// show parts of it. Keys come in any order and letter case.
func parseConnection(raw string) (target, error) {
	t := target{connection: raw}
	parts := map[string]string{}
	for part := range strings.SplitSeq(raw, ";") {
		key, value, found := strings.Cut(part, "=")
		if part != "" && !found {
			return target{}, errors.New("the connection string has a part without a value")
		}
		parts[strings.ToLower(key)] = value
	}
	for _, key := range []string{"sharedaccesskey", "sharedaccesssignature"} {
		if parts[key] != "" {
			t.secrets = append(t.secrets, parts[key])
		}
	}
	u, err := url.Parse(parts["endpoint"])
	switch {
	case err != nil || u.Scheme != "sb" || u.Hostname() == "":
		return target{}, errors.New("the connection string needs Endpoint=sb://<host>/")
	case parts["entitypath"] != "":
		return target{}, errors.New("the connection string must be the namespace's: EntityPath names a single queue")
	case parts["sharedaccesssignature"] == "" && (parts["sharedaccesskeyname"] == "" || parts["sharedaccesskey"] == ""):
		return target{}, errors.New("the connection string needs SharedAccessKeyName and SharedAccessKey, or SharedAccessSignature")
	}
	t.host = u.Host
	if emulator, ok := parts["usedevelopmentemulator"]; ok {
		if t.plain, err = strconv.ParseBool(emulator); err != nil {
			return target{}, errors.New("UseDevelopmentEmulator must be true or false")
		}
	}
	return t, nil
}

// dial connects as the SDK would (go-amqp, conn.go); it is done here so that the connection can be watched.
func (t target) dial(ctx context.Context) (net.Conn, error) {
	if t.plain {
		return (&net.Dialer{}).DialContext(ctx, "tcp", t.address(portPlain))
	}
	d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}
	return d.DialContext(ctx, "tcp", t.address(portTLS))
}

func (t target) address(port string) string {
	if host, own, err := net.SplitHostPort(t.host); err == nil {
		return net.JoinHostPort(host, own)
	}
	return net.JoinHostPort(strings.Trim(t.host, "[]"), port)
}
