// Package proc reads what Linux tells of a process: how much processor time it has used and how much
// memory it holds (proc(5)). Elsewhere every call fails.
//
// Entry points: Read and Child.
package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc: USER_HZ is 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// Use is what a process uses.
type Use struct {
	CPU      time.Duration // of all its threads since its start, in hundredths of a second
	Resident int64         // bytes of memory that it holds now
	Peak     int64         // the most that it has held
}

// Read returns what a process uses.
func Read(pid int) (Use, error) {
	fields, err := stat(pid)
	if err != nil {
		return Use{}, err
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return Use{}, fmt.Errorf("process %d: times %q and %q", pid, fields[11], fields[12])
	}
	u := Use{CPU: time.Duration(user+system) * tick}
	u.Resident, u.Peak, err = memory(pid)
	return u, err
}

// stat returns the fields of /proc/<pid>/stat from the third on; the second, the program's name in
// parentheses, may hold anything.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return nil, fmt.Errorf("process %d: its stat has only %d fields", pid, len(fields))
	}
	return fields, nil
}

// memory reads the lines VmRSS and VmHWM of /proc/<pid>/status, both in kB.
func memory(pid int) (resident, peak int64, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, 0, fmt.Errorf("process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		var kB int64
		switch name {
		case "VmRSS", "VmHWM":
			kB, err = strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		}
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("process %d: %w", pid, err)
		case name == "VmRSS":
			resident = kB << 10
		case name == "VmHWM":
			peak = kB << 10
		}
	}
	return resident, peak, nil
}

// Child returns the one child of a process.
func Child(pid int) (int, error) {
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, fmt.Errorf("processes: %w", err)
	}
	for _, dir := range found {
		child, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		fields, err := stat(child)
		if err == nil && fields[1] == strconv.Itoa(pid) {
			return child, nil
		}
	}
	return 0, fmt.Errorf("process %d has no child", pid)
}
