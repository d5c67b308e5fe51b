package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Evidence is what a failed run has uploaded, as far as the classification reads it.
type Evidence struct {
	Failure    *Failure // set when the run's objects could not be listed
	RootListed bool     // the listing held the root's file; one that did not is not of the whole run
	Files      []File   // the run's finished.json files, the root's first, then by name
}

// File is one finished.json. Exactly one of Body, Missing and Failure says what came of reading it.
type File struct {
	Name    string // relative to the run's root
	Body    []byte
	Missing bool     // listed, or expected, but not there
	Failure *Failure // Refused: unreadable for good (too large); any other kind may pass
}

// RootFile is the name of the run's own finished.json.
const RootFile = "finished.json"

// FinishedFiles picks the files that the classification reads from a run's object names: the root's,
// artifacts/<test>/finished.json and artifacts/<test>/<step>/finished.json (ci-tools, multi-stage
// layout). What lies deeper was uploaded by a step itself and may be called anything. The root's file
// is named even when the listing does not hold it, and so is that of a test or step that has left a log, or of a step
// that has left artifacts: without its file it is not complete.
func FinishedFiles(names []string) []string {
	files := []string{}
	for _, name := range names {
		parts := strings.Split(name, "/")
		n := len(parts)
		if n < 3 || parts[0] != "artifacts" || slices.Contains(parts, "") {
			continue
		}
		switch last := parts[n-1]; {
		case n >= 4 && parts[2] == "artifacts": // what a test in one container uploads itself
		case n >= 5 && parts[3] == "artifacts": // what a step uploads itself
			files = append(files, strings.Join(parts[:3], "/")+"/"+RootFile)
		case n <= 4 && (last == RootFile || last == "build-log.txt"):
			files = append(files, strings.TrimSuffix(name, last)+RootFile)
		}
	}
	slices.Sort(files)
	return append([]string{RootFile}, slices.Compact(files)...)
}

// Keys of a step's metadata (ARO-HCP, test/cmd: what the suite writes for EV2), and of the sidecar's
// note that a step's metadata did not parse (prow, pkg/sidecar/run.go).
const (
	keyFailedTests   = "ev2-failed-tests"
	keyAllowRetry    = "ev2-allow-retry-tests"
	keySidecarErrors = "sidecar-errors"
	keyUploader      = "uploader"
	stubUploader     = "crier" // writes a stub when the file is missing (prow, pkg/crier/reporters/gcs)
)

// finished is a finished.json.
type finished struct {
	Passed   *bool
	Result   string
	Metadata map[string]json.RawMessage
}

// parseFinished reads a finished.json by the exact names of its keys: one that is given twice, or in other
// letters, could be read otherwise by others.
func parseFinished(body []byte) (f finished, err error) {
	values, repeated, ok := members(body)
	if !ok {
		return f, errors.New("not a finished.json: it is not a JSON object")
	}
	if raw := values["metadata"]; len(raw) > 0 && string(raw) != "null" {
		var again []string
		if f.Metadata, again, ok = members(raw); !ok {
			return f, errors.New("not a finished.json: its metadata is not an object")
		}
		repeated = append(repeated, again...)
	}
	if len(repeated) > 0 {
		return f, errors.New("not a finished.json: it holds a key twice")
	}
	for name, raw := range values {
		switch exact := strings.ToLower(name); {
		case exact != name && (exact == "passed" || exact == "result" || exact == "metadata"):
			err = errors.Join(err, fmt.Errorf("it spells %q as %q", exact, name))
		case name == "passed":
			err = errors.Join(err, json.Unmarshal(raw, &f.Passed))
		case name == "result":
			err = errors.Join(err, json.Unmarshal(raw, &f.Result))
		}
	}
	switch {
	case err != nil:
		return f, fmt.Errorf("not a finished.json: %w", err)
	case f.Result == "" && f.Passed == nil:
		return f, errors.New("not a finished.json: it has neither passed nor result")
	}
	return f, nil
}

// stub reports a file that crier wrote because the run had left none.
func (f finished) stub() bool {
	var uploader string
	if json.Unmarshal(f.Metadata[keyUploader], &uploader) == nil && uploader == stubUploader {
		return true
	}
	return f.Result != "" && f.Result == strings.ToLower(f.Result)
}

// otherEV2 names a key of the suite's other than the two lists, or one of them misspelt; empty when there
// is none. Such a key says that the suite ran.
func (f finished) otherEV2() string {
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		if strings.HasPrefix(strings.ToLower(key), "ev2-") && key != keyFailedTests {
			return key
		}
	}
	return ""
}

// aborted reports a file of a pod that got SIGTERM; the full one may come later.
func (f finished) aborted() bool { return f.Result == "ABORTED" }

func (f finished) failed() bool { return f.Passed != nil && !*f.Passed || f.Result == "FAILURE" }

// names reads a metadata value that must be a list of names; ok is false when the key is missing.
func (f finished) names(key string) (names []string, ok bool, err error) {
	raw, ok := f.Metadata[key]
	if !ok {
		return nil, false, nil
	}
	var values []*string
	if err := json.Unmarshal(raw, &values); err != nil || values == nil {
		return nil, true, fmt.Errorf("%s is not a list of names", key)
	}
	for _, v := range values {
		if v == nil || *v == "" {
			return nil, true, fmt.Errorf("%s holds something that is not a name", key)
		}
		names = append(names, *v)
	}
	return names, true, nil
}
