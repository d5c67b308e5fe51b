package page

import (
	"strconv"
	"time"

	"prowgate/shared/queue/depth"
)

// Queue is one queue as the page shows it.
type Queue struct {
	Name string
	depth.Counts
	Letters []Letter // dead letters, the oldest first; as many as are worth showing
}

// Unshown is how many dead letters there are beside those that are shown.
func (q Queue) Unshown() int { return max(q.DeadLettered-len(q.Letters), 0) }

// Letter is a dead letter. Its texts hold no marker.
type Letter struct {
	Queue      string // the queue that it was sent to
	Sequence   int64  // names it among those
	MessageID  string
	SessionID  string
	Reason     string
	Text       string
	Deliveries int
	DiedAt     time.Time
	Size       int    // of the body, in bytes
	Body       string // for people; empty unless asked for
	Note       string // how Body differs from the bytes, if it does
}

// Key names a letter among all that is on the page.
func (l Letter) Key() string { return "letter-" + l.Queue + "-" + strconv.FormatInt(l.Sequence, 10) }
