// Package page shows gates to people and to programs: a page that keeps itself up to date, and the same
// as JSON. It only reads; where the queues can be reached too it shows what it is told of them.
//
//	GET <Path>                 the page; with part=live what changes on it
//	GET /api/gates             the newest gates, a part at a time
//	GET /api/gates/<gate id>   one gate with its timeline, or the abort of an execution that no gate owns
//
// The page needs nothing but this: its style and its script are part of it and named by their hashes in
// its policy. It works without the script as well, only not by itself.
//
// Entry point: New.
package page

import (
	"context"
	_ "embed"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"prowgate/shared/store"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// Records is the part of the record store that is read.
type Records interface {
	Load(ctx context.Context, key string) (store.Entry, bool, error)
	List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error)
}

// Config is what is shown. All fields but Records and Queues are required.
type Config struct {
	Records Records // nil where the handler keeps its records in its own memory
	// Queues tells of the queues; nil where they cannot be seen. It reads the bodies of those dead letters
	// alone that opened names.
	Queues func(ctx context.Context, opened func(Letter) bool) []Queue
	Clock  func() time.Time
	Log    *slog.Logger
	Where  string        // what runs here, for the heading
	Path   string        // of the page
	Every  time.Duration // between two looks of a page that is open
}

// Page is what is served. It may be used by many goroutines at once.
type Page struct {
	Config
	index    *index
	template *template.Template
	policy   string
}

// New returns the page. It reads nothing before it is asked.
func New(c Config) *Page {
	p := &Page{Config: c, template: parsed(), policy: contentPolicy()}
	if c.Records != nil {
		p.index = newIndex(c.Records, c.Clock, c.Log)
	}
	return p
}

// Register adds the page's routes to mux.
func (p *Page) Register(mux *http.ServeMux) {
	path := p.Path
	if path == "/" {
		path = "/{$}"
	}
	mux.HandleFunc("GET "+path, p.html)
	mux.HandleFunc("GET /api/gates", p.list)
	mux.HandleFunc("GET /api/gates/{gateId}", p.one)
}

// Handler serves the page's routes and nothing else.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	p.Register(mux)
	return mux
}
