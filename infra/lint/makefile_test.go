package lint

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// targets returns the names that a Makefile makes, without those that are files of its own.
func targets(makefile string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^([a-zA-Z0-9_-]+):(?:[^=]|$)`).FindAllStringSubmatch(makefile, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestHelpListsEveryTarget(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed: ", err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "-s", "--no-print-directory", "help")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("make help: %v\n%s", err, out)
	}
	var listed []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "make" {
			t.Errorf("line of make help is not `make <target> <what it does>`: %q", line)
			continue
		}
		listed = append(listed, words[1])
	}
	slices.Sort(listed)
	if d := cmp.Diff(targets(files(t, "Makefile")[0].text), listed); d != "" {
		t.Errorf("targets of the Makefile and of make help (-made +listed):\n%s", d)
	}
}

// Others build on these.
func TestPromisedTargets(t *testing.T) {
	made := targets(files(t, "Makefile")[0].text)
	for _, name := range []string{"bench", "build", "clean", "demo", "fmt", "generate", "help", "lint", "package", "sim", "test"} {
		if !slices.Contains(made, name) {
			t.Errorf("the Makefile makes no %s", name)
		}
	}
}

func TestTargetRule(t *testing.T) {
	got := targets("X := 1\nY ?= 2\na: b ## says\n\tc: no\nd:\n.PHONY: a\na: more\n$(T)/e:\n")
	if d := cmp.Diff([]string{"a", "d"}, got); d != "" {
		t.Error(d)
	}
}
