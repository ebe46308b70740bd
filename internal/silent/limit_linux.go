package silent

import (
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// limit has the kernel end a connection if what was sent is not acknowledged in time.
func limit(network string, c syscall.RawConn, patience time.Duration) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	set := func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(patience.Milliseconds()))
	}
	if failed := c.Control(set); failed != nil {
		return failed
	}
	return err
}
