package lint

import (
	"strings"
	"testing"
)

// unmentionable are texts that mean something on one machine only, or that tie the build to one registry:
// paths outside the repository, notes that are not part of it, and hosts that settings choose.
func unmentionable() []string {
	return []string{
		".." + "/shared/", "/wo" + "rk/",
		"contract" + ".md", "design" + ".md", "facts" + ".md", "style" + ".md",
		"registry." + "npmjs.org", "proxy." + "golang.org", "sum." + "golang.org", "deb." + "debian.org",
	}
}

// mentions returns those of the unmentionable texts that the file contains.
func mentions(s source) []string {
	var found []string
	for _, text := range unmentionable() {
		if strings.Contains(s.text, text) {
			found = append(found, text)
		}
	}
	return found
}

func TestFilesSpeakOfTheRepositoryOnly(t *testing.T) {
	for _, s := range files(t, "") {
		for _, text := range mentions(s) {
			t.Errorf("%s mentions %s", s.path, text)
		}
	}
}

func TestMentionRule(t *testing.T) {
	for _, text := range unmentionable() {
		if len(mentions(source{"a", "see " + text})) != 1 {
			t.Errorf("%q is not found", text)
		}
	}
}
