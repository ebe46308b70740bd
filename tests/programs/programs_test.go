package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestSources are others as soon as a file is, also if it looks the same from outside, and the same if a test is
// another one.
func TestSources(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		require.NoError(t, os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)))
	}
	now := func() string {
		text, err := sources(filepath.Join(folder, "go.mod"))
		require.NoError(t, err)
		require.NotEmpty(t, text)
		return text
	}
	write("go.mod", "module example/said\n")
	write("page.html", "one")
	first := now()
	require.NoError(t, os.Mkdir(".hidden", 0o700))
	write(filepath.Join(".hidden", "file"), "x")
	write("main_test.go", "package main\n")
	require.Equal(t, first, now())
	write("page.html", "two")
	second := now()
	require.NotEqual(t, first, second)
	t.Setenv("GOFLAGS", "-tags=other")
	require.NotEqual(t, second, now())
	write("go.work", "go 1.26\n\nuse .\n")
	require.NotEqual(t, second, now())
	other := filepath.Join(t.TempDir(), "go.work")
	write(other, "go 1.26\n\nuse "+folder+"\n")
	t.Setenv("GOWORK", other)
	text, err := sources(filepath.Join(folder, "go.mod"))
	require.NoError(t, err)
	require.Empty(t, text, "another module may change")
}
