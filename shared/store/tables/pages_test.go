package tables

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"prowgate/shared/store"
)

// paged plays a service that ends its pages early: the first and the last are empty, and one has two entities.
type paged struct{ asked []string }

func (p *paged) Do(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	from := req.URL.Query().Get("NextRowKey")
	p.asked = append(p.asked, from)
	next, keys := map[string]string{"": "1", "1": "2", "2": "3"}[from], map[string][]string{"1": {"a"}, "2": {"b", "c"}}[from]
	if next != "" {
		w.Header().Set("x-ms-continuation-NextPartitionKey", partition)
		w.Header().Set("x-ms-continuation-NextRowKey", next)
	}
	var rows []string
	for _, key := range keys {
		rows = append(rows, fmt.Sprintf(`{"odata.etag":"W/\"1\"","PartitionKey":%q,"RowKey":%q,"Body0@odata.type":"Edm.Binary","Body0":"e30="}`, partition, rowKey(key)))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"value":[`+strings.Join(rows, ",")+`]}`)
	res := w.Result()
	res.Request = req
	return res, nil
}

// An empty page is not the end, and a full hand ends the asking.
func TestPagesThatEndEarly(t *testing.T) {
	for limit, want := range map[int]string{100: " 1 2 3", 3: " 1 2", 2: " 1 2", 1: " 1"} {
		p := &paged{}
		s := (&account{address: "127.0.0.1:1"}).openMissing(t, "records", p)
		got, err := s.List(t.Context(), "", "", limit)
		if err != nil || len(got) != min(limit, 3) || keysOf(got) != "abc"[:len(got)] {
			t.Errorf("limit %d: %+v, %v", limit, got, err)
		}
		if asked := strings.Join(p.asked, " "); asked != want {
			t.Errorf("limit %d: asked for %q, want %q", limit, asked, want)
		}
		// The agenda is asked the same way; nothing in these pages is a row of it.
		p.asked = nil
		if due, err := s.Due(t.Context(), always(), limit); err != nil || len(due) != 0 || strings.Join(p.asked, " ") != " 1 2 3" {
			t.Errorf("due: %+v, %v, asked for %q", due, err, p.asked)
		}
	}
}

func keysOf(entries []store.Entry) (all string) {
	for _, e := range entries {
		all += e.Key
	}
	return all
}
