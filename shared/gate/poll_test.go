package gate_test

import (
	"strings"
	"testing"
	"time"

	"prowgate/gangway/prow"
	"prowgate/shared/gate"
)

func TestTimeoutAtTheDeadline(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s","pollInterval":"60s"`)
	s.after(15 * time.Second).tick().status(prow.Pending)
	s.after(time.Minute).tick().status(prow.Pending)
	s.after(15 * time.Second).tick().status(prow.Pending)
	s.tells(`
		15s Ticked -> running
		  ReadStatus
		15s StatusRead -> running
		  progress .progress.2: job is pending
		  tick 3 at 1m15s
		1m15s Ticked -> running
		  ReadStatus
		1m15s StatusRead -> running
		  tick 4 at 1m30s
		1m30s Ticked -> running
		  ReadStatus
		1m30s StatusRead -> done
		  completion: timed-out passed=false Prow job e2e did not end within 1m30s (state pending)`)
}

func TestEndSeenAtTheDeadlineWins(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s"`)
	s.after(90 * time.Second).tick().skip().status(prow.Success)
	s.tells(`
		1m30s StatusRead -> done
		  completion: succeeded passed=true `)
}

func TestTimeoutWithoutAState(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s"`)
	s.after(90 * time.Second).tick().skip()
	for range 7 { // it may have ended in time, so that it is asked for again for a minute
		s.give(gate.StatusRead{Turn: s.turn(), Failure: &gate.Failure{Text: "a login page"}})
		s.after(10 * time.Second)
	}
	s.tells(`
		1m30s StatusRead -> running
		  progress .progress.2: the job's state cannot be read: a login page
		  tick 3 at 1m40s
		1m40s StatusRead -> running
		  tick 4 at 1m50s
		1m50s StatusRead -> running
		  tick 5 at 2m0s
		2m0s StatusRead -> running
		  tick 6 at 2m10s
		2m10s StatusRead -> running
		  tick 7 at 2m20s
		2m20s StatusRead -> running
		  tick 8 at 2m30s
		2m30s StatusRead -> done
		  completion: timed-out passed=false Prow job e2e did not end within 1m30s (state not started); its state could not be read: a login page`)
}

// One passing failure of Deck at the deadline does not hide an end that came in time.
func TestADeckThatIsAwayAtTheDeadline(t *testing.T) {
	for name, away := range map[string]gate.StatusRead{"error": {Failure: &gate.Failure{Text: "HTTP 502"}}, "404": {}} {
		s := newStory(t).running(`"timeout":"90s"`)
		away.Turn = s.after(90 * time.Second).tick().turn()
		s.give(away)
		s.after(10 * time.Second).tick().status(prow.Success)
		if v := s.r.Verdict; v == nil || v.Outcome != gate.Succeeded {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A tick behind the deadline that comes late has as many looks as one that comes in time.
func TestALateTickAtTheDeadline(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s"`)
	s.after(time.Hour).tick()
	s.give(gate.StatusRead{Turn: s.turn(), Failure: &gate.Failure{Text: "HTTP 502"}})
	s.after(10 * time.Second).tick().status(prow.Success)
	if v := s.r.Verdict; v == nil || v.Outcome != gate.Succeeded {
		t.Errorf("%+v", v)
	}
}

// An execution that is a run of another job than the message says is no verdict on that job.
func TestAdoptionOfAnotherJob(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		s := newStory(t).accept(`"executionId":"e1"`)
		j := s.job(prow.Success)
		j.Name = "other"
		if cancelled {
			s.cancel()
			j.State = prow.Pending
		}
		commands := s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
		v, want := s.r.Verdict, gate.Rejected
		if cancelled {
			want = gate.Cancelled
		}
		if v == nil || v.Outcome != want || v.Passed || !strings.Contains(v.Error, "executionId: execution e1 is a run of job other, and not of e2e") {
			t.Errorf("cancelled %t: %+v", cancelled, v)
		}
		if len(commands) != 1 {
			t.Errorf("cancelled %t: %v", cancelled, commands)
		}
	}
}

// The job of another gate, which still waits for it, is not aborted under that gate.
func TestAdoptionOfTheJobOfALiveGate(t *testing.T) {
	s := newStory(t).accept(`"executionId":"e1"`)
	for _, c := range s.cancel().give(gate.Ticked{Seq: s.turn()}) {
		if read, ok := c.(gate.ReadStatus); ok && !read.Owner {
			t.Error("it is not asked whose the job is")
		}
	}
	s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: s.job(prow.Pending), Owner: "g9"})
	if v := s.r.Verdict; v == nil || v.Outcome != gate.Cancelled || v.Abort == nil || v.Abort.Outcome != gate.AbortSkipped || !strings.Contains(v.Error, "gate g9") {
		t.Errorf("%+v", v)
	}
}

func TestTimeoutNeverPasses(t *testing.T) {
	s := newStory(t).running(`"timeout":"90s","gatePromotion":false`)
	s.after(90 * time.Second).tick().status(prow.Pending)
	if s.r.Verdict.Passed {
		t.Error("a time-out passed")
	}
}

func TestUnreadableStatusIsReportedOnce(t *testing.T) {
	s := newStory(t).running("")
	s.tick().skip()
	for range 2 {
		s.give(gate.StatusRead{Turn: s.turn(), Failure: &gate.Failure{Text: "a login page"}})
	}
	s.tells(`
		0s StatusRead -> running
		  progress .progress.2: the job's state cannot be read: a login page
		  tick 3 at 1m0s
		0s StatusRead -> running
		  tick 4 at 1m0s`)
}

