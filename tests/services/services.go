// Package services has what tests need to start real services, and the other programs that they use. The services are
// in the folders below it, each with the client that it needs, so that a test binary links no other: pg for Postgres,
// buckets for an S3 server. A service is started when a test first asks for it, one per test process.
//
//	func TestMain(m *testing.M) { os.Exit(services.Main(m)) }
//
// or to MainInMemory. What was started ends with the test process, however that ends.
package services

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/internal/freeport"
)

// folderPrefix begins the name of every folder that this package makes. The number of the process follows.
const folderPrefix = "waymark-services-"

var atEnd struct {
	mu      sync.Mutex
	running bool
	stops   []func()
}

// gcPercent is by how much the heap of a test process grows until garbage is collected. The heaps of tests are small:
// by default a sixth of the CPU time of most tests was spent on collecting.
const gcPercent = 400

// Main runs the tests of a package, ends the services that they started, and returns the exit code. The process
// collects garbage rarely, unless GOGC is set.
func Main(m *testing.M) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	atEnd.mu.Lock()
	atEnd.running = true
	atEnd.mu.Unlock()
	removeAbandoned()
	defer stopAll()
	return m.Run()
}

// SideBySide has up to tests parallel tests of the package go on at a time, unless -parallel says otherwise: for packages whose tests
// mostly wait, and need no processor meanwhile. It comes before flag.Parse.
func SideBySide(tests int) {
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err)
	}
}

// waitingAtOnce is how many tests that mostly wait go on at a time.
const waitingAtOnce = 4

// MainWaiting is Main for packages whose tests mostly wait: some more of them go on side by side.
func MainWaiting(m *testing.M) int {
	SideBySide(waitingAtOnce)
	return Main(m)
}

// MainInMemory is Main, with the temporary folders of tests in memory if there is room: for packages whose tests say nothing of disks,
// and would wait for one at every commit.
func MainInMemory(m *testing.M) int {
	folder, err := NewFolder("temporary")
	if err == nil {
		err = os.Setenv("TMPDIR", folder)
		defer os.RemoveAll(folder) //nolint:errcheck // what stays there is removed by the next test process
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "services:", err)
		return 1
	}
	return Main(m)
}

// OnEnd has stop called when the tests of the process are done; the last one registered is called first.
func OnEnd(t testing.TB, stop func()) {
	t.Helper()
	atEnd.mu.Lock()
	defer atEnd.mu.Unlock()
	if !atEnd.running {
		t.Fatal("nothing would end this service: the package needs func TestMain(m *testing.M) { os.Exit(services.Main(m)) }")
	}
	atEnd.stops = append(atEnd.stops, stop)
}

func stopAll() {
	atEnd.mu.Lock()
	defer atEnd.mu.Unlock()
	for len(atEnd.stops) > 0 {
		last := len(atEnd.stops) - 1
		atEnd.stops[last]()
		atEnd.stops = atEnd.stops[:last]
	}
	atEnd.running = false
}

// NewFolder makes a folder for a service. It is removed when the process ends, or by the next test process if this one
// is killed.
func NewFolder(service string) (string, error) {
	return os.MkdirTemp(roomy(), fmt.Sprintf("%s%d-%s-", folderPrefix, os.Getpid(), service))
}

const (
	memoryFolder = "/dev/shm" // a file system in memory, on Linux
	roomBytes    = 4 << 30    // that must be free there
)

// roomy returns the folder for folders of services: in memory if there is room, because services wait for the disk at every commit,
// and no test of ours takes the power from a machine that one runs on; else the system's.
func roomy() string {
	var room syscall.Statfs_t
	if err := syscall.Statfs(memoryFolder, &room); err != nil || room.Bavail*uint64(room.Bsize) < roomBytes {
		return os.TempDir()
	}
	return memoryFolder
}

// removeAbandoned removes the folders of test processes that were killed.
func removeAbandoned() {
	var dirs []string
	for _, parent := range []string{os.TempDir(), memoryFolder} {
		found, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		digits, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), folderPrefix), "-")
		pid, err := strconv.Atoi(digits)
		if err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = os.RemoveAll(dir) // somebody else may be at it as well
		}
	}
}

// Start starts cmd so that the kernel kills it when this process ends, unless it names another signal for that. done is
// closed after the end of cmd; its state can then be read.
func Start(cmd *exec.Cmd) (done <-chan struct{}, err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The signal comes at the end of the thread that started the process: this one stays for as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is for the tests that end it
		}
		close(ended)
	}()
	return ended, <-started
}

// FreeAddress returns an address of this machine on which nobody listened a moment ago.
func FreeAddress() (string, error) {
	l, err := freeport.Listen(0)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Program requires a program, which a package of Debian has. Without it the test is as Missing says.
func Program(t testing.TB, name, pack string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		Missing(t, name, "apt-get install "+pack)
	}
}

// SSHAgent starts an ssh-agent without keys, which ends with the test, and returns its socket.
func SSHAgent(t testing.TB) (socket string) {
	t.Helper()
	Program(t, "ssh-agent", "openssh-client")
	socket = filepath.Join(t.TempDir(), "agent.sock")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	require.NoError(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait() // it was killed
	})
	require.Eventually(t, func() bool { // the socket is there before the agent listens at it
		conn, err := net.Dial("unix", socket)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	}, 5*time.Minute, 10*time.Millisecond)
	return socket
}

// Missing skips the test, or fails it where tests must not be skipped: there CI is set.
func Missing(t testing.TB, what, cure string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed; %s", what, cure)
	}
	t.Skipf("%s is not installed; %s", what, cure)
}
