package sqlitefile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Holder is another process that keeps a database from being written.
type Holder struct {
	PID  int
	Name string // of its program; empty if unknown
}

func (h Holder) String() string {
	if h.Name == "" {
		return fmt.Sprintf("process %d", h.PID)
	}
	return fmt.Sprintf("process %d (%s)", h.PID, h.Name)
}

// FindHolder returns the other process that holds the write lock of the database at path at this moment; nil if there is none, or if
// nobody can know: the locks of other processes are listed by Linux only. It opens neither the database nor its index, because
// to close them would let go of this process's own locks.
func FindHolder(path string) *Holder {
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return nil
	}
	defer locks.Close()
	index := map[uint64]bool{}
	for _, suffix := range []string{"", "-shm"} {
		if info, err := os.Stat(path + suffix); err == nil {
			index[info.Sys().(*syscall.Stat_t).Ino] = true
		}
	}
	pid := writer(locks, index, os.Getpid())
	if pid == 0 {
		return nil
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return &Holder{PID: pid, Name: strings.TrimSpace(string(name))}
}

// Bytes that SQLite locks to write: of the index of a write-ahead log, and of the database itself. Source: WAL_WRITE_LOCK and
// PENDING_BYTE in SQLite's wal.c and os.h.
const (
	walWriteByte  = 120
	reservedByte  = 0x40000001
	exclusiveByte = 0x40000002
)

// writer returns the process other than own that holds one of these files' bytes to write, in a list of locks as Linux prints it;
// 0 if there is none.
func writer(locks io.Reader, files map[uint64]bool, own int) int {
	lines := bufio.NewScanner(locks)
	for lines.Scan() {
		var pid int
		var major, minor, file, first uint64
		_, lock, _ := strings.Cut(lines.Text(), ": ")
		if n, _ := fmt.Sscanf(lock, "POSIX ADVISORY WRITE %d %x:%x:%d %d", &pid, &major, &minor, &file, &first); n < 5 {
			continue // of another kind, or somebody who waits for one
		}
		if files[file] && pid > 0 && pid != own && (first == walWriteByte || first == reservedByte || first == exclusiveByte) {
			return pid
		}
	}
	return 0
}
