package main

import (
	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

// story is one step of a pipeline: what it runs, and how that has to end.
type story struct {
	name   string
	job    string   // the stand-in plays a job by the end of its name
	args   []string // of gate run, beyond those that every step has
	before act      // what happens before the step starts
	signal bool     // the step gets SIGTERM as soon as its job runs
	want   want
}

// act is what happens before a step starts.
type act int

const (
	nothing    act = iota
	cancelGate     // its rollout is cancelled before the step has begun
	createJob      // somebody else makes the job, which the step adopts
	breakRule      // its gating message was sent without gate, which would have refused it; the step joins
)

// want is how a story has to end.
type want struct {
	exit    int
	outcome gate.Outcome
	retry   gate.Retry        // decides which marker is printed, if any
	abort   gate.AbortOutcome // empty: the completion speaks of no abort
	jobs    int               // jobs at the stand-in that carry the gate's id
	state   prow.State        // of that job in the end; empty: there is none
}

// jobPrefix is what the names of all jobs of the demo begin with.
const jobPrefix = "branch-ci-Azure-ARO-HCP-main-e2e-"

// sha pins a run to a commit, which makes it a postsubmit with refs. Gangway can abort only such a job by
// more than its type.
const sha = "0123456789abcdef0123456789abcdef01234567"

// stories are the demo's stories. The first one starts before the others, for it takes longest.
func stories() []story {
	gating := []string{"--gate-promotion"}
	retrying := []string{"--gate-promotion", "--allow-ev2-retry"}
	pinned := []string{"--gate-promotion", "--base-sha", sha}
	return []story{
		{
			name: "cancelled while its job runs", job: "cancelled-hang", signal: true,
			args: append([]string{"--cancel-grace", "75s"}, pinned...),
			want: want{exit: 143, outcome: gate.Cancelled, abort: gate.AbortDone, jobs: 1, state: prow.Aborted},
		},
		{
			name: "passes", job: "good-pass", args: gating,
			want: want{exit: 0, outcome: gate.Succeeded, jobs: 1, state: prow.Success},
		},
		{
			name: "fails", job: "bad-fail", args: gating,
			want: want{exit: 1, outcome: gate.Failed, jobs: 1, state: prow.Failure},
		},
		{
			name: "fails, but does not gate", job: "advisory-fail",
			want: want{exit: 0, outcome: gate.Failed, jobs: 1, state: prow.Failure},
		},
		{
			name: "fails, EV2 may not retry", job: "unknown-fail", args: retrying,
			want: want{exit: 1, outcome: gate.Failed, jobs: 1, state: prow.Failure},
		},
		{
			name: "fails by a known issue", job: "known-flaky", args: retrying,
			want: want{exit: 1, outcome: gate.Failed, retry: gate.KnownIssueEligible, jobs: 1, state: prow.Failure},
		},
		{
			name: "fails before its tests", job: "cluster-infra", args: retrying,
			want: want{exit: 1, outcome: gate.Failed, retry: gate.InfraPreconditionEligible, jobs: 1, state: prow.Failure},
		},
		{
			name: "the job ends in error", job: "broken-error", args: gating,
			want: want{exit: 1, outcome: gate.Errored, jobs: 1, state: prow.Errored},
		},
		{
			name: "somebody aborts the job", job: "stopped-aborted", args: gating,
			want: want{exit: 1, outcome: gate.Aborted, jobs: 1, state: prow.Aborted},
		},
		{
			name: "times out, the job goes on", job: "slow-hang", args: append([]string{"--timeout", "6s"}, pinned...),
			want: want{exit: 1, outcome: gate.TimedOut, jobs: 1, state: prow.Pending},
		},
		{
			name: "adopts a job that runs already", job: "adopted-pass", before: createJob, args: gating,
			want: want{exit: 0, outcome: gate.Succeeded, state: prow.Success},
		},
		{
			name: "cancelled before it began", job: "never-pass", before: cancelGate, args: gating,
			want: want{exit: 1, outcome: gate.Cancelled, abort: gate.AbortNotNeeded},
		},
		{
			name: "a message that breaks a rule", job: "rejected-pass", before: breakRule, args: gating,
			want: want{exit: 2, outcome: gate.Rejected},
		},
		{
			name: "a dry run", job: "dry-pass", args: []string{"--gate-promotion", "--dry-run"},
			want: want{exit: 0, outcome: gate.DryRun},
		},
	}
}
