package lint

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// patterns are lines of .gitignore: names, with a slash before those that mean the top only.
type patterns []string

func gitignore(t *testing.T) patterns {
	t.Helper()
	text, err := os.ReadFile(root + "/.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// matches reports whether git ignores a file or folder of this name, at the top or below it.
func (p patterns) matches(name string, top bool) bool {
	return slices.ContainsFunc(p, func(line string) bool {
		line = strings.TrimSuffix(line, "/")
		if top {
			line = strings.TrimPrefix(line, "/")
		}
		ok, err := path.Match(line, name)
		return ok && err == nil
	})
}

// topLevel returns what is at the top of the repository. Where git knows, what it keeps: whatever somebody has left
// beside that is not the repository's. Where there is no git, everything that it would not ignore.
func topLevel(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil && len(out) > 0 {
		return tops(out)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if !gitignore(t).matches(e.Name(), true) {
			found = append(found, e.Name())
		}
	}
	return found
}

// tops returns the first elements of paths as git lists them.
func tops(listed []byte) []string {
	var found []string
	for file := range bytes.SplitSeq(bytes.TrimSuffix(listed, []byte{0}), []byte{0}) {
		first, _, _ := bytes.Cut(file, []byte("/"))
		found = append(found, string(first))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// strangers returns those of the names that have no business at the top. A dot in front makes a tool's own file.
func strangers(names []string) []string {
	allowed := []string{"functions", "gangway", "shared", "infra", "local", "go.mod", "go.sum", "Makefile", "host.json", "README.md", "LICENSE"}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.HasPrefix(name, ".") || slices.Contains(allowed, name)
	})
}

func TestTopLevel(t *testing.T) {
	for _, name := range strangers(topLevel(t)) {
		t.Errorf("%s does not belong at the top", name)
	}
}

// TestWhatIsLeftBehindIsIgnored: a build, the demo and a session with bin/local --data prowgate.db make no test fail.
func TestWhatIsLeftBehindIsIgnored(t *testing.T) {
	p := gitignore(t)
	for name, below := range map[string]bool{
		"prowgate.db": true, "prowgate.db-wal": true, "prowgate.db-shm": true, "prowgate.db.lock": true, "node_modules": true,
		"bin": false, "dist": false, ".cache": false,
	} {
		if !p.matches(name, true) || p.matches(name, false) != below {
			t.Errorf("%s: ignored at the top %t, below it %t", name, p.matches(name, true), p.matches(name, false))
		}
	}
	for _, name := range []string{"functions", "README.md", "prowgate", "db", "lock"} {
		if p.matches(name, true) {
			t.Errorf("%s is ignored", name)
		}
	}
}

func TestTopLevelRule(t *testing.T) {
	got := strangers(tops([]byte("shared/a/b.go\x00.golangci.yml\x00notes.txt\x00shared/c.go\x00bin/local\x00")))
	if d := cmp.Diff([]string{"bin", "notes.txt"}, got); d != "" {
		t.Error(d)
	}
}
