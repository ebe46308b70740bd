package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"waymark/internal/defect"
)

// Process is a process that has a server on a database.
type Process struct {
	PID     int    // 0 if unknown
	Does    string // what the process does, in one line, for people; empty if unknown
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
	does := ""
	if e.Does != "" {
		does = ": " + e.Does
	}
	return fmt.Sprintf("another waymark process (pid %d%s) uses %s", e.PID, does, e.Path)
}

// String names the process, and what it does.
func (p Process) String() string {
	if p.Does == "" {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("process %d (%s)", p.PID, p.Does)
}

// Holder reports whether a process has a server on the database, and which. It writes nothing, and a database that is not
// there is held by nobody.
func Holder(databasePath string) (holder Process, held bool, err error) {
	file, err := os.Open(databasePath + lockSuffix)
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

// lockSuffix is what the name of a lock's file has behind that of the database.
const lockSuffix = ".lock"

// Lock is the right of one process to have a server on a database: a lock on a file next to it. It ends with the
// process, however that ends.
type Lock struct {
	mu   sync.Mutex // held while the file changes
	file *os.File
}

// Turn says how a process takes its turn.
type Turn struct {
	Does string // what it does, for people, until the lock is released
	// Patience is how long to wait for another process that has the lock; 0 not at all, and Forever as long as that
	// takes.
	Patience time.Duration
	// Waits is called once, with the process that has the lock, before Take waits; nil for nothing.
	Waits func(Process)
}

// Forever is the patience of who waits as long as it takes.
const Forever time.Duration = -1

// lookEvery is how often who waits looks whether the process that has the lock executes the runs of others.
const lookEvery = 500 * time.Millisecond

// Take locks the database for this process. Those who wait for another process get the lock one after the other, in the
// order in which they came, and one that is killed is left out. Nobody waits for a process that has a Queue, which
// executes the runs of others, nor for one of this process: then, or when the patience is over, the error is an
// *InUseError. It is that of ctx if ctx ends.
func Take(ctx context.Context, databasePath string, turn Turn) (*Lock, error) {
	l, err := acquire(databasePath)
	if inUse, ok := errors.AsType[*InUseError](err); ok && turn.Patience != 0 && inUse.waitedFor() {
		if turn.Waits != nil {
			turn.Waits(inUse.Process)
		}
		l, err = await(ctx, databasePath, turn.Patience)
	}
	if err != nil {
		return nil, err
	}
	if err := sign(l.file, turn.Does); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// waitedFor reports whether the process releases the lock some day without the help of who waits.
func (p Process) waitedFor() bool { return p.Queue == "" && p.PID != os.Getpid() }

// await waits for the lock.
func await(ctx context.Context, databasePath string, patience time.Duration) (*Lock, error) {
	file, err := open(databasePath)
	if err != nil {
		return nil, err
	}
	within, done := context.WithCancel(ctx)
	if patience != Forever {
		within, done = context.WithTimeout(ctx, patience)
	}
	defer done() // and with it the lock, if it comes later
	locked := make(chan error)
	go defect.Guard("lock", func() {
		err := lockInTurn(file)
		select {
		case locked <- err:
		case <-within.Done():
			_ = file.Close()
		}
	})()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case err := <-locked:
			if err != nil {
				return nil, errors.Join(err, file.Close())
			}
			return &Lock{file: file}, nil
		case <-look.C:
		case <-within.Done():
		}
		holder, held, err := Holder(databasePath)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case within.Err() != nil, held && !holder.waitedFor():
			return nil, &InUseError{databasePath, holder}
		}
	}
}

// lockInTurn waits for the lock until the process ends: the system lets those who wait have it in the order in which
// they came.
func lockInTurn(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func open(databasePath string) (*os.File, error) {
	return os.OpenFile(databasePath+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
}

// acquire locks the database if no other process has it.
func acquire(databasePath string) (*Lock, error) {
	file, err := open(databasePath)
	if err != nil {
		return nil, err
	}
	err = lockAlone(file)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = &InUseError{databasePath, signature(file)}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file: file}, nil
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

// sign writes the id of this process, and what it does, into the file, for people and for callers of Holder.
func sign(file *os.File, does string) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	line := append([]string{strconv.Itoa(os.Getpid())}, strings.Fields(does)...)
	_, err := file.WriteAt([]byte(strings.Join(line, " ")+"\n"), 0)
	return err
}

// Keep locks the file of this name again if the one that is locked was removed, or is another one by now: nobody would
// see the lock. The error is an *InUseError if another process was faster. It does nothing after Release.
func (l *Lock) Keep() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	held, err := l.file.Stat()
	if err != nil {
		return nil // it is released
	}
	there, err := os.Stat(l.file.Name())
	if err == nil && os.SameFile(held, there) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	again, err := acquire(strings.TrimSuffix(l.file.Name(), lockSuffix))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.NewSectionReader(l.file, 0, held.Size()))
	if err == nil {
		_, err = again.file.WriteAt(text, 0)
	}
	if err != nil {
		return errors.Join(err, again.file.Close())
	}
	was := l.file
	l.file = again.file
	return was.Close()
}

// publish writes the server's address and the task queue, which may be empty, below the id of this process.
func (l *Lock) publish(address, queue string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	id, does, _ := strings.Cut(first, " ")
	pid, _ := strconv.Atoi(id)
	p := Process{PID: pid, Does: does}
	address, rest, whole := strings.Cut(rest, "\n")
	if whole {
		p.Address = address
		p.Queue, _, _ = strings.Cut(rest, "\n")
	}
	return p
}

// Release gives the lock back. The file stays: to remove it would let two processes lock two files of one name.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
