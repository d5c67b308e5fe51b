package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"
)

// html answers with the page, or with the part of it that changes. It is rendered in memory first, so
// that a fault in it is a status and not half a page.
func (p *Page) html(w http.ResponseWriter, r *http.Request) {
	name := "page"
	if r.URL.Query().Get("part") == "live" {
		name = "live"
	}
	var b bytes.Buffer
	if err := p.template.ExecuteTemplate(&b, name, p.board(r)); err != nil {
		p.fail(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Security-Policy", p.policy)
	p.write(w, http.StatusOK, "text/html; charset=utf-8", b.Bytes())
}

func parsed() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"css":   func() template.CSS { return template.CSS(pageCSS) }, //nolint:gosec // our own file
		"js":    func() template.JS { return template.JS(pageJS) },    //nolint:gosec // our own file
		"pair":  func(one any, all board) both { return both{one, all} },
		"clock": clockTime,
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"span":  span,
		"label": label,
		"size":  size,
	}).Parse(pageHTML))
}

// contentPolicy allows the page's own style and script, and requests to where it came from.
func contentPolicy() string {
	return "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"style-src " + sourceHash(pageCSS) + "; script-src " + sourceHash(pageJS)
}

// sourceHash names an inline style or script in a content security policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// clockTime is a time for people, in UTC as everywhere in the timelines.
func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// span says how long it is from one time to another, as exactly as people want to know it.
func span(from, to time.Time) string {
	d := max(to.Sub(from), 0)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", s)
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", m, s)
	case h < 48:
		return fmt.Sprintf("%d h %02d min", h, m)
	}
	return fmt.Sprintf("%d days", h/24)
}

// label is the name of a group for people.
func label(group string) string {
	if group == "" {
		return "all"
	}
	return strings.ReplaceAll(group, "-", " ")
}

func size(bytes int) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}

func compareParams(a, b param) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
}
