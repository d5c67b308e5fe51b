package examples

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"prowgate/infra/ev2/gate/cli"
)

const readme = "../README.md"

// help returns what the command says of itself, with the flags that it hides.
func help(t *testing.T, command string) string {
	t.Helper()
	var out strings.Builder
	world := cli.World{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, HTTP: http.DefaultTransport, Clock: time.Now,
		Open:    func(context.Context, string) (cli.Queue, error) { return nil, os.ErrInvalid },
		NewID:   func() string { return "1" },
		Signals: func() <-chan os.Signal { return nil },
		Log:     func(io.Writer) func() { return func() {} },
	}
	if code := cli.Run(t.Context(), []string{command, "--help"}, cli.Settings{}, world); code != 0 {
		t.Fatalf("gate %s --help: exit code %d, %s", command, code, &out)
	}
	return out.String()
}

var flags = regexp.MustCompile(`--[a-z][a-z0-9-]+`)

func TestReadmeNamesTheFlagsThatThereAre(t *testing.T) {
	text := read(t, readme)
	known := []string{"--prow-token-keyvault-uri", "--prow-token-keyvault-secret", "--gangway-url", "--prow-url", "--help"}
	for _, command := range []string{"run", "cancel", "abort", "status", "validate"} {
		known = append(known, flags.FindAllString(help(t, command), -1)...)
	}
	said := flags.FindAllString(text, -1)
	for _, flag := range said {
		if !slices.Contains(known, flag) {
			t.Errorf("the README names %s", flag)
		}
	}
	for _, flag := range flags.FindAllString(help(t, "run"), -1) {
		if !slices.Contains(said, flag) && flag != "--help" {
			t.Errorf("the README says nothing of %s", flag)
		}
	}
}

func TestReadmeLinksToFiles(t *testing.T) {
	links := regexp.MustCompile(`\]\(([a-z][^):]*)\)`).FindAllStringSubmatch(read(t, readme), -1)
	if len(links) < 5 {
		t.Errorf("%d links", len(links))
	}
	for _, l := range links {
		if _, err := os.Stat(filepath.Join("..", l[1])); err != nil {
			t.Error(err)
		}
	}
}

func TestReadmeRetriesAsTheExampleDoes(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(automatedRetry:.*?)```").FindStringSubmatch(read(t, readme))
	if len(block) != 2 {
		t.Fatal("the README has no automatedRetry block")
	}
	var step shellStep
	if err := yaml.Unmarshal([]byte(block[1]), &step); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(gatingStep(t).AutomatedRetry, step.AutomatedRetry); d != "" {
		t.Errorf("(-example +README):\n%s", d)
	}
}
