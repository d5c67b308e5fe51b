package funchost

import "syscall"

// dieWithParent makes the kernel kill the handler when the host is gone, however it went, and keeps
// the terminal's Ctrl-C away from it: the host ends it when the running invocations have ended.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
