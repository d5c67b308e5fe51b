package tables

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"prowgate/shared/azureid"
	"prowgate/shared/sent"
)

// tableName is what the service takes (learn.microsoft.com, Understanding the Table service data model).
var tableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{2,62}$`)

// connections is how many idle connections are kept: as many as the messages one process handles at once.
const connections = 64

// Config replaces what Open takes from the process. Its zero value is what a main wants.
type Config struct {
	Credential azcore.TokenCredential // for an https URL; the process's own identity when nil
	Transport  policy.Transporter     // a client of the store's own when nil
}

// Open returns the store in a table that must exist. It connects to nothing yet. value is
// https://<account>.table.core.windows.net/<table>, read and written with the process's identity as package
// azureid chooses it; or it is a storage account's connection string with a further part TableName=<table>. The
// error never repeats value, which may hold a key.
func Open(value string, c Config) (*Store, error) {
	s := &Store{outdated: outdatedAfter}
	if c.Transport == nil {
		s.http = newClient()
		c.Transport = s.http
	}
	o := &aztables.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: sent.Watch(c.Transport),
		Retry:     policy.RetryOptions{MaxRetries: -1}, // none
	}}
	var err error
	if strings.HasPrefix(value, "https://") {
		s.table, err = openURL(value, c.Credential, o)
	} else {
		s.table, err = openString(value, o)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newClient() *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = t.Clone()
	}
	transport.MaxIdleConnsPerHost = connections
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: noRedirect}
}

func openURL(value string, credential azcore.TokenCredential, o *aztables.ClientOptions) (*aztables.Client, error) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be https://<account>.table.core.windows.net/<table>") // the cause would show it
	}
	name := strings.Trim(u.Path, "/")
	if !tableName.MatchString(name) {
		return nil, errTableName()
	}
	if credential == nil {
		if credential, err = azureid.New(); err != nil {
			return nil, err
		}
	}
	u.Path = ""
	service, err := aztables.NewServiceClient(u.String(), credential, o)
	if err != nil {
		return nil, fmt.Errorf("table client: %w", err)
	}
	return service.NewClient(name), nil
}

func openString(value string, o *aztables.ClientOptions) (*aztables.Client, error) {
	rest, name := cutTable(value)
	if !tableName.MatchString(name) {
		return nil, errTableName()
	}
	service, err := aztables.NewServiceClientFromConnectionString(rest, o)
	if err != nil {
		return nil, errors.New("must be a valid connection string of a storage account") // the cause may show a part of it
	}
	return service.NewClient(name), nil
}

// cutTable takes the part TableName=<table> out of a connection string.
func cutTable(value string) (rest, name string) {
	var parts []string
	for part := range strings.SplitSeq(value, ";") {
		key, v, _ := strings.Cut(part, "=")
		switch {
		case strings.EqualFold(strings.TrimSpace(key), "TableName"):
			name = strings.TrimSpace(v)
		case strings.TrimSpace(part) != "":
			parts = append(parts, strings.TrimSpace(part))
		}
	}
	return strings.Join(parts, ";"), name
}

func errTableName() error {
	return errors.New("must name a table: 3 to 63 letters and digits, the first a letter")
}
