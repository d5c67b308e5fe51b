// Package page shows what the local host knows to people and to programs: the gates, read from the
// record store that the handler writes, and how many messages each queue holds.
//
// It serves GET / (HTML without any outside resource), GET /api/gates and GET /api/gates/<gateId>.
//
// Entry point: Page.Register.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"prowgate/shared/gate"
	"prowgate/shared/queue/depth"
	"prowgate/shared/store"
)

const (
	shownGates = 200 // on the page
	maxGates   = 500 // in one answer of the interface
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// Queue is one line of the page's table of queues.
type Queue struct {
	Name string
	depth.Counts
}

// Records is the part of the record store that is read. It may be nil where the handler keeps its
// records in its own memory.
type Records interface {
	Load(ctx context.Context, key string) (store.Entry, bool, error)
	List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error)
}

// Page is what is shown. All fields but Records are required.
type Page struct {
	Records Records
	Queues  func(ctx context.Context) []Queue
	Clock   func() time.Time
	Log     *slog.Logger
}

// Register adds the page's routes to mux.
func (p Page) Register(mux *http.ServeMux) {
	t := template.Must(template.New("page").Funcs(template.FuncMap{"clock": clockTime, "age": age}).Parse(pageHTML))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { p.html(w, r, t) })
	mux.HandleFunc("GET /api/gates", p.list)
	mux.HandleFunc("GET /api/gates/{gateId}", p.one)
}

// errNoRecords is the answer where there is no store to read.
var errNoRecords = errors.New("the handler keeps its records in its own memory (STORE_URL), where they cannot be read")

func (p Page) list(w http.ResponseWriter, r *http.Request) {
	limit := maxGates
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			p.fail(w, http.StatusBadRequest, fmt.Errorf("limit %q is not a number above 0", text))
			return
		}
		limit = min(n, maxGates)
	}
	gates, err := p.newest(r.Context(), limit)
	if err != nil {
		p.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	p.json(w, http.StatusOK, map[string][]gate.View{"gates": gates})
}

func (p Page) one(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("gateId")
	if p.Records == nil {
		p.fail(w, http.StatusServiceUnavailable, errNoRecords)
		return
	}
	e, ok, err := p.Records.Load(r.Context(), gate.KeyPrefix+id)
	if err != nil {
		p.fail(w, http.StatusServiceUnavailable, err)
		return
	}
	if !ok {
		p.fail(w, http.StatusNotFound, fmt.Errorf("there is no gate %q", id))
		return
	}
	v, err := view(e)
	if err != nil {
		p.fail(w, http.StatusInternalServerError, err)
		return
	}
	p.json(w, http.StatusOK, v)
}

// html renders the page in memory first, so that a fault in it is a status and not half a page.
func (p Page) html(w http.ResponseWriter, r *http.Request, t *template.Template) {
	data := struct {
		Now    time.Time
		Queues []Queue
		Gates  []gate.View
		Most   int
		Error  string
		CSS    template.CSS
		JS     template.JS
	}{Now: p.Clock(), Queues: p.Queues(r.Context()), Most: shownGates, CSS: template.CSS(pageCSS), JS: template.JS(pageJS)} //nolint:gosec // our own files
	var err error
	if data.Gates, err = p.newest(r.Context(), shownGates); err != nil {
		data.Error = gate.Neutralise(err.Error())
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		p.fail(w, http.StatusInternalServerError, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src "+
		sourceHash(pageCSS)+"; script-src "+sourceHash(pageJS))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	p.write(w, b.Bytes())
}

// sourceHash names an inline style or script in a content security policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func (p Page) fail(w http.ResponseWriter, status int, err error) {
	p.json(w, status, map[string]string{"error": gate.Neutralise(err.Error())})
}

func (p Page) json(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	p.write(w, append(body, '\n'))
}

func (p Page) write(w http.ResponseWriter, body []byte) {
	if _, err := w.Write(body); err != nil {
		p.Log.Debug("answer not written", "error", err)
	}
}
