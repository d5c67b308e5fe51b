package proc_test

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"prowgate/infra/bench/proc"
)

func linuxOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
}

func TestThisProcess(t *testing.T) {
	linuxOnly(t)
	debug.FreeOSMemory() // what earlier runs have left would be taken again, and nothing would grow
	before, err := proc.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	held := make([]byte, 32<<20)
	for i := 0; i < len(held); i += 1 << 10 {
		held[i] = 1
	}
	after, err := proc.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after.Resident < before.Resident+16<<20 || after.Peak < after.Resident {
		t.Errorf("32 MiB more make %+v of %+v", after, before)
	}
	for after.CPU < before.CPU+30*time.Millisecond { // it ends, or the test times out
		clear(held)
		if after, err = proc.Read(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.KeepAlive(held)
}

func TestChild(t *testing.T) {
	linuxOnly(t)
	shell := exec.CommandContext(t.Context(), "sh", "-c", "sleep 60 & echo; read line; kill $!")
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Skip("no shell: ", err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	child, err := proc.Child(shell.Process.Pid)
	if err != nil || child == shell.Process.Pid {
		t.Errorf("child %d, %v", child, err)
	}
	_ = in.Close()
	_ = shell.Wait()
	if _, err := proc.Child(shell.Process.Pid); err == nil {
		t.Error("a process that has ended has a child")
	}
	if _, err := proc.Read(shell.Process.Pid); err == nil {
		t.Error("a process that has ended was read")
	}
}
