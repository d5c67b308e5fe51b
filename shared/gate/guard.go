package gate

import (
	"fmt"
	"time"

	"prowgate/gangway/prow"
)

// Gangway's bulk change selects by type, org, repo, cluster, state and start time, and not by job name
// (prow, pkg/gangway/gangway.go). It works in the background after it has answered and reads each
// job's state again, so that a job which moves into the selected state later is hit too. The guard
// therefore looks at every job of the target's start second, under any name and in any state that has
// not ended.

// never returns why this job can never be aborted safely, empty when it can.
func never(target prow.Job) string {
	t, org, repo := target.Selector()
	switch {
	case t == "":
		return "the job has no type: Gangway would select jobs of every type"
	case org == "" || repo == "":
		return "the job has no refs: Gangway would select jobs of every repo"
	case target.StartTime.IsZero():
		return "the job has no start time: Gangway would select jobs of every age"
	}
	return ""
}

// guard returns why a bulk change could hit another job than target, or why the listing does not prove
// that it could not; empty when the abort is safe.
func guard(target prow.Job, listing prow.Listing) string {
	second := target.StartTime.Truncate(time.Second)
	if listing.At.IsZero() {
		return "the job list has no date"
	}
	if listing.At.Before(second.Add(proofAge)) {
		return fmt.Sprintf("the job list was made less than %s after the job's start", proofAge)
	}
	shown := false
	for _, j := range listing.Jobs {
		if j.ID == target.ID {
			if !sameJob(target, j) {
				return "the job list shows the job itself otherwise than it is"
			}
			shown = true
			continue
		}
		if collides(target, second, j) {
			return fmt.Sprintf("job %s (execution %s, %s) started in the same second", j.Name, j.ID, stateName(j.State))
		}
	}
	if !shown {
		return "the job list does not show the job itself"
	}
	return ""
}

// sameJob reports whether a listed job is the target in all that the bulk change selects by, but its state.
func sameJob(target, listed prow.Job) bool {
	t, org, repo := target.Selector()
	lt, lorg, lrepo := listed.Selector()
	return t == lt && org == lorg && repo == lrepo && target.Name == listed.Name &&
		target.StartTime.Truncate(time.Second).Equal(listed.StartTime.Truncate(time.Second))
}

func collides(target prow.Job, second time.Time, other prow.Job) bool {
	t, org, repo := target.Selector()
	ot, oorg, orepo := other.Selector()
	return !other.State.Terminal() && t == ot && org == oorg && repo == orepo &&
		other.StartTime.Truncate(time.Second).Equal(second)
}

// abortOf returns the narrowest bulk change that selects target.
func abortOf(target prow.Job) prow.Abort {
	t, org, repo := target.Selector()
	return prow.Abort{
		Current: target.State, Type: t, Org: org, Repo: repo,
		Cluster: target.Cluster, Start: target.StartTime.Truncate(time.Second),
	}
}

// changeable reports whether a bulk change can name this state as the current one.
func changeable(s prow.State) bool {
	return s == prow.Scheduling || s == prow.Triggered || s == prow.Pending
}
