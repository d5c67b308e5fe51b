package lambdatest_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The one program is built (which takes a minute or two where nothing is cached) for both processors that the template offers, and needs nothing of the machine it runs on.
func TestBootstrapForBothProcessors(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what builds the real program")
	}
	for arch, machine := range map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64} {
		exe := filepath.Join(t.TempDir(), "bootstrap")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc,grpcnotrace", "-ldflags", "-s -w -buildid=", "-o", exe, "prowgate/functions/lambda")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build for %s: %v\n%s", arch, err, out)
		}
		f, err := elf.Open(exe)
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := f.ImportedLibraries()
		if f.Machine != machine || f.Section(".interp") != nil || len(libraries) > 0 || err != nil {
			t.Errorf("%s: for %v, with %q, %v", arch, f.Machine, libraries, err)
		}
		info, err := os.Stat(exe)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f MiB", arch, float64(info.Size())/(1<<20))
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
