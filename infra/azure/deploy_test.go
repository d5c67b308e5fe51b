package azure

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script runs deploy.sh from a copy of this folder whose example has been filled in, with an `az` that writes
// down what it is asked. Commands that a test must not find are left out of the PATH.
func script(t *testing.T, withAz bool, principal string, args ...string) (output, asked string, code int) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: ", err)
	}
	dir, bin := filepath.Join(t.TempDir(), "infra", "azure"), t.TempDir()
	for _, name := range []string{"deploy.sh", "main.json", "parameters/int.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "parameters/") {
			text = []byte(strings.ReplaceAll(string(text), pipelinePrincipal, principal))
		}
		write(t, filepath.Join(dir, name), string(text))
	}
	for _, tool := range []string{"dirname", "cat", "grep"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(tool, " is not installed: ", err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	notes := filepath.Join(bin, "notes")
	if withAz {
		write(t, filepath.Join(bin, "az"), "#!"+bash+"\necho \"$@\" >>'"+notes+"'\n")
	}
	cmd := exec.CommandContext(t.Context(), bash, append([]string{filepath.Join(dir, "deploy.sh")}, args...)...)
	cmd.Env = []string{"PATH=" + bin}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	said, _ := os.ReadFile(notes) // not there when az was not asked
	return string(out), strings.ReplaceAll(string(said), dir, "."), cmd.ProcessState.ExitCode()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestDeploy(t *testing.T) {
	const mine = "5b0f5a0e-0000-4000-8000-000000000002"
	const what = " --resource-group rg --name prowgate-int --template-file ./main.json --parameters @./parameters/int.json"
	for _, c := range []struct {
		name, principal string
		withAz          bool
		args            string
		code            int
		says, asks      string
	}{
		{"what-if", mine, true, "what-if int rg", 0, "", "deployment group what-if" + what},
		{"deploy", mine, true, "deploy int rg", 0, "", "deployment group create" + what + " --query properties.outputs"},
		{"no az", mine, false, "what-if int rg", 1, "az is not installed", ""},
		{"the example as it is", pipelinePrincipal, true, "deploy int rg", 1, "set pipelinePrincipalId", ""},
		{"no such environment", mine, true, "deploy moon rg", 1, "there is no", ""},
		{"nothing pushed without zip", mine, true, "push int rg", 1, "zip is not installed", ""},
		{"too little", mine, true, "deploy int", 2, "usage: deploy.sh", ""},
		{"no such action", mine, true, "delete int rg", 2, "usage: deploy.sh", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, asked, code := script(t, c.withAz, c.principal, strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(out, c.says) || strings.TrimSpace(asked) != c.asks {
				t.Errorf("exit %d, asked az for %q, said:\n%s", code, asked, out)
			}
		})
	}
}

func TestShellcheck(t *testing.T) {
	check, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed: ", err)
	}
	if out, err := exec.CommandContext(t.Context(), check, "deploy.sh").CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
