// Package page is the function that people and `gate status` read the gates from: the page at /api/page
// and the same as JSON at /api/gates. It changes nothing.
//
// function.json asks for a key (authLevel function), so that the page is closed unless somebody opens
// it. It takes GET alone, below the host's prefix for HTTP functions, /api.
//
// Entry point: Handler.
package page

import (
	"log/slog"
	"net/http"
	"time"

	"prowgate/shared/page"
)

const (
	// Name is the function's, that of this folder.
	Name = "page"
	// Path is where the page is.
	Path = "/api/page"
	// every is how often an open page looks again: each look is an invocation that is paid for.
	every = 15 * time.Second
)

// Handler answers GET /api/page and GET /api/gates from the records. where says for people what runs here.
func Handler(records page.Records, where string, clock func() time.Time, log *slog.Logger) http.Handler {
	return page.New(page.Config{Records: records, Clock: clock, Log: log, Where: where, Path: Path, Every: every}).Handler()
}
