package gangwaytest

import (
	"net/http"
	"time"
)

// Endpoint names a kind of request.
type Endpoint string

// The endpoints that can be counted and interfered with.
const (
	Create     Endpoint = "create"      // POST /v1/executions
	Get        Endpoint = "get"         // GET /v1/executions/{id}
	List       Endpoint = "list"        // GET /v1/executions
	BulkChange Endpoint = "bulk-change" // POST /v1/bulk-job-status-update
	DeckJob    Endpoint = "deck-job"    // GET /prowjob
	DeckJobs   Endpoint = "deck-jobs"   // GET /prowjobs.js
	ObjectRead Endpoint = "object-read" // GET /{bucket}/{object}
	ObjectList Endpoint = "object-list" // GET /storage/v1/b/{bucket}/o
)

// gangway reports whether the endpoint is one of Gangway's, behind the token and the rate limit.
func (e Endpoint) gangway() bool {
	return e == Create || e == Get || e == List || e == BulkChange
}

// Call is a request about which Options.Interfere is asked.
type Call struct {
	Endpoint Endpoint
	N        int // the how-manieth of this endpoint, from 1
}

// Moment says on which side of the work a fault strikes.
type Moment int

// The moments of a fault.
const (
	Before Moment = iota // the work is not done
	After                // the work is done, the answer is lost or spoilt
)

// Mode says how a request goes wrong.
type Mode int

// The modes of a fault.
const (
	NoFault  Mode = iota
	Answer        // answer Status and Body instead
	Cut           // the connection breaks, no answer
	CutBody       // the answer breaks off in the middle of its body
	EmptyObj      // 200 and {}
	HTMLPage      // 200 and a login page
	Timeout       // no answer until the client gives up
	Refuse        // connection refused, never reaches the server; over a socket the same as Cut
	Lost          // the server fails inside and says nothing: an empty list, a bulk change that does nothing, 404 from Deck
)

// Fault is what goes wrong with one request. The zero Fault is none. It strikes a request that the rate
// limit has let through.
type Fault struct {
	Mode       Mode
	When       Moment
	Status     int    // Answer: 0 is 500
	Body       string // Answer: "" is a page like a proxy's
	RetryAfter string // Answer: the header
	// Delay, of a Create: the job comes into being that much later; of a BulkChange: the work is done
	// that much after the answer. It goes with every mode, NoFault too.
	Delay time.Duration
}

// FailNext lets the next requests of an endpoint go wrong, one for each fault, in this order.
func (w *World) FailNext(e Endpoint, faults ...Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.planned[e] = append(w.planned[e], faults...)
}

// fault returns what goes wrong with the request that is now counted as n-th of its endpoint.
func (w *World) fault(e Endpoint, n int) Fault {
	if q := w.planned[e]; len(q) > 0 {
		w.planned[e] = q[1:]
		return q[0]
	}
	if w.opts.Interfere != nil {
		return w.opts.Interfere(Call{Endpoint: e, N: n})
	}
	return Fault{}
}

// instead reports whether the fault keeps the request from being worked on.
func (f Fault) instead() bool {
	return f.When == Before && f.Mode != NoFault && f.Mode != Lost
}

// spoil returns what the client gets in place of the answer r.
func (f Fault) spoil(r reply) reply {
	switch f.Mode {
	case Answer:
		return f.answer()
	case Cut:
		return reply{broken: cutConnection}
	case Timeout:
		return reply{broken: noAnswer}
	case Refuse:
		return reply{broken: refused}
	case CutBody:
		r.broken = cutBody
	case EmptyObj:
		return jsonReply(http.StatusOK, []byte("{}"))
	case HTMLPage:
		return htmlReply(http.StatusOK, loginPage)
	case NoFault, Lost:
	}
	return r
}

func (f Fault) answer() reply {
	code := f.Status
	if code == 0 {
		code = http.StatusInternalServerError
	}
	r := htmlReply(code, f.Body)
	if f.Body == "" {
		r = htmlReply(code, proxyPage(code))
	}
	if len(f.Body) > 0 && f.Body[0] == '{' {
		r.header.Set("Content-Type", "application/json")
	}
	if f.RetryAfter != "" {
		r.header.Set("Retry-After", f.RetryAfter)
	}
	return r
}
