package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Form is a way to say where the queues or the records are.
type Form string

// The forms that this build has an adapter for.
const (
	FormHTTP   Form = "http"   // queues: http(s)://host[:port], the local host's broker
	FormSQLite Form = "sqlite" // records: sqlite:<file>
	FormMemory Form = "memory" // records: memory:
)

// row is one documented form. The first row whose pattern matches is the value's form; a row without
// a Form has no adapter in this build.
type row struct {
	form    Form
	name    string // as people write it
	pattern *regexp.Regexp
	check   func(value string) error // further rules
}

// A new adapter gives its row a Form and a check here, and its dispatcher a case. The parts of a
// connection string come in any order.

var queueRows = []row{
	{name: "a Service Bus connection string", pattern: regexp.MustCompile(`(?i)(^|;)\s*(Endpoint|SharedAccessKeyName|SharedAccessKey|SharedAccessSignature|EntityPath)=`)},
	{name: "sb://<namespace>.servicebus.windows.net", pattern: regexp.MustCompile(`(?i)^(sb|amqps?)://|^https?://[^/]*\.servicebus\.windows\.net(:\d+)?(/|$)`)},
	{name: "an SQS form", pattern: regexp.MustCompile(`(?i)^sqs:|^https?://[^/]*\.amazonaws\.com(\.cn)?(:\d+)?(/|$)`)},
	{FormHTTP, "http://host:port", regexp.MustCompile(`^https?://`), checkBroker},
}

var storeRows = []row{
	{FormSQLite, "sqlite:<file>", regexp.MustCompile(`^sqlite:`), checkFile},
	{FormMemory, "memory:", regexp.MustCompile(`^memory:`), checkMemory},
	{name: "dynamodb:<table>", pattern: regexp.MustCompile(`^dynamodb:`)},
	{name: "https://<account>.table.core.windows.net/<table>", pattern: regexp.MustCompile(`^https?://`)},
	{name: "a storage connection string", pattern: regexp.MustCompile(`(?i)(^|;)\s*(DefaultEndpointsProtocol|AccountName|AccountKey|TableEndpoint|SharedAccessSignature|UseDevelopmentStorage)=`)},
}

// QueueForm tells the form of a QUEUE_URL. The error names the accepted forms; it never repeats the
// value, which may hold a key.
func QueueForm(value string) (Form, error) {
	form, _, err := find(queueRows, value)
	return form, err
}

// StoreForm tells the form of a STORE_URL, and what comes after its colon: the file of FormSQLite.
// The error names the accepted forms; it never repeats the value, which may hold a key.
func StoreForm(value string) (form Form, rest string, err error) { return find(storeRows, value) }

func find(rows []row, value string) (form Form, rest string, err error) {
	for _, r := range rows {
		at := r.pattern.FindStringIndex(value)
		switch {
		case at == nil:
			continue
		case r.form == "":
			return "", "", fmt.Errorf("this form (%s) is not supported by this build, which takes %s", r.name, accepted(rows))
		}
		return r.form, value[at[1]:], r.check(value)
	}
	return "", "", fmt.Errorf("must be %s", accepted(rows))
}

// accepted lists the forms that this build has an adapter for.
func accepted(rows []row) string {
	var names []string
	for _, r := range rows {
		if r.form != "" {
			names = append(names, r.name)
		}
	}
	return strings.Join(names, " or ")
}

// checkBroker takes the base URL of a broker: no path, because the queues' names are paths.
func checkBroker(value string) error {
	u, err := webURL(value)
	if err == nil && strings.Trim(u.Path, "/") != "" {
		err = errors.New("must not have a path")
	}
	return err
}

// checkFile refuses sqlite://, which others read as the start of a host, of a relative or of an
// absolute path.
func checkFile(value string) error {
	file := strings.TrimPrefix(value, "sqlite:")
	if file == "" || strings.HasPrefix(file, "//") {
		return errors.New("must be sqlite:<file>, with the file's path right after the colon")
	}
	return nil
}

func checkMemory(value string) error {
	if value != "memory:" {
		return errors.New("must be memory: with nothing after the colon")
	}
	return nil
}
