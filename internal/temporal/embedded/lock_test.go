package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHolder: the process that has the lock is named with its server's address, for as long as it has it, and to ask makes no
// file. Nobody takes the address of an earlier process for that of the present one.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	requireHolder := func(process Process, held bool) {
		t.Helper()
		gotProcess, gotHeld, err := Holder(path)
		require.NoError(t, err)
		require.Equal(t, process, gotProcess)
		require.Equal(t, held, gotHeld)
	}
	requireHolder(Process{}, false)
	require.NoFileExists(t, path+".lock")
	for address, queue := range map[string]string{"127.0.0.1:65535": "", "127.0.0.1:7": "waymark"} {
		l, err := Take(t.Context(), path, Turn{Does: "tests\nand  waits"})
		require.NoError(t, err)
		does := "tests and waits"
		requireHolder(Process{PID: os.Getpid(), Does: does}, true)
		require.NoError(t, l.publish(address, queue))
		requireHolder(Process{os.Getpid(), does, address, queue}, true)
		_, err = Take(t.Context(), path, Turn{Patience: Forever}) // nobody waits for himself
		inUse, ok := errors.AsType[*InUseError](err)
		require.True(t, ok)
		require.Equal(t, InUseError{path, Process{os.Getpid(), does, address, queue}}, *inUse)
		require.NoError(t, l.Release())
		requireHolder(Process{}, false)
	}
}

// TestALockWhoseFileIsRemoved is made again, as it was; and who finds that another process has it by then learns so.
func TestALockWhoseFileIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	first, err := Take(t.Context(), path, Turn{Does: "serve"})
	require.NoError(t, err)
	require.NoError(t, first.publish("127.0.0.1:7", "waymark"))
	require.NoError(t, first.Keep())
	require.NoError(t, os.Remove(path+".lock"))
	require.NoError(t, first.Keep())
	holder, held, err := Holder(path)
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, Process{os.Getpid(), "serve", "127.0.0.1:7", "waymark"}, holder)

	require.NoError(t, os.Remove(path+".lock"))
	second, err := Take(t.Context(), path, Turn{Does: "another"})
	require.NoError(t, err)
	var inUse *InUseError
	require.ErrorAs(t, first.Keep(), &inUse)
	require.Equal(t, "another", inUse.Does)
	require.NoError(t, second.Keep())
	require.NoError(t, first.Release())
	require.NoError(t, first.Keep(), "after the release")
	require.NoError(t, second.Release())
}

// TestALookWaitsForNobody: who looks at a database that another process keeps locked learns that it cannot be known now.
func TestALookWaitsForNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	look, err := openToLook(path)
	require.NoError(t, err)
	var wait int
	require.NoError(t, look.QueryRowContext(t.Context(), "pragma busy_timeout").Scan(&wait))
	require.Less(t, wait, 1_000)
	require.NoError(t, look.Close())
	db, err := openDatabase(path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "pragma locking_mode = exclusive; begin exclusive; create table t (a)")
	require.NoError(t, err)
	_, err = OpenQueue(t.Context(), path, "run-1")
	require.ErrorContains(t, err, "locked")
}

// TestHalfAnAddress: an address that is being written counts as none.
func TestHalfAnAddress(t *testing.T) {
	for text, want := range map[string]Process{
		"": {}, "12": {PID: 12}, "12\n": {PID: 12}, "12\n127.0.0.1:1": {PID: 12},
		"12\n127.0.0.1:17\n": {PID: 12, Address: "127.0.0.1:17"},
		"x\ny\nz\n":          {0, "", "y", "z"}, "12 a b\n": {PID: 12, Does: "a b"},
	} {
		file, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		defer file.Close()
		_, err = file.WriteString(text)
		require.NoError(t, err)
		_, err = file.Seek(0, io.SeekStart)
		require.NoError(t, err)
		require.Equal(t, want, signature(file), "%q", text)
	}
}

