package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"prowgate/shared/gate"
)

// The most gates in one answer, and as many as come unless another limit is asked for.
const maxGates = 500

// enoughBytes ends an answer before its limit of gates: Lambda takes 6 MB at most (AWS Lambda, quotas).
const enoughBytes = 4 << 20

// errNoRecords is the answer where there is no store to read.
var errNoRecords = errors.New("the handler keeps its records in its own memory (STORE_URL), where they cannot be read")

// gates is the answer to GET /api/gates.
type gates struct {
	Gates []json.RawMessage `json:"gates"`          // the one that came last first; an abort without a gate has an empty gateId
	Total int               `json:"total"`          // how many there are in all
	Next  string            `json:"next,omitempty"` // the parameter after for what follows; absent at the end
}

// list answers GET /api/gates?limit=&after=&q=&outcome=. A list that is followed by its next repeats no gate
// and leaves none out that was there at its beginning.
func (p *Page) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, err := limitOf(query)
	after, afterErr := parsePlace(query.Get("after"))
	if err := errors.Join(err, afterErr); err != nil {
		p.fail(w, http.StatusBadRequest, err)
		return
	}
	all, err := p.read(r)
	if err != nil {
		p.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	found := filterOf(query).of(all.items)
	answer := gates{Gates: []json.RawMessage{}, Total: len(found)}
	if after != (place{}) {
		from, _ := slices.BinarySearchFunc(found, after, func(it *item, p place) int { return it.place().compare(p) })
		if from < len(found) && found[from].place().compare(after) == 0 {
			from++
		}
		found = found[from:]
	}
	shown, size := 0, 0
	for ; shown < min(limit, len(found)) && size < enoughBytes; shown++ {
		v := found[shown].view()
		answer.Gates, size = append(answer.Gates, v), size+len(v)
	}
	if shown > 0 && shown < len(found) {
		answer.Next = found[shown-1].place().String()
	}
	p.json(w, http.StatusOK, answer)
}

// read returns the list for people and programs alike.
func (p *Page) read(r *http.Request) (list, error) {
	if p.index == nil {
		return list{}, errNoRecords
	}
	return p.index.gates(r.Context())
}

// one answers GET /api/gates/<gate id>, always from the store. Where no gate has that id, it may be that of an
// execution whose abort was asked for without a gate.
func (p *Page) one(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("gateId")
	if p.Records == nil {
		p.fail(w, http.StatusServiceUnavailable, errNoRecords)
		return
	}
	e, ok, err := p.Records.Load(r.Context(), gate.KeyPrefix+id)
	if err == nil && !ok {
		e, ok, err = p.Records.Load(r.Context(), gate.AbortKeyPrefix+id)
	}
	if err != nil {
		p.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	if !ok {
		p.fail(w, http.StatusNotFound, fmt.Errorf("there is no gate %q, and no abort of an execution of that id", id))
		return
	}
	v, err := viewOf(e)
	if err != nil {
		p.fail(w, http.StatusInternalServerError, err)
		return
	}
	p.json(w, http.StatusOK, v)
}

func limitOf(query url.Values) (int, error) {
	text := query.Get("limit")
	if text == "" {
		return maxGates, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("limit %q is not a number above 0", text)
	}
	return min(n, maxGates), nil
}

// String is a place as the parameter after has it. A gate id holds no tilde.
func (p place) String() string { return p.came.UTC().Format(time.RFC3339Nano) + "~" + p.id }

func parsePlace(text string) (place, error) {
	if text == "" {
		return place{}, nil
	}
	came, id, ok := strings.Cut(text, "~")
	at, err := time.Parse(time.RFC3339Nano, came)
	if !ok || err != nil || id == "" {
		return place{}, fmt.Errorf("after %q is not what an answer gave as next", text)
	}
	return place{at, id}, nil
}

func (p *Page) fail(w http.ResponseWriter, status int, err error) {
	p.json(w, status, map[string]string{"error": gate.Neutralise(err.Error())})
}

func (p *Page) json(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	p.write(w, status, "application/json", append(body, '\n'))
}

// write sends an answer. Whatever brought a marker into it, a record or the request's own query, none leaves; the page's
// style and script hold none, so that their hashes stay right.
func (p *Page) write(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address may hold a function's key
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := io.WriteString(w, gate.Neutralise(string(body))); err != nil {
		p.Log.Debug("answer not written", "error", err)
	}
}
