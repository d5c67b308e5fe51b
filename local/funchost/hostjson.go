package funchost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The real host's defaults (host.json reference for version 2.0; a plan without a limit of its own).
const (
	defaultTimeout      = 30 * time.Minute
	defaultCalls        = 16
	defaultMaxRenewal   = 5 * time.Minute
	supportedHostSchema = "2.0"
)

// hostFile is the part of host.json that changes what a custom handler sees.
type hostFile struct {
	Version         string  `json:"version"`
	FunctionTimeout *string `json:"functionTimeout"`
	CustomHandler   struct {
		Description struct {
			Executable       string   `json:"defaultExecutablePath"`
			WorkingDirectory string   `json:"workingDirectory"`
			Arguments        []string `json:"arguments"`
		} `json:"description"`
		Forwards bool `json:"enableForwardingHttpRequest"`
	} `json:"customHandler"`
	Extensions struct {
		ServiceBus struct {
			MaxConcurrentCalls *int    `json:"maxConcurrentCalls"`
			MaxRenewal         *string `json:"maxAutoLockRenewalDuration"`
			AutoComplete       *bool   `json:"autoCompleteMessages"`
		} `json:"serviceBus"`
	} `json:"extensions"`
}

// loadHost reads host.json.
func loadHost(dir string) (Package, error) {
	file := filepath.Join(dir, "host.json")
	var h hostFile
	if err := decodeFile(file, &h, false); err != nil {
		return Package{}, err
	}
	p := Package{Dir: dir, MaxConcurrentCalls: defaultCalls, Arguments: h.CustomHandler.Description.Arguments}
	p.forwards = h.CustomHandler.Forwards
	bus := h.Extensions.ServiceBus
	problem := func(field, format string, a ...any) error {
		return fmt.Errorf("%s: %s: %s", file, field, fmt.Sprintf(format, a...))
	}
	var problems []error
	if h.Version != supportedHostSchema {
		problems = append(problems, problem("version", "is %q, must be %q", h.Version, supportedHostSchema))
	}
	p.Executable = inDir(dir, h.CustomHandler.Description.Executable)
	if err := runnable(h.CustomHandler.Description.Executable, p.Executable); err != nil {
		problems = append(problems, problem("customHandler.description.defaultExecutablePath", "%v", err))
	}
	if h.CustomHandler.Description.WorkingDirectory != "" {
		problems = append(problems, problem("customHandler.description.workingDirectory", "is not supported here"))
	}
	if bus.AutoComplete != nil && !*bus.AutoComplete {
		problems = append(problems, problem("extensions.serviceBus.autoCompleteMessages", "false is not supported here"))
	}
	if bus.MaxConcurrentCalls != nil {
		p.MaxConcurrentCalls = *bus.MaxConcurrentCalls
	}
	if p.MaxConcurrentCalls < 1 {
		problems = append(problems, problem("extensions.serviceBus.maxConcurrentCalls", "is %d, must be at least 1", p.MaxConcurrentCalls))
	}
	var err error
	if p.FunctionTimeout, err = optionalSpan(h.FunctionTimeout, defaultTimeout); err != nil {
		problems = append(problems, problem("functionTimeout", "%v", err))
	}
	if p.MaxLockRenewal, err = optionalSpan(bus.MaxRenewal, defaultMaxRenewal); err != nil {
		problems = append(problems, problem("extensions.serviceBus.maxAutoLockRenewalDuration", "%v", err))
	}
	return p, errors.Join(problems...)
}

// runnable checks that there is a file at path; name is how the package calls it.
func runnable(name, path string) error {
	if name == "" {
		return errMissing{}
	}
	switch at, err := os.Stat(path); {
	case err != nil:
		return fmt.Errorf("%s cannot be used: %w", name, err)
	case !at.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", name)
	}
	return nil
}

// inDir makes a path of the package absolute.
func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// optionalSpan parses text, or returns the default when there is none. "-1" is no limit, as 0.
func optionalSpan(text *string, otherwise time.Duration) (time.Duration, error) {
	if text == nil {
		return otherwise, nil
	}
	if *text == "-1" {
		return 0, nil
	}
	d, err := parseSpan(*text)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q must be more than nothing", *text)
	}
	return d, err
}

// parseSpan reads a .NET TimeSpan, [d.]hh:mm:ss[.fffffff].
func parseSpan(text string) (time.Duration, error) {
	m := regexp.MustCompile(`^(?:(\d{1,4})\.)?(\d{1,2}):(\d{2}):(\d{2})(\.\d{1,7})?$`).FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is not of the form [d.]hh:mm:ss", text)
	}
	var parts [4]int
	for i := range parts {
		parts[i], _ = strconv.Atoi(m[i+1]) // digits only; an absent part is 0
	}
	if parts[1] > 23 || parts[2] > 59 || parts[3] > 59 {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	fraction, err := time.ParseDuration("0" + strings.TrimSuffix(m[5], ".") + "s")
	if err != nil {
		return 0, fmt.Errorf("%q: %w", text, err)
	}
	whole := time.Duration(parts[0]*24+parts[1])*time.Hour +
		time.Duration(parts[2])*time.Minute + time.Duration(parts[3])*time.Second
	return whole + fraction, nil
}
