package gangway

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"prowgate/gangway/gangwaypb"
	"prowgate/gangway/prow"
	"prowgate/shared/fault"
)

// Gangway's enum names are Prow's own words in upper case, and the server relies on that itself (prow,
// pkg/gangway/gangway.go, isMatchingCondition).

// toStatus returns unspecified for a state that Gangway has no name for.
func toStatus(s prow.State) gangwaypb.JobExecutionStatus {
	return gangwaypb.JobExecutionStatus(gangwaypb.JobExecutionStatus_value[strings.ToUpper(string(s))])
}

// toState returns the empty state for a status that is unspecified or newer than this program.
func toState(s gangwaypb.JobExecutionStatus) prow.State {
	if s == gangwaypb.JobExecutionStatus_JOB_EXECUTION_STATUS_UNSPECIFIED {
		return ""
	}
	return prow.State(strings.ToLower(gangwaypb.JobExecutionStatus_name[int32(s)]))
}

// toType returns unspecified for a type that Gangway has no name for.
func toType(t prow.JobType) gangwaypb.JobExecutionType {
	return gangwaypb.JobExecutionType(gangwaypb.JobExecutionType_value[strings.ToUpper(string(t))])
}

// fromType returns the empty type for one that is unspecified or newer than this program.
func fromType(t gangwaypb.JobExecutionType) prow.JobType {
	if t == gangwaypb.JobExecutionType_JOB_EXECUTION_TYPE_UNSPECIFIED {
		return ""
	}
	return prow.JobType(strings.ToLower(gangwaypb.JobExecutionType_name[int32(t)]))
}

func toJob(e *gangwaypb.JobExecution) prow.Job {
	return prow.Job{
		ID:             e.GetId(),
		Name:           e.GetJobName(),
		Type:           fromType(e.GetJobType()),
		State:          toState(e.GetJobStatus()),
		StartTime:      toTime(e.GetCreateTime()),
		CompletionTime: toTime(e.GetCompletionTime()),
		URL:            e.GetJobUrl(),
	}
}

// toTime returns the zero time when there is none.
func toTime(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// createRequest refuses a type that Gangway cannot create; all else is the server's to judge.
func createRequest(op string, s prow.Submission) (*gangwaypb.CreateJobExecutionRequest, error) {
	kind := toType(s.Type)
	if kind == gangwaypb.JobExecutionType_JOB_EXECUTION_TYPE_UNSPECIFIED || s.JobName == "" {
		return nil, &fault.Error{Kind: fault.Refused, Op: op, Text: "a job needs a name and a known type"}
	}
	req := &gangwaypb.CreateJobExecutionRequest{
		JobName:          s.JobName,
		JobExecutionType: kind,
		PodSpecOptions:   &gangwaypb.PodSpecOptions{Envs: s.Envs, Labels: s.Labels, Annotations: s.Annotations},
	}
	if r := s.Refs; r != nil {
		req.Refs = &gangwaypb.Refs{Org: r.Org, Repo: r.Repo, BaseRef: r.BaseRef, BaseSha: r.BaseSHA}
	}
	return req, nil
}

// abortRequest refuses a selection that leaves anything open. The server turns only periodic, postsubmit
// and presubmit into a selection by type; with batch it would select every type (prow,
// pkg/gangway/gangway.go, getRequestLabelSelector).
func abortRequest(op string, a prow.Abort) (*gangwaypb.BulkJobStatusChangeRequest, error) {
	if text := openSide(a); text != "" {
		return nil, &fault.Error{Kind: fault.Refused, Op: op, Text: text}
	}
	// A fraction would miss the very job, whose start time is in whole seconds.
	start := timestamppb.New(a.Start.Truncate(time.Second))
	return &gangwaypb.BulkJobStatusChangeRequest{
		JobStatusChange: &gangwaypb.JobStatusChange{Current: toStatus(a.Current), Desired: gangwaypb.JobExecutionStatus_ABORTED},
		Cluster:         a.Cluster,
		StartedBefore:   start,
		StartedAfter:    start,
		JobType:         toType(a.Type),
		Refs:            &gangwaypb.Refs{Org: a.Org, Repo: a.Repo},
	}, nil
}

// openSide says what makes the selection wider than one second of one type in one repository, or would
// change a job that has ended; empty when nothing does.
func openSide(a prow.Abort) string {
	switch a.Type {
	case prow.Periodic, prow.Postsubmit, prow.Presubmit:
	default:
		return "the server cannot select by this job type"
	}
	switch a.Current {
	case prow.Scheduling, prow.Triggered, prow.Pending:
	default:
		return "the job is in no state to abort from"
	}
	switch {
	case a.Org == "" || a.Repo == "":
		return "org and repo are required to select by"
	case a.Start.Unix() <= 0:
		return "a start time is required to select by"
	}
	return ""
}
