package azure

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sources copies what packages are made from, with other times, as another clone of the same commit.
func sources(t *testing.T, into string) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		top := strings.Split(name, string(filepath.Separator))[0]
		if d.IsDir() {
			if slices.Contains([]string{"bin", "dist", "site"}, top) || d.Name() == "node_modules" || strings.HasPrefix(name, ".") && name != "." {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(into, name), 0o750)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(into, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// packaged runs `make package` for the machines in the cloud, and returns the sums of what it made.
func packaged(t *testing.T, tree string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", "-C", tree, "package", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make package: %v\n%s", err, out)
	}
	sums := map[string]string{}
	err := fs.WalkDir(os.DirFS(tree), "dist", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		bytes, err := os.ReadFile(filepath.Join(tree, path))
		sums[path] = fmt.Sprintf("%x", sha256.Sum256(bytes))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestPackageIsReproducible: the same sources make the same bytes, wherever and whenever they are built.
func TestPackageIsReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what builds the real programs")
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed: ", err)
	}
	here, there := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "elsewhere", "with a blank")
	var made [2]map[string]string
	for i, tree := range []string{here, there} {
		sources(t, tree)
		made[i] = packaged(t, tree)
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" {
		t.Errorf("two builds of the same sources (-one +other):\n%s", diff)
	}
	for _, file := range []string{"dist/azure/host.json", "dist/azure/handler", "dist/azure/submit/function.json", "dist/lambda/bootstrap"} {
		if made[0][file] == "" {
			t.Errorf("there is no %s", file)
		}
	}
}

// pushed runs `deploy.sh push` with a package whose files are of that time, and returns the archive that it uploads.
func pushed(t *testing.T, when string) []byte {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"deploy.sh", "parameters/int.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "infra", "azure", name), string(text))
	}
	built := filepath.Join(dir, "dist", "azure")
	write(t, filepath.Join(bin, "make"), "#!/bin/sh\nmkdir -p '"+built+"/submit'\ncd '"+built+"'\necho program >handler\nchmod 755 handler\n"+
		"echo '{}' >submit/function.json\necho '{}' >host.json\ntouch -d "+when+" handler host.json submit submit/function.json\n")
	archive := filepath.Join(dir, "uploaded.zip")
	write(t, filepath.Join(bin, "az"), "#!/bin/sh\ncase \"$*\" in\n*config-zip*) while [ $# -gt 1 ]; do shift; done; cp \"$1\" '"+archive+"' ;;\n*) echo app ;;\nesac\n")
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, "infra", "azure", "deploy.sh"), "push", "int", "rg")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("push: %v\n%s", err, out)
	}
	bytes, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestArchiveIsReproducible: what is uploaded depends on the package's files alone, and the handler can be executed.
func TestArchiveIsReproducible(t *testing.T) {
	for _, tool := range []string{"bash", "zip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool, " is not installed: ", err)
		}
	}
	one, other := pushed(t, "2020-01-01T00:00:00Z"), pushed(t, "2024-02-29T12:00:00Z")
	if !bytes.Equal(one, other) {
		t.Error("the archive depends on the files' times")
	}
	archive, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]fs.FileMode{}
	for _, f := range archive.File {
		modes[f.Name] = f.Mode() & 0o100
	}
	if diff := cmp.Diff(map[string]fs.FileMode{"handler": 0o100, "host.json": 0, "submit/function.json": 0}, modes); diff != "" {
		t.Errorf("files and whether they can be executed (-want +got):\n%s", diff)
	}
}
