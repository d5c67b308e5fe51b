package funchost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/robfig/cron/v3"
)

// Package is a deployed folder as the host understands it.
type Package struct {
	Dir                string
	Executable         string // absolute
	Arguments          []string
	FunctionTimeout    time.Duration // 0: none
	MaxConcurrentCalls int           // of each function with a queue
	MaxLockRenewal     time.Duration
	Functions          []Function // in order of name; at least one
	forwards           bool       // the requests of HTTP functions as they are
}

// Function is one folder with a function.json. Exactly one of Queue, Schedule and HTTP is set.
type Function struct {
	Name     string
	Binding  string // the trigger's name, under which its data travels
	Queue    string
	Schedule cron.Schedule
	HTTP     *HTTPTrigger
}

// Load reads the folder at dir. Settings written as %NAME% are looked up with setting. Every problem is
// reported, each with its file and field; what the real host knows and this one does not is a problem
// too, for it would be silently different here.
func Load(dir string, setting func(name string) (string, bool)) (Package, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Package{}, fmt.Errorf("package folder: %w", err)
	}
	p, err := loadHost(dir)
	functions, ferr := loadFunctions(dir, setting)
	p.Functions = functions
	if err == nil && !p.forwards && slices.ContainsFunc(functions, func(f Function) bool { return f.HTTP != nil }) {
		err = fmt.Errorf("%s: customHandler.enableForwardingHttpRequest: must be true for an httpTrigger", filepath.Join(dir, "host.json"))
	}
	return p, errors.Join(err, ferr)
}

// loadFunctions reads <dir>/*/function.json.
func loadFunctions(dir string, setting func(string) (string, bool)) ([]Function, error) {
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*", "function.json"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no folder in it holds a function.json", dir)
	}
	sort.Strings(files)
	var functions []Function
	var problems []error
	for _, file := range files {
		f, err := loadFunction(file, setting)
		functions = append(functions, f)
		problems = append(problems, err)
	}
	return functions, errors.Join(problems...)
}

// escapeGlob quotes the characters that Glob gives a meaning.
func escapeGlob(dir string) string {
	var b bytes.Buffer
	for _, r := range dir {
		if r == '*' || r == '?' || r == '[' || r == '\\' && filepath.Separator != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// decodeFile reads one JSON file into v. With strict, a field that v does not know is an error.
func decodeFile(file string, v any, strict bool) error {
	body, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no such file", file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if d.More() {
		return fmt.Errorf("%s: more than one JSON value", file)
	}
	return nil
}
