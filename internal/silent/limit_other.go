//go:build !linux

package silent

import (
	"syscall"
	"time"
)

// limit does nothing: only Linux has such a limit.
func limit(string, syscall.RawConn, time.Duration) error { return nil }
