package gangwaytest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"prowgate/gangway/prow"
)

// get answers one execution: no refs, no labels. An unknown id has no gRPC code, hence 500.
func (w *World) get(c *call) reply {
	j, s, ok := w.find(c.arg, c.now)
	if !ok || c.fault.Mode == Lost {
		return grpcError(unknown, "prowjobs.prow.k8s.io %q not found", c.arg)
	}
	_, url := w.link(j, s)
	return jsonReply(http.StatusOK, marshal(execution{
		ID: j.ID, JobName: j.Name, JobType: typeName(j.Type), JobStatus: statusName(s.State), JobURL: url,
		CreateTime: kubeTime(j.Start), CompletionTime: kubeTime(s.Completed),
	}))
}

// list selects by the job label. A list that fails inside is an empty one.
func (w *World) list(c *call) reply {
	q := c.URL.Query()
	name := q.Get("job_name") + q.Get("jobName")
	want, err := enum(q.Get("status")).name(statusNames())
	if err != nil {
		return grpcError(invalidArgument, "%v", err)
	}
	var found executions
	for _, j := range w.selected(map[string]string{prow.LabelJob: name}) {
		s, ok := j.seenAt(c.now)
		status := statusName(s.State)
		if !ok || c.fault.Mode == Lost || want != statusNames()[0] && want != status {
			continue
		}
		found.JobExecution = append(found.JobExecution, execution{
			ID: j.ID, JobName: j.Name, JobStatus: status, JobType: typeName(j.Type),
		})
	}
	return jsonReply(http.StatusOK, marshal(found))
}

// selected returns the jobs that have these labels, by id, as the API server lists them; an empty value
// is no condition.
func (w *World) selected(labels map[string]string) []*job {
	var found []*job
	for _, j := range w.jobs {
		if j.has(labels) {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, func(a, b *job) int { return strings.Compare(a.ID, b.ID) })
	return found
}

func (j *job) has(labels map[string]string) bool {
	for k, v := range labels {
		if v != "" && j.Labels[k] != v {
			return false
		}
	}
	return true
}

// bulk is a bulk change that was answered and waits for its work to be done.
type bulk struct {
	N       int // number of the request, from 1
	At      time.Time
	Request bulkRequest
}

// bulkChange answers at once; the work is done later, whatever becomes of it.
func (w *World) bulkChange(c *call) reply {
	var req bulkRequest
	if err := json.Unmarshal(c.body, &req); err != nil {
		return grpcError(invalidArgument, "%v", err)
	}
	if r, ok := req.check(); !ok {
		return r
	}
	w.bulkSeq++
	if c.fault.Mode != Lost {
		w.bulks = append(w.bulks, bulk{N: w.bulkSeq, At: c.now.Add(w.bulkDelay(c.fault)), Request: req})
		slices.SortStableFunc(w.bulks, func(a, b bulk) int { return a.At.Compare(b.At) })
	}
	c.changed = true
	return jsonReply(http.StatusOK, []byte("{}"))
}

// check is BulkJobStatusChangeRequest.Validate of pkg/gangway/gangway.go. It replaces the enums by
// their names.
func (b *bulkRequest) check() (reply, bool) {
	if b.JobStatusChange == nil {
		b.JobStatusChange = &statusChange{}
	}
	for _, e := range []struct {
		value *enum
		names []string
	}{{&b.JobStatusChange.Current, statusNames()}, {&b.JobStatusChange.Desired, statusNames()}, {&b.JobType, typeNames()}} {
		name, err := e.value.name(e.names)
		if err != nil {
			return grpcError(invalidArgument, "%v", err), false
		}
		*e.value = enum(name)
	}
	switch enum(statusNames()[0]) {
	case b.JobStatusChange.Current:
		return grpcError(invalidArgument, "current status is unspecified"), false
	case b.JobStatusChange.Desired:
		return grpcError(invalidArgument, "desired status is unspecified"), false
	}
	return reply{}, true
}

func (w *World) bulkDelay(f Fault) time.Duration {
	switch {
	case f.Delay > 0:
		return f.Delay
	case w.opts.BulkDelay > 0:
		return w.opts.BulkDelay
	}
	return time.Second + time.Duration(w.bulkSeq%3)*500*time.Millisecond
}

// advance does the work of every bulk change that is due at now, in order of time. It is called before
// anything else looks at the world, so that it makes no difference when that is.
func (w *World) advance(now time.Time) {
	for len(w.bulks) > 0 && !w.bulks[0].At.After(now) {
		b := w.bulks[0]
		w.bulks = w.bulks[1:]
		for _, j := range w.selected(b.Request.labels()) {
			if s, ok := j.seenAt(b.At); ok && b.Request.matches(j, s) {
				j.change(b, s.State)
			}
		}
	}
}

// labels is getRequestLabelSelector of pkg/gangway/gangway.go: type, org and repo, never the job's name.
// A batch type is no condition.
func (b bulkRequest) labels() map[string]string {
	labels := map[string]string{}
	switch b.JobType {
	case "PERIODIC", "POSTSUBMIT", "PRESUBMIT":
		labels[prow.LabelType] = strings.ToLower(string(b.JobType))
	}
	if b.Refs != nil {
		labels[prow.LabelOrg], labels[prow.LabelRepo] = b.Refs.Org, b.Refs.Repo
	}
	return labels
}

// matches is isMatchingCondition of pkg/gangway/gangway.go: the window is inclusive on both sides.
func (b bulkRequest) matches(j *job, s status) bool {
	switch {
	case string(s.State) != strings.ToLower(string(b.JobStatusChange.Current)),
		b.Cluster != "" && b.Cluster != j.Cluster,
		b.StartedBefore != nil && j.Start.After(*b.StartedBefore),
		b.StartedAfter != nil && j.Start.Before(*b.StartedAfter):
		return false
	}
	return true
}

// change applies a bulk change to one job, unless its script says that this goes wrong.
func (j *job) change(b bulk, from prow.State) {
	c := Change{
		At: b.At, From: from, Bulk: b.N,
		State: prow.State(strings.ToLower(string(b.Request.JobStatusChange.Desired))),
	}
	switch {
	case j.Lost < j.Script.LostChanges:
		j.Lost++
		c.Failed = true
	case j.Overwritten < j.Script.OverwrittenChanges:
		j.Overwritten++
		c.Until = b.At.Add(patchDelay)
	}
	j.Changes = append(j.Changes, c)
}
