package gangwaytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"prowgate/gangway/prow"
)

// The messages of gangway.proto as proto JSON. Requests may spell fields in snake_case or
// lowerCamelCase and enums by name or number; answers are lowerCamelCase, without unset fields.
type (
	createRequest struct {
		JobName          string      `json:"jobName"`
		JobExecutionType enum        `json:"jobExecutionType"`
		Refs             *refs       `json:"refs"`
		PodSpecOptions   *podOptions `json:"podSpecOptions"`
	}
	podOptions struct {
		Envs        map[string]string `json:"envs,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	refs struct {
		Org            string `json:"org,omitempty"`
		Repo           string `json:"repo,omitempty"`
		RepoLink       string `json:"repoLink,omitempty"`
		BaseRef        string `json:"baseRef,omitempty"`
		BaseSHA        string `json:"baseSha,omitempty"`
		BaseLink       string `json:"baseLink,omitempty"`
		Pulls          []pull `json:"pulls,omitempty"`
		PathAlias      string `json:"pathAlias,omitempty"`
		WorkDir        string `json:"workDir,omitempty"`
		CloneURI       string `json:"cloneUri,omitempty"`
		SkipSubmodules bool   `json:"skipSubmodules,omitempty"`
		CloneDepth     int    `json:"cloneDepth,omitempty"`
		SkipFetchHead  bool   `json:"skipFetchHead,omitempty"`
	}
	pull struct {
		Number     int    `json:"number,omitempty"`
		Author     string `json:"author,omitempty"`
		SHA        string `json:"sha,omitempty"`
		Title      string `json:"title,omitempty"`
		Ref        string `json:"ref,omitempty"`
		Link       string `json:"link,omitempty"`
		CommitLink string `json:"commitLink,omitempty"`
		AuthorLink string `json:"authorLink,omitempty"`
	}
	execution struct {
		ID             string      `json:"id,omitempty"`
		JobName        string      `json:"jobName,omitempty"`
		JobType        string      `json:"jobType,omitempty"`
		JobStatus      string      `json:"jobStatus,omitempty"`
		Refs           *refs       `json:"refs,omitempty"`
		PodSpecOptions *podOptions `json:"podSpecOptions,omitempty"`
		CreateTime     string      `json:"createTime,omitempty"`
		CompletionTime string      `json:"completionTime,omitempty"`
		JobURL         string      `json:"jobUrl,omitempty"`
	}
	executions struct {
		JobExecution []execution `json:"jobExecution,omitempty"`
	}
	bulkRequest struct {
		JobStatusChange *statusChange `json:"jobStatusChange"`
		Cluster         string        `json:"cluster,omitempty"`
		StartedBefore   *time.Time    `json:"startedBefore,omitempty"`
		StartedAfter    *time.Time    `json:"startedAfter,omitempty"`
		JobType         enum          `json:"jobType,omitempty"`
		Refs            *refs         `json:"refs,omitempty"`
	}
	statusChange struct {
		Current enum `json:"current"`
		Desired enum `json:"desired"`
	}
)

// UnmarshalJSON accepts both spellings of every field.
func (r *createRequest) UnmarshalJSON(raw []byte) error {
	type plain createRequest
	return decode(raw, (*plain)(r))
}

// UnmarshalJSON accepts both spellings of every field.
func (o *podOptions) UnmarshalJSON(raw []byte) error {
	type plain podOptions
	return decode(raw, (*plain)(o))
}

// UnmarshalJSON accepts both spellings of every field.
func (r *refs) UnmarshalJSON(raw []byte) error {
	type plain refs
	return decode(raw, (*plain)(r))
}

// UnmarshalJSON accepts both spellings of every field.
func (p *pull) UnmarshalJSON(raw []byte) error {
	type plain pull
	return decode(raw, (*plain)(p))
}

// UnmarshalJSON accepts both spellings of every field.
func (b *bulkRequest) UnmarshalJSON(raw []byte) error {
	type plain bulkRequest
	return decode(raw, (*plain)(b))
}

// UnmarshalJSON accepts both spellings of every field.
func (s *statusChange) UnmarshalJSON(raw []byte) error {
	type plain statusChange
	return decode(raw, (*plain)(s))
}

// decode reads one message. An unknown field is an error, so that a misspelt one does not go unseen.
func decode(raw []byte, into any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	camel := make(map[string]json.RawMessage, len(fields))
	for name, value := range fields {
		camel[lowerCamel(name)] = value
	}
	d := json.NewDecoder(bytes.NewReader(marshal(camel)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func lowerCamel(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

// marshal encodes values that cannot fail to be encoded.
func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// enum is an enum value before it is looked up: a name or a number.
type enum string

// UnmarshalJSON accepts a name or a number.
func (e *enum) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(e))
	}
	if string(raw) == "null" {
		return nil
	}
	if _, err := strconv.Atoi(string(raw)); err != nil {
		return fmt.Errorf("enum value %s: %w", raw, err)
	}
	*e = enum(raw)
	return nil
}

// statusNames and typeNames are the enums of gangway.proto, by number.
func statusNames() []string {
	return []string{
		"JOB_EXECUTION_STATUS_UNSPECIFIED", "TRIGGERED", "PENDING", "SUCCESS", "FAILURE", "ABORTED", "ERROR", "SCHEDULING",
	}
}

func typeNames() []string {
	return []string{"JOB_EXECUTION_TYPE_UNSPECIFIED", "PERIODIC", "POSTSUBMIT", "PRESUBMIT", "BATCH"}
}

// name returns the enum's name among names. An unset one is the first name; a number that names do not
// have is kept as it is, as proto3 does; an unknown name is an error.
func (e enum) name(names []string) (string, error) {
	if e == "" {
		return names[0], nil
	}
	n, err := strconv.Atoi(string(e))
	switch {
	case err != nil && slices.Contains(names, string(e)):
		return string(e), nil
	case err != nil:
		return "", fmt.Errorf("invalid enum value %q", string(e))
	case n >= 0 && n < len(names):
		return names[n], nil
	}
	return string(e), nil
}

// statusName is TranslateProwJobStatus of pkg/gangway/gangway.go.
func statusName(s prow.State) string { return known(statusNames(), string(s)) }

// typeName is TranslateProwJobType of pkg/gangway/gangway.go.
func typeName(t prow.JobType) string { return known(typeNames(), string(t)) }

// known returns the name among names of a state or type. One that has none is translated to the enum's zero,
// which proto JSON leaves out of an answer: "".
func known(names []string, value string) string {
	name := strings.ToUpper(value)
	if !slices.Contains(names[1:], name) {
		return ""
	}
	return name
}

// kubeTime formats a time as Kubernetes does, in whole seconds; a zero one is "".
func kubeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
