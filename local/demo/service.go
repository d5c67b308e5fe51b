package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// standin is where the local host mounts the stand-in for Prow.
const standin = "/standin"

// service reads what the local host and its stand-in show of themselves.
type service struct{ base string }

// job is a job as the stand-in's admin surface shows it.
type job struct {
	ID     string            `json:"id"`
	Name   string            `json:"jobName"`
	State  prow.State        `json:"state"`
	Labels map[string]string `json:"labels"`
}

// gate returns a gate's record; found is false when there is none.
func (s service) gate(ctx context.Context, id string) (v gate.View, found bool, err error) {
	code, body, err := s.call(ctx, http.MethodGet, "/api/gates/"+id, nil)
	if err != nil || code == http.StatusNotFound {
		return v, false, err
	}
	if code != http.StatusOK {
		return v, false, fmt.Errorf("gate %s: status %d: %s", id, code, body)
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, false, fmt.Errorf("gate %s: %w", id, err)
	}
	return v, true, nil
}

// jobs returns all jobs of the stand-in.
func (s service) jobs(ctx context.Context) ([]job, error) {
	body, err := s.page(ctx, standin+"/admin/jobs")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Jobs []job `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return nil, fmt.Errorf("the stand-in's jobs: %w", err)
	}
	return answer.Jobs, nil
}

// page returns the body of a page that has to be there.
func (s service) page(ctx context.Context, path string) (string, error) {
	code, body, err := s.call(ctx, http.MethodGet, path, nil)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d: %s", path, code, body)
	}
	return string(body), err
}

// createJob makes a job as somebody else would, pinned to a commit unless that is empty.
func (s service) createJob(ctx context.Context, name, commit string) (id string, err error) {
	request := map[string]any{"jobName": name, "jobExecutionType": "PERIODIC"}
	if commit != "" {
		request["jobExecutionType"] = "POSTSUBMIT"
		request["refs"] = map[string]string{
			"org": gate.DefaultOrg, "repo": gate.DefaultRepo, "baseRef": gate.DefaultBaseRef, "baseSha": commit,
		}
	}
	code, body, err := s.call(ctx, http.MethodPost, standin+"/v1/executions", request)
	if err != nil {
		return "", err
	}
	var answer struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.ID == "" {
		return "", fmt.Errorf("create %s: status %d: %s", name, code, body)
	}
	return answer.ID, nil
}

func (s service) call(ctx context.Context, method, path string, request any) (code int, body []byte, err error) {
	encoded, err := json.Marshal(request)
	if err != nil {
		return 0, nil, fmt.Errorf("encode: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(encoded))
	if err != nil {
		return 0, nil, fmt.Errorf("request: %w", err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, fmt.Errorf("the local host: %w", err)
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}
