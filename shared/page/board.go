package page

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"prowgate/shared/gate"
)

const (
	perPage = 50 // gates
	maxOpen = 50 // gates and letters that are shown in full at once
)

// board is what the template shows.
type board struct {
	Where, Path string
	Every       int64 // milliseconds
	Now, AsOf   time.Time
	Filter      filter
	Kept        []param // parameters that are not the page's own
	Groups      []group
	Running     []row
	Ended       []row
	Known       int // gates that the store holds
	Unowned     int // aborts of jobs that no gate owns
	From, To    int // of the gates that are shown, counted from 1
	Found       int
	Newer       string // address of the part before this one, if there is one
	Older       string
	Queues      []Queue
	Letters     []letter
	Error       string
}

// row is one gate.
type row struct {
	*item
	Key      string
	Open     bool
	Opens    string // the address that opens it where the script does not
	Timeline []gate.Moment
}

// letter is one dead letter.
type letter struct {
	Letter
	Open  bool
	Opens string
}

// group is a link to the gates of one group.
type group struct {
	Name    string
	Count   int
	Current bool
	Address string
}

type param struct{ Name, Value string }

// both hands a part of the board and the whole of it to a template.
type both struct {
	One any
	All board
}

// InFlight reports whether there is no verdict yet.
func (it *item) InFlight() bool { return it.Group == groupInFlight }

// board gathers what a request asks for.
func (p *Page) board(r *http.Request) board {
	query := r.URL.Query()
	b := board{
		Where: p.Where, Path: p.Path, Every: p.Every.Milliseconds(), Now: p.Clock(), Filter: filterOf(query), Kept: foreign(query),
	}
	all, err := p.read(r)
	if err != nil {
		b.Error = gate.Neutralise(err.Error())
	}
	b.AsOf = all.asOf
	b.count(all)
	opened := openedBy(query)
	b.group(all, query)
	b.rows(all, query, opened)
	if p.Queues != nil {
		b.queues(p.Queues(r.Context(), func(l Letter) bool { return opened[l.Key()] }), query, opened)
	}
	return b
}

// count tells how many of each there are.
func (b *board) count(all list) {
	for _, it := range all.items {
		if it.ID == "" {
			b.Unowned++
		}
	}
	b.Known = len(all.items) - b.Unowned
}

// group counts the gates that hold the filter's words.
func (b *board) group(all list, query url.Values) {
	counts, total := map[string]int{}, 0
	for _, it := range all.items {
		if b.Filter.hasWords(it) {
			counts[it.Group]++
			total++
		}
	}
	counts[""] = total
	for _, name := range groupOrder() {
		if counts[name] > 0 || name == b.Filter.Group || name == "" {
			b.Groups = append(b.Groups, group{name, counts[name], name == b.Filter.Group, address(query, "outcome", name)})
		}
	}
}

// groupOrder has all groups in the order in which people look at them.
func groupOrder() []string {
	return []string{
		"", groupInFlight, string(gate.Succeeded), string(gate.Failed), string(gate.Errored), string(gate.Aborted),
		string(gate.TimedOut), string(gate.Cancelled), groupCancelledEarly, string(gate.Rejected), string(gate.SubmissionFailed),
		string(gate.DryRun),
	}
}

// rows takes the part of the gates that is asked for, those in flight before those that have ended.
func (b *board) rows(all list, query url.Values, opened map[string]bool) {
	found := b.Filter.of(all.items)
	running := slices.DeleteFunc(slices.Clone(found), func(it *item) bool { return !it.InFlight() })
	ended := slices.DeleteFunc(slices.Clone(found), (*item).InFlight)
	found = append(running, ended...)
	part, _ := strconv.Atoi(query.Get("page")) // anything else is the first
	part = min(max(part, 1), max((len(found)+perPage-1)/perPage, 1))
	b.Found, b.From, b.To = len(found), (part-1)*perPage+1, min(part*perPage, len(found))
	for _, it := range found[min(b.From-1, len(found)):b.To] {
		rows := &b.Ended
		if it.InFlight() {
			rows = &b.Running
		}
		*rows = append(*rows, newRow(it, query, opened))
	}
	if part > 1 {
		b.Newer = address(query, "page", strconv.Itoa(part-1))
	}
	if b.To < b.Found {
		b.Older = address(query, "page", strconv.Itoa(part+1))
	}
}

func newRow(it *item, query url.Values, opened map[string]bool) row {
	key := it.key()
	r := row{item: it, Key: key, Open: opened[key], Opens: address(query, "open", key)}
	if r.Open {
		var v gate.View
		if err := json.Unmarshal(it.view(), &v); err == nil { // it was made by viewOf
			r.Timeline = v.Timeline
		}
	}
	return r
}

func (b *board) queues(queues []Queue, query url.Values, opened map[string]bool) {
	b.Queues = queues
	for _, q := range queues {
		for _, l := range q.Letters {
			b.Letters = append(b.Letters, letter{l, opened[l.Key()], address(query, "open", l.Key())})
		}
	}
}

// openedBy returns what is to be shown in full.
func openedBy(query url.Values) map[string]bool {
	opened := map[string]bool{}
	for _, key := range query["open"] {
		if len(opened) < maxOpen {
			opened[key] = true
		}
	}
	return opened
}

// own are the page's parameters. Others, such as a function's key, are kept in every address.
func own() []string { return []string{"q", "outcome", "page", "open", "part"} }

func foreign(query url.Values) []param {
	var kept []param
	for name, values := range query {
		for _, v := range values {
			if !slices.Contains(own(), name) {
				kept = append(kept, param{name, v})
			}
		}
	}
	slices.SortFunc(kept, compareParams)
	return kept
}

// address is that of the page with one parameter set; a new group begins with its first part.
func address(query url.Values, name, value string) string {
	q := url.Values{}
	for _, p := range foreign(query) {
		q.Add(p.Name, p.Value)
	}
	for _, keep := range []string{"q", "outcome", "page"} {
		if v := query.Get(keep); v != "" && (keep != "page" || name != "outcome") {
			q.Set(keep, v)
		}
	}
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return "?" + q.Encode()
}
