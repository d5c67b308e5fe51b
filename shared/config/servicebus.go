package config

import (
	"errors"
	"regexp"
	"strings"
)

// The parts of a Service Bus connection string that are looked for.
var (
	busEndpoint = regexp.MustCompile(`(?i)(^|;)Endpoint=sb://[^;/]`)
	busKey      = regexp.MustCompile(`(?i)(^|;)(SharedAccessKey|SharedAccessSignature)=[^;]`)
	busEntity   = regexp.MustCompile(`(?i)(^|;)EntityPath=[^;]`)
)

// checkNamespace takes a namespace, to which a token of this process's identity is sent.
func checkNamespace(value string) error {
	const scheme = "sb://"
	if len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return errors.New("must be sb://<namespace>.servicebus.windows.net")
	}
	u, err := webURL("https://" + value[len(scheme):])
	switch {
	case err != nil:
		return err
	case !strings.Contains(u.Host, ".") || u.Port() != "" || strings.Trim(u.Path, "/") != "":
		return errors.New("must be sb://<namespace>.servicebus.windows.net and nothing more")
	}
	return nil
}

// checkBusString takes a connection string of a namespace; one that names a single queue is of no use.
func checkBusString(value string) error {
	switch {
	case !busEndpoint.MatchString(value):
		return errors.New("must have a part Endpoint=sb://<namespace>.servicebus.windows.net/")
	case !busKey.MatchString(value):
		return errors.New("must have a part SharedAccessKey or SharedAccessSignature")
	case busEntity.MatchString(value):
		return errors.New("must be the namespace's, without the part EntityPath")
	}
	return nil
}
