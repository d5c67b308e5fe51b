package funchost

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// functionFile is a function.json. Fields that this host reads but does not act on are those that
// change nothing for a custom handler on one machine.
type functionFile struct {
	Schema   string    `json:"$schema"`
	Disabled bool      `json:"disabled"`
	Bindings []binding `json:"bindings"`
}

type binding struct {
	Type         string `json:"type"`
	Name         string `json:"name"`
	Direction    string `json:"direction"`
	QueueName    string `json:"queueName"`
	Connection   string `json:"connection"`
	Cardinality  string `json:"cardinality"`
	DataType     string `json:"dataType"`
	Sessions     bool   `json:"isSessionsEnabled"`
	AccessRights string `json:"accessRights"`
	AutoComplete *bool  `json:"autoCompleteMessages"`
	Schedule     string `json:"schedule"`
	RunOnStartup bool   `json:"runOnStartup"`
	UseMonitor   *bool  `json:"useMonitor"`

	AuthLevel string   `json:"authLevel"`
	Methods   []string `json:"methods"`
	Route     string   `json:"route"`
}

// loadFunction reads one function.json; the function has its folder's name.
func loadFunction(file string, setting func(string) (string, bool)) (Function, error) {
	f := Function{Name: filepath.Base(filepath.Dir(file))}
	var content functionFile
	if err := decodeFile(file, &content, true); err != nil {
		return f, err
	}
	if content.Disabled {
		return f, fmt.Errorf("%s: disabled: is not supported here", file)
	}
	if err := checkBindings(content.Bindings); err != nil {
		return f, fmt.Errorf("%s: bindings: %w", file, err)
	}
	if field, err := f.trigger(content.Bindings[0], setting); err != nil {
		return f, fmt.Errorf("%s: bindings[0].%s: %w", file, field, err)
	}
	return f, nil
}

// checkBindings wants the trigger, and beside it nothing but the answer of an HTTP function.
func checkBindings(all []binding) error {
	switch {
	case len(all) == 2 && all[0].Type == "httpTrigger" && all[1].Type == "http" && all[1].Direction == "out":
		return nil
	case len(all) == 1 && all[0].Type == "httpTrigger":
		return fmt.Errorf("an httpTrigger needs a binding of type http and direction out after it")
	case len(all) != 1:
		return fmt.Errorf("has %d entries, must have one, the trigger", len(all))
	}
	return nil
}

// trigger takes what the trigger's binding says; field names the part of it that is wrong.
func (f *Function) trigger(b binding, setting func(string) (string, bool)) (field string, err error) {
	if f.Binding = b.Name; b.Name == "" {
		return "name", errMissing{}
	}
	if b.Direction != "" && b.Direction != "in" {
		return "direction", fmt.Errorf("is %q, a trigger's must be \"in\"", b.Direction)
	}
	switch b.Type {
	case "serviceBusTrigger":
		return f.queueTrigger(b, setting)
	case "timerTrigger":
		return f.timerTrigger(b, setting)
	case "httpTrigger":
		return f.httpTrigger(b)
	}
	return "type", fmt.Errorf("is %q, this host knows serviceBusTrigger, timerTrigger and httpTrigger", b.Type)
}

func (f *Function) queueTrigger(b binding, setting func(string) (string, bool)) (field string, err error) {
	switch {
	case b.Sessions:
		return "isSessionsEnabled", fmt.Errorf("true is not supported here")
	case b.Cardinality != "" && b.Cardinality != "one":
		return "cardinality", fmt.Errorf("is %q, only \"one\" is supported here", b.Cardinality)
	case b.DataType != "" && b.DataType != "string":
		return "dataType", fmt.Errorf("is %q, only \"string\" is supported here", b.DataType)
	case b.AutoComplete != nil && !*b.AutoComplete:
		return "autoCompleteMessages", fmt.Errorf("false is not supported here")
	}
	if f.Queue, err = resolve(b.QueueName, setting); err != nil {
		return "queueName", err
	}
	if b.Connection == "" {
		return "connection", errMissing{}
	}
	return "", nil
}

func (f *Function) timerTrigger(b binding, setting func(string) (string, bool)) (field string, err error) {
	if b.RunOnStartup {
		return "runOnStartup", fmt.Errorf("true is not supported here")
	}
	text, err := resolve(b.Schedule, setting)
	if err == nil {
		f.Schedule, err = parseSchedule(text)
	}
	return "schedule", err
}

// parseSchedule reads an NCRONTAB expression of six fields (or five, without seconds) or a TimeSpan
// between two runs. A schedule that limits both the day of the month and the day of the week is
// refused: NCRONTAB wants both to hold, cron either.
func parseSchedule(text string) (cron.Schedule, error) {
	if span, err := parseSpan(text); err == nil && span >= time.Second {
		return cron.Every(span), nil
	}
	fields := strings.Fields(text)
	if len(fields) == 5 {
		fields = append([]string{"0"}, fields...)
	}
	if len(fields) != 6 {
		return nil, fmt.Errorf("%q has %d fields, must have six (second minute hour day month weekday)", text, len(fields))
	}
	if fields[3] != "*" && fields[5] != "*" {
		return nil, fmt.Errorf("%q limits both day and weekday, which is not supported here", text)
	}
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	s, err := parser.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return s, nil
}

// resolve replaces every %NAME% in text by that setting.
func resolve(text string, setting func(string) (string, bool)) (string, error) {
	if text == "" {
		return "", errMissing{}
	}
	var missing []string
	out := regexp.MustCompile(`%([^%]+)%`).ReplaceAllStringFunc(text, func(ref string) string {
		v, ok := setting(strings.Trim(ref, "%"))
		if !ok || v == "" {
			missing = append(missing, ref)
		}
		return v
	})
	if missing != nil {
		return "", fmt.Errorf("%q: no setting for %s", text, strings.Join(missing, ", "))
	}
	return out, nil
}

// errMissing says that a required field has no value.
type errMissing struct{}

func (errMissing) Error() string { return "is missing" }
