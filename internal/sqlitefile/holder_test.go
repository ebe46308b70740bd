package sqlitefile

import (
	"bufio"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFindHolder: the process that writes is found while it does, and none before and after; this process is nobody else.
func TestFindHolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("locks of others are listed by Linux only")
	}
	for _, mode := range []string{"wal", "delete"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			db := open(t, path, mode)
			_, err := db.Exec("create table t (x)")
			require.NoError(t, err)
			require.Nil(t, FindHolder(path))

			_, err = db.Exec("begin immediate")
			require.NoError(t, err)
			require.Nil(t, FindHolder(path), "this process is no other")
			_, err = db.Exec("rollback")
			require.NoError(t, err)

			child, done := startHolder(t, path, mode)
			holder := FindHolder(path)
			require.NotNil(t, holder)
			require.Equal(t, child, holder.PID)
			require.NotEmpty(t, holder.Name)
			done()
			require.Nil(t, FindHolder(path))
		})
	}
	require.Nil(t, FindHolder(filepath.Join(t.TempDir(), "none.db")))
}

func TestWriter(t *testing.T) {
	list := strings.Join([]string{
		"1: POSIX  ADVISORY  READ 11 fe:00:7 124 124",
		"2: FLOCK  ADVISORY  WRITE 12 fe:00:7 0 EOF",
		"3: -> POSIX  ADVISORY  WRITE 13 fe:00:7 120 120",
		"4: POSIX  ADVISORY  WRITE 14 fe:00:8 120 120",
		"5: POSIX  ADVISORY  WRITE 15 fe:00:7 121 121",
		"6: POSIX  ADVISORY  WRITE 16 fe:00:7 120 120",
		"7: POSIX  ADVISORY  WRITE 17 fe:00:9 1073741825 1073741825",
		"8: POSIX  ADVISORY  WRITE -1 fe:00:6 120 120",
	}, "\n")
	for file, want := range map[uint64]int{7: 16, 8: 14, 9: 17, 6: 0, 5: 0} {
		require.Equal(t, want, writer(strings.NewReader(list), map[uint64]bool{file: true}, 1), "file %d", file)
	}
	require.Zero(t, writer(strings.NewReader(list), map[uint64]bool{7: true}, 16), "its own lock")
}

func open(t *testing.T, path, mode string) *sql.DB {
	t.Helper()
	uri, err := URI(path, url.Values{"mode": {"rwc"}, "_pragma": {"journal_mode=" + mode}})
	require.NoError(t, err)
	db, err := sql.Open("sqlite", uri)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// startHolder starts a process that holds the write lock until done is called.
func startHolder(t *testing.T, path, mode string) (pid int, done func()) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestHolderChild$")
	child.Env = append(os.Environ(), "HOLDER_PATH="+path, "HOLDER_MODE="+mode)
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	return child.Process.Pid, func() {
		require.NoError(t, stdin.Close())
		_ = child.Wait()
	}
}

// TestHolderChild is the process of startHolder.
func TestHolderChild(t *testing.T) {
	path := os.Getenv("HOLDER_PATH")
	if path == "" {
		t.Skip("is run by TestFindHolder")
	}
	db := open(t, path, os.Getenv("HOLDER_MODE"))
	_, err := db.Exec("begin immediate")
	require.NoError(t, err)
	_, err = os.Stdout.WriteString("held\n")
	require.NoError(t, err)
	_, _ = os.Stdin.Read(make([]byte, 1))
}