// TestHolderIsNotInTheWay: a lock can be had while others ask for its holder without end.
func TestHolderIsNotInTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	l, err := Take(t.Context(), path, Turn{})
	require.NoError(t, err)
	require.NoError(t, l.Release())
	done, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
				if _, _, err := Holder(path); err != nil {
					ended <- err
					return
				}
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	for range 300 {
		l, err := Take(t.Context(), path, Turn{})
		require.NoError(t, err)
		require.NoError(t, l.Release())
	}
	close(done)
	require.NoError(t, <-ended)
}

// TestTurns: those who wait get the lock in the order in which they came, and say once for whom they wait. One that
// gives up is left out. Nobody waits for a process that executes the runs of others, nor longer than his patience.
func TestTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	first, err := open(path) // as another process has it
	require.NoError(t, err)
	require.NoError(t, lockInTurn(first))
	holder := Process{PID: 1, Does: "runs"}
	requireSigned := func(text string) {
		t.Helper()
		require.NoError(t, first.Truncate(0))
		_, err := first.WriteAt([]byte(text), 0)
		require.NoError(t, err)
	}
	requireSigned("1 runs\n")
	for _, patience := range []time.Duration{0, time.Nanosecond} {
		_, err := Take(t.Context(), path, Turn{Patience: patience})
		inUse, ok := errors.AsType[*InUseError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, InUseError{path, holder}, *inUse)
	}

	type got struct {
		who  int
		lock *Lock
		err  error
	}
	all, waits := make(chan got), make(chan Process)
	blocked := 1 // who gave up at once gets the lock in his turn, and releases it
	waiting := func(ctx context.Context, who int) {
		go func() {
			lock, err := Take(ctx, path, Turn{Patience: Forever, Waits: func(p Process) { waits <- p }})
			all <- got{who, lock, err}
		}()
		require.Equal(t, holder, <-waits)
		blocked++
		requireBlocked(t, blocked)
	}
	gives, up := context.WithCancel(t.Context())
	const many = 5
	for who := range many {
		if who == 2 {
			waiting(gives, who)
		} else {
			waiting(t.Context(), who)
		}
	}
	up()
	gone := <-all
	require.Equal(t, 2, gone.who)
	require.ErrorIs(t, gone.err, context.Canceled)
	require.NoError(t, first.Close())
	for _, who := range []int{0, 1, 3, 4} {
		next := <-all
		require.NoError(t, next.err)
		require.Equal(t, who, next.who)
		require.NoError(t, next.lock.Release())
	}

	first, err = open(path)
	require.NoError(t, err)
	require.NoError(t, lockInTurn(first))
	requireSigned("1 runs\n")
	blocked = 0
	waiting(t.Context(), 0)
	requireSigned("1 serves\n127.0.0.1:7\nwaymark\n") // another one came before
	serves := <-all
	inUse, ok := errors.AsType[*InUseError](serves.err)
	require.True(t, ok, "%v", serves.err)
	require.Equal(t, InUseError{path, Process{1, "serves", "127.0.0.1:7", "waymark"}}, *inUse)
	require.NoError(t, first.Close())
	last, err := Take(t.Context(), path, Turn{Patience: Forever}) // who gave up has it for a moment at most
	require.NoError(t, err)
	require.NoError(t, last.Release())
}

// requireBlocked waits until so many locks of this process wait for others.
func requireBlocked(t *testing.T, many int) {
	t.Helper()
	require.Eventually(t, func() bool {
		locks, err := os.ReadFile("/proc/locks")
		if err != nil { // no Linux
			time.Sleep(100 * time.Millisecond)
			return true
		}
		waits := regexp.MustCompile(fmt.Sprintf(`(?m)^\d+: +-> FLOCK .* %d `, os.Getpid()))
		return len(waits.FindAll(locks, -1)) >= many
	}, time.Minute, 5*time.Millisecond)
}