func TestMissingJob(t *testing.T) {
	s := newStory(t).running(`"gatePromotion":true`)
	s.after(15 * time.Second).tick().missing()
	s.after(30*time.Minute - time.Second).tick().missing()
	s.after(time.Second).tick().missing()
	s.tells(`
		15s Ticked -> running
		  ReadStatus
		15s StatusRead -> running
		  progress .progress.2: Deck does not show the job yet
		  tick 3 at 1m15s
		30m14s Ticked -> running
		  ReadStatus
		30m14s StatusRead -> running
		  tick 4 at 31m14s
		30m15s Ticked -> running
		  ReadStatus
		30m15s StatusRead -> done
		  completion: errored passed=false the job is lost: Deck has not shown execution e1 since 12:00:15`)
}

func TestMissingJobThatWasSeen(t *testing.T) {
	tests := []struct {
		name string
		read gate.UploadedRead
		want string
	}{
		{"ended", gate.UploadedRead{Found: true, Job: prow.Job{ID: "e1", State: prow.Success}}, "completion: succeeded passed=true "},
		{
			"another",
			gate.UploadedRead{Found: true, Job: prow.Job{ID: "e2", State: prow.Success}},
			"completion: errored passed=false the job is lost: Deck has not shown execution e1 since 12:00:00; the prowjob.json in its artifacts is that of e2: https://deck/e1",
		},
		{
			"gone",
			gate.UploadedRead{},
			"completion: errored passed=false the job is lost: Deck has not shown execution e1 since 12:00:00; its artifacts hold no prowjob.json: https://deck/e1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory(t).running(`"gatePromotion":true`)
			s.tick().status(prow.Pending).tick().missing()
			s.after(30 * time.Minute).tick().skip().missing()
			tt.read.Turn = s.turn()
			s.give(tt.read)
			s.tells("30m0s StatusRead -> running\n  read prowjob.json of https://deck/e1\n30m0s UploadedRead -> done\n  " + tt.want)
		})
	}
}

func TestMissingGraceStartsAnewWhenTheJobIsSeen(t *testing.T) {
	s := newStory(t).running("")
	s.tick().missing()
	s.after(29 * time.Minute).tick().status(prow.Pending)
	s.after(2 * time.Minute).tick().missing()
	if s.r.Phase != gate.PhaseRunning {
		t.Errorf("phase = %s", s.r.Phase)
	}
}

func TestAJobThatIsNotTheGatesOwn(t *testing.T) {
	for name, change := range map[string]func(*prow.Job){
		"label": func(j *prow.Job) { j.Labels = map[string]string{gate.KeyGateID: "g2"} },
		"name":  func(j *prow.Job) { j.Labels, j.Name = nil, "theirs" },
	} {
		s := newStory(t).running("")
		j := s.job(prow.Success)
		change(&j)
		s.tick().give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
		if s.r.Phase != gate.PhaseRunning {
			t.Errorf("%s: the verdict is that of another job", name)
		}
		s = newStory(t).running("").after(2 * time.Minute).cancel().skip()
		j.State = prow.Pending
		for _, c := range s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j}) {
			if _, ok := c.(gate.Probe); ok {
				t.Errorf("%s: another job is about to be aborted", name)
			}
		}
	}
}

func TestAdoptedJobIsWhatItsIDSays(t *testing.T) {
	s := newStory(t).accept(`"executionId":"e1"`)
	j := s.job(prow.Success)
	j.Labels, j.Name = map[string]string{gate.KeyGateID: "g0"}, "another-attempt"
	s.give(gate.StatusRead{Turn: s.turn(), Found: true, Job: j})
	if s.r.Phase != gate.PhaseDone {
		t.Errorf("%s", s.r.Phase)
	}
}

func TestPassingFaultOfTheBucketIsWaitedFor(t *testing.T) {
	s := newStory(t).running("")
	s.tick().status(prow.Pending).tick().missing()
	s.after(30 * time.Minute).tick().missing()
	s.give(gate.UploadedRead{Turn: s.turn(), Failure: &gate.Failure{Text: "503"}})
	if s.r.Phase != gate.PhaseRunning {
		t.Fatalf("%s: %s", s.r.Phase, s.r.Verdict.Error)
	}
	s.after(time.Minute).tick().missing()
	s.give(gate.UploadedRead{Turn: s.turn(), Found: true, Job: prow.Job{ID: "e1", State: prow.Success}})
	if s.r.Verdict == nil || s.r.Verdict.Outcome != gate.Succeeded {
		t.Errorf("%+v", s.r.Verdict)
	}
}

func TestAnOlderStateThatComesLateIsNotBelieved(t *testing.T) {
	s := newStory(t).running(`"gatePromotion":true,"allowEv2Retry":true`)
	s.tick().status(prow.Failure).skip()
	s.status(prow.Pending)
	s.give(gate.UploadedRead{Turn: s.turn(), Found: true, Job: prow.Job{ID: "e1", State: prow.Success}})
	s.tells(`
		0s StatusRead -> concluding
		0s UploadedRead -> concluding`)
	if s.r.State != prow.Failure || s.r.EndSeenAt.IsZero() {
		t.Errorf("state %s, end seen %s", s.r.State, s.r.EndSeenAt)
	}
}
