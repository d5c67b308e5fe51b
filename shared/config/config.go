// Package config reads the settings of prowgate's handlers from environment variables, once, at the
// start, and tells everything that is wrong with them at once. No error repeats a value: any of them
// might hold a key.
//
// Entry point: Load. Describe lists the settings for the README and the templates.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// Settings are the checked settings.
type Settings struct {
	GangwayURL   *url.URL // base, no trailing slash
	ProwURL      *url.URL // base, no trailing slash
	ArtifactsURL *url.URL // base, no trailing slash
	GangwayToken Secret   // empty when none is set

	GangwayTokenURI string // the secret of Key Vault (a URI) or Secrets Manager (an ARN) that holds the token, in place of GangwayToken; empty when none is set

	QueueURL Secret // http(s)://host[:port]; a secret because other forms hold a key
	StoreURL Secret // a form that StoreForm takes; a secret for the same reason

	RatePerMinute   int // > 0
	Burst           int // >= 0
	ExclusiveLabels bool

	SubmitQueue     string
	PollQueue       string
	CancelQueue     string
	CompletionQueue string

	Port     int // 1-65535
	LogLevel slog.Level

	Traces, Metrics bool // whether a collector is named for them; the SDK of OpenTelemetry reads where it is
}

// raw is the one list of settings. All fields are strings, so that envconfig finds nothing to stop
// at; parse checks them. A variable that is set to white space counts as not set: a template's empty
// parameter means the default.
type raw struct {
	GangwayURL      string `envconfig:"GANGWAY_URL" default:"https://gangway-ci.apps.ci.l2s4.p1.openshiftapps.com" desc:"base URL of Gangway; a trailing /v1/executions is removed"`
	GangwayToken    string `envconfig:"GANGWAY_TOKEN" desc:"bearer token for Gangway; in Azure a Key Vault reference"`
	GangwayTokenURI string `envconfig:"GANGWAY_TOKEN_URI" desc:"in place of GANGWAY_TOKEN the secret that holds it, read again when Gangway refuses the token: in Azure of Key Vault, https://<vault>.vault.azure.net/secrets/<name>; in AWS of Secrets Manager, its ARN, whole, arn:aws:secretsmanager:<region>:<account>:secret:<name>-<six characters>"`
	ProwURL         string `envconfig:"PROW_URL" default:"https://prow.ci.openshift.org" desc:"base URL of Deck; a trailing /prowjob is removed"`
	ArtifactsURL    string `envconfig:"ARTIFACTS_URL" default:"https://storage.googleapis.com" desc:"where the artifacts bucket is read"`
	QueueURL        string `envconfig:"QUEUE_URL" need:"yes" desc:"where the queues are: sb://<namespace>.servicebus.windows.net, a Service Bus connection string, http://host:port (local host), or an SQS form"`
	StoreURL        string `envconfig:"STORE_URL" need:"yes" desc:"where the records are: https://<account>.table.core.windows.net/<table>, a storage connection string with TableName=<table>, sqlite:<file>, memory:, or dynamodb:<table>"`
	RatePerMinute   string `envconfig:"GANGWAY_RATE_PER_MINUTE" default:"9" desc:"requests a minute that all instances together may send to Gangway"`
	Burst           string `envconfig:"GANGWAY_BURST" default:"5" desc:"how many of them may come at once beyond the first"`
	ExclusiveLabels string `envconfig:"EXCLUSIVE_LABELS" default:"false" desc:"override the labels Gangway selects by, so that an abort can hit one job only"`
	SubmitQueue     string `envconfig:"SUBMIT_QUEUE" default:"gate-submit" desc:"name of the queue of gating messages"`
	PollQueue       string `envconfig:"POLL_QUEUE" default:"gate-poll" desc:"name of the queue of scheduled polls"`
	CancelQueue     string `envconfig:"CANCEL_QUEUE" default:"gate-cancel" desc:"name of the queue of cancel messages"`
	CompletionQueue string `envconfig:"COMPLETION_QUEUE" default:"gate-completion" desc:"name of the queue of progress and completion messages"`
	Port            string `envconfig:"FUNCTIONS_CUSTOMHANDLER_PORT" default:"8080" desc:"port the handler listens on; set by the Functions host"`
	LogLevel        string `envconfig:"LOG_LEVEL" default:"info" desc:"debug, info, warn or error"`
	OTLPEndpoint    string `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT" desc:"base URL of an OpenTelemetry collector, for traces and metrics by OTLP over HTTP; without it there are none"`
	OTLPHeaders     string `envconfig:"OTEL_EXPORTER_OTLP_HEADERS" desc:"headers for the collector, name=value,name=value; may hold a key"`
}

// Setting describes one variable for people.
type Setting struct {
	Name     string
	Default  string // empty when there is none
	Meaning  string
	Required bool
}

// Describe lists every setting, in the order in which people should read of them.
func Describe() []Setting {
	t := reflect.TypeFor[raw]()
	list := make([]Setting, t.NumField())
	for i := range list {
		tag := t.Field(i).Tag
		list[i] = Setting{
			Name: tag.Get("envconfig"), Default: tag.Get("default"), Meaning: tag.Get("desc"), Required: tag.Get("need") != "",
		}
	}
	return list
}

// Load reads the environment of a program that opens the given forms, or all there are if it names none. The error
// lists every problem, one a line: the variable's name and the rule that its value breaks. Settings are complete only
// when there is none.
func Load(opens ...Form) (Settings, error) {
	var r raw
	if err := envconfig.Process("", &r); err != nil {
		return Settings{}, fmt.Errorf("read the environment: %w", err)
	}
	missing := r.complete()
	settings, err := r.parse(opens)
	if err = errors.Join(missing, err); err != nil {
		return Settings{}, err
	}
	return settings, nil
}

// complete trims all values, puts the default where one is empty, and tells what is required and
// still empty.
func (r *raw) complete() error {
	var problems []error
	fields := reflect.ValueOf(r).Elem()
	for i, s := range Describe() {
		value := strings.TrimSpace(fields.Field(i).String())
		if value == "" {
			value = s.Default
		}
		if value == "" && s.Required {
			problems = append(problems, fmt.Errorf("%s: is required", s.Name))
		}
		fields.Field(i).SetString(value)
	}
	return errors.Join(problems...)
}
