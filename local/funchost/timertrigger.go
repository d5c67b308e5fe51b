package funchost

import (
	"context"
	"time"
)

// lateAfter is how long after its time a run counts as past due.
const lateAfter = 5 * time.Second

// runTimer invokes f at each time of its schedule (UTC) until receive is done. Runs never overlap:
// times that pass during a run are left out.
func (l *life) runTimer(receive, work context.Context, f Function) {
	last := l.host.Clock().UTC()
	for {
		at := f.Schedule.Next(last)
		if at.IsZero() {
			l.host.Log.Warn("the schedule has no further time", "function", f.Name)
			return
		}
		if !wait(receive, at.Sub(l.host.Clock())) {
			return
		}
		l.runOnce(work, f, last, at)
		last = l.host.Clock().UTC()
		if last.Before(at) {
			last = at // the clock may stand a little before the time that was waited for
		}
	}
}

func (l *life) runOnce(work context.Context, f Function, last, at time.Time) {
	now := l.host.Clock()
	payload, err := timerPayload(f, last, f.Schedule.Next(at), now, now.Sub(at) > lateAfter)
	if err == nil {
		err = l.invoke(work, f, payload)
	}
	if err != nil {
		l.host.Log.Warn("timer run failed; the next one comes at its time", "function", f.Name)
	}
}
