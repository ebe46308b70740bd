package embedded

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a process that has a server on a database.
type Process struct {
	PID     int    // 0 if unknown
	Address string // where clients reach the server; empty until it answers
	Queue   string // task queue of its worker, which executes the runs of other processes as well; empty if it has none
}

// InUseError says that another server uses the database.
type InUseError struct {
	Path string // of the database
	Process
}

// Error names the process.
func (e *InUseError) Error() string {
	if e.PID == os.Getpid() {
		return fmt.Sprintf("this process uses %s already", e.Path)
	}
	return fmt.Sprintf("another waymark process (pid %d) uses %s", e.PID, e.Path)
}

// Holder reports whether a process has a server on the database, and which. It writes nothing, and a database that is not
// there is held by nobody.
func Holder(databasePath string) (holder Process, held bool, err error) {
	file, err := os.Open(databasePath + ".lock")
	if errors.Is(err, fs.ErrNotExist) {
		return Process{}, false, nil
	}
	if err != nil {
		return Process{}, false, err
	}
	defer file.Close() // and with it the lock, if we got it
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return signature(file), true, nil
	}
	return Process{}, false, err
}

// lock is a lock on a file next to the database. It ends with the process, however that ends.
type lock struct{ file *os.File }

func acquire(databasePath string) (*lock, error) {
	file, err := os.OpenFile(databasePath+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = lockAlone(file)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &InUseError{databasePath, signature(file)}
	} else if err == nil {
		err = sign(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &lock{file}, nil
}

// A caller of Holder has the lock for an instant, which keeps nobody from starting a server.
const (
	lockAttempts = 5
	lockPause    = 10 * time.Millisecond
)

func lockAlone(file *os.File) error {
	for attempt := 1; ; attempt++ {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || attempt == lockAttempts {
			return err
		}
		time.Sleep(lockPause)
	}
}

// sign writes the id of this process into the file, for people and for callers of Holder.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// publish writes the server's address and the task queue, which may be empty, below the id of this process.
func (l *lock) publish(address, queue string) error {
	end, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	_, err = l.file.WriteAt([]byte(address+"\n"+queue+"\n"), end)
	return err
}

// signature reads who signed. What is not there, or is only half there, is left empty.
func signature(file *os.File) Process {
	text, err := io.ReadAll(file)
	if err != nil {
		return Process{}
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first)
	address, rest, whole := strings.Cut(rest, "\n")
	if !whole {
		return Process{PID: pid}
	}
	queue, _, _ := strings.Cut(rest, "\n")
	return Process{PID: pid, Address: address, Queue: queue}
}

// release gives the lock back. The file stays: to remove it would let two processes lock two files of one name.
func (l *lock) release() error { return l.file.Close() }
