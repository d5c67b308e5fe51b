//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// lockFile makes this process the only host on a data file until it ends, by whatever end: two brokers
// on one file would each deliver every message. The lock goes with the process, the file stays.
func lockFile(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("data: another host is using %s: %w", path, err)
	}
	return f.Close, nil
}
