package page

import (
	"net/url"
	"strings"
)

// filter says which gates are wanted: those of one group that hold every word.
type filter struct {
	Text  string
	Group string
	words []string
}

// maxFilter bounds what is looked for.
const maxFilter = 200

func filterOf(query url.Values) filter {
	text := query.Get("q")
	if len(text) > maxFilter {
		text = strings.ToValidUTF8(text[:maxFilter], "")
	}
	return filter{Text: text, Group: query.Get("outcome"), words: strings.Fields(strings.ToLower(text))}
}

// of returns the gates that pass, in the same order.
func (f filter) of(items []*item) []*item {
	if len(f.words) == 0 && f.Group == "" {
		return items
	}
	var found []*item
	for _, it := range items {
		if f.passes(it) {
			found = append(found, it)
		}
	}
	return found
}

func (f filter) passes(it *item) bool {
	return (f.Group == "" || f.Group == it.Group) && f.hasWords(it)
}

func (f filter) hasWords(it *item) bool {
	for _, word := range f.words {
		if !strings.Contains(it.words, word) {
			return false
		}
	}
	return true
}
