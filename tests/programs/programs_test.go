package programs

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuild builds a program again when it is up to date, and when it is another one while the first one is in use.
func TestBuild(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	write := func(says string) {
		require.NoError(t, os.WriteFile("main.go", []byte("package main\n\nfunc main() { println(\""+says+"\") }\n"), 0o600))
	}
	says := func(path string) string {
		out, err := exec.Command(path).CombinedOutput()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	require.NoError(t, os.WriteFile("go.mod", []byte("module example/said\n\ngo 1.26\n"), 0o600))
	write("one")
	first, err := Build("example/said")
	require.NoError(t, err)
	again, err := Build("example/said")
	require.NoError(t, err)
	require.Equal(t, first, again)

	write("two")
	second, err := Build("example/said")
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two"}, []string{says(first), says(second)})

	for _, file := range inUse {
		require.NoError(t, file.Close())
	}
	inUse = nil
	_, err = Build("example/said")
	require.NoError(t, err)
	require.NoFileExists(t, first, "nobody uses it")
	require.Equal(t, "two", says(second))

	require.NoError(t, os.Rename("go.mod", "main.txt"))
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("go.mod", []byte("module example/other\n"), 0o600))
	_, err = Build("example/other")
	require.ErrorContains(t, err, "build example/other: ")
	require.NoFileExists(t, second, "its module is gone")
}
