package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Form is a way to say where the queues, the records or the token are. Each program opens some of them, so that it
// links no library of another cloud.
type Form string

// The forms that there is an adapter for.
const (
	FormHTTP   Form = "http"   // queues: http(s)://host[:port], the local host's broker
	FormSQLite Form = "sqlite" // records: sqlite:<file>
	FormMemory Form = "memory" // records: memory:

	FormServiceBus Form = "servicebus" // queues: sb://<namespace>, with an identity, or a connection string of the namespace

	FormSQS      Form = "sqs"      // queues: https://sqs.<region>.amazonaws.com/<account>, or any base of queue URLs after "sqs:"
	FormDynamoDB Form = "dynamodb" // records: dynamodb:<table>

	FormTable        Form = "table"         // records: https://<account>.table.core.windows.net/<table>, with an identity
	FormTableStorage Form = "table-storage" // records: a storage connection string with a part TableName=<table>

	FormKeyVault       Form = "key-vault"       // token: https://<vault>.vault.azure.net/secrets/<name>, with an identity
	FormSecretsManager Form = "secrets-manager" // token: the ARN of a secret
)

// row is one documented form. The first row whose pattern matches is the value's form.
type row struct {
	form    Form
	name    string // as people write it
	pattern *regexp.Regexp
	check   func(value string) error // further rules
}

// A new adapter gets a Form, a row with a check here, a case in its dispatcher, and a place in the call of Load of
// each program that opens it. The parts of a connection string come in any order.

var queueRows = []row{
	{FormServiceBus, "a Service Bus connection string", regexp.MustCompile(`(?i)(^|;)\s*(Endpoint|SharedAccessKeyName|SharedAccessKey|SharedAccessSignature|EntityPath)=`), checkBusString},
	{FormServiceBus, "sb://<namespace>.servicebus.windows.net", regexp.MustCompile(`(?i)^(sb|amqps?)://|^https?://[^/]*\.servicebus\.windows\.net(:\d+)?(/|$)`), checkNamespace},
	{FormSQS, "https://sqs.<region>.amazonaws.com/<account>", regexp.MustCompile(`(?i)^sqs:|^https?://[^/]*\.amazonaws\.com(\.cn)?(:\d+)?(/|$)`), checkSQS},
	{FormHTTP, "http://host:port", regexp.MustCompile(`^https?://`), checkBroker},
}

var storeRows = []row{
	{FormSQLite, "sqlite:<file>", regexp.MustCompile(`^sqlite:`), checkFile},
	{FormMemory, "memory:", regexp.MustCompile(`^memory:`), checkMemory},
	{FormDynamoDB, "dynamodb:<table>", regexp.MustCompile(`^dynamodb:`), checkDynamoDB},
	{FormTable, "https://<account>.table.core.windows.net/<table>", regexp.MustCompile(`^https?://`), checkTable},
	{FormTableStorage, "a storage connection string with TableName=<table>", regexp.MustCompile(`(?i)(^|;)\s*(DefaultEndpointsProtocol|AccountName|AccountKey|TableEndpoint|TableName|SharedAccessSignature|UseDevelopmentStorage)=`), checkTableStorage},
}

var tokenRows = []row{
	{FormKeyVault, "https://<vault>.vault.azure.net/secrets/<name> without a version", secretURI, nil},
	{FormSecretsManager, "the ARN of a secret of Secrets Manager", secretARN, nil},
}

// QueueForm tells the form of a QUEUE_URL. The error names the accepted forms; it never repeats the
// value, which may hold a key.
func QueueForm(value string) (Form, error) {
	form, _, err := find(queueRows, value, nil)
	return form, err
}

// StoreForm tells the form of a STORE_URL, and what comes after its colon: the file of FormSQLite.
// The error names the accepted forms; it never repeats the value, which may hold a key.
func StoreForm(value string) (form Form, rest string, err error) { return find(storeRows, value, nil) }

// find tells the form of a value, of those that are opened (all of them when none is named), and what comes after the
// text that the form is known by.
func find(rows []row, value string, opened []Form) (form Form, rest string, err error) {
	for _, r := range rows {
		at := r.pattern.FindStringIndex(value)
		switch {
		case at == nil:
			continue
		case !r.isIn(opened):
			return "", "", fmt.Errorf("this program does not open this form (%s), but %s", r.name, accepted(rows, opened))
		case r.check != nil:
			err = r.check(value)
		}
		return r.form, value[at[1]:], err
	}
	return "", "", fmt.Errorf("must be %s", accepted(rows, opened))
}

func (r row) isIn(opened []Form) bool { return len(opened) == 0 || slices.Contains(opened, r.form) }

// accepted lists the forms that are opened.
func accepted(rows []row, opened []Form) string {
	var names []string
	for _, r := range rows {
		if r.isIn(opened) {
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

// tableName is what Table storage takes (learn.microsoft.com, Understanding the Table service data model).
const tableName = `[A-Za-z][A-Za-z0-9]{2,62}`

// tablePath and tablePart are where the forms of a table name it.
var (
	tablePath = regexp.MustCompile(`^/` + tableName + `/?$`)
	tablePart = regexp.MustCompile(`(?i)(^|;)\s*TableName=\s*` + tableName + `\s*(;|$)`)
	// The SDK knows these parts in this spelling alone (aztables, connection_string.go).
	accountPart = regexp.MustCompile(`(^|;)\s*AccountName=[^;\s]`)
	keyPart     = regexp.MustCompile(`(^|;)\s*(AccountKey|SharedAccessSignature)=[^;\s]`)
)

// checkTable takes the URL of a table, over which a token of this process's identity is sent.
func checkTable(value string) error {
	u, err := webURL(value)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https" || !strings.Contains(u.Hostname(), ".table."):
		return errors.New("must be https://<account>.table.core.windows.net/<table>")
	case !tablePath.MatchString(u.Path):
		return errors.New("must end in the name of a table: 3 to 63 letters and digits, the first a letter")
	}
	return nil
}

// checkTableStorage takes a connection string that says which table, and by what right.
func checkTableStorage(value string) error {
	switch {
	case !tablePart.MatchString(value):
		return errors.New("must have a part TableName=<table>: 3 to 63 letters and digits, the first a letter")
	case !accountPart.MatchString(value):
		return errors.New("must have a part AccountName")
	case !keyPart.MatchString(value):
		return errors.New("must have a part AccountKey or SharedAccessSignature")
	}
	return nil
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
