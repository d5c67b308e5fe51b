//go:build !linux

package funchost

import "syscall"

// dieWithParent does nothing where the kernel offers nothing: a host that is killed leaves its
// handler behind, which then fails to reach the queue and does no work.
func dieWithParent() *syscall.SysProcAttr { return nil }
