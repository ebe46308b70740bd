package programs_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"waymark/tests/sample"
)

const root = "../.."

// acme is the address of a copy of this module. RFC 2606 reserves its domain, so no proxy has it.
var acme = module.Version{Path: "example.com/acme/waymark", Version: "v1.2.3"}

// TestInstall installs a copy of the module from a module proxy, as `go install` does for people who have no clone: no
// replacement holds, and no import may depend on the path that the module has here. The copy runs the README's first
// example.
func TestInstall(t *testing.T) {
	sample.Rarely(t)
	cache := output(t, command(root, nil, "go", "env", "GOMODCACHE"))
	output(t, command(root, []string{"GOWORK=off"}, "go", "list", "-deps", "./cmd/waymark")) // downloads what it needs
	forget := func() {
		require.NoError(t, os.RemoveAll(filepath.Join(cache, "example.com")))
		require.NoError(t, os.RemoveAll(filepath.Join(cache, "cache/download/example.com")))
	}
	forget()
	defer forget()

	bin, proxy := t.TempDir(), t.TempDir()
	publish(t, proxy)
	output(t, command(t.TempDir(), []string{
		"GOWORK=", "GOFLAGS=-modcacherw", "GOBIN=" + bin, "GOSUMDB=off", // go.sum was checked above
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache/download"),
	}, "go", "install", acme.Path+"/cmd/waymark@"+acme.Version))

	waymark := filepath.Join(bin, "waymark")
	require.Regexp(t, "^waymark 1.2.3, go", output(t, command(bin, nil, waymark, "version")))
	folder := t.TempDir()
	copyExample(t, folder)
	requireExample(t, command(folder, nil, waymark))
}

// publish writes the copy into the folder of a module proxy.
func publish(t *testing.T, proxy string) {
	t.Helper()
	copied := copyModule(t)
	folder := filepath.Join(proxy, acme.Path, "@v")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("list", acme.Version+"\n")
	write(acme.Version+".info", fmt.Sprintf(`{"Version": %q}`, acme.Version))
	write(acme.Version+".mod", string(copied["go.mod"].Data))
	file, err := os.Create(filepath.Join(folder, acme.Version+".zip"))
	require.NoError(t, err)
	defer file.Close()
	var members []zip.File
	for name := range copied {
		members = append(members, member{copied, name})
	}
	require.NoError(t, zip.Create(file, acme, members))
	require.NoError(t, file.Close())
}

// copyModule returns the files of this module as git knows them, with the path of the copy.
func copyModule(t *testing.T) fstest.MapFS {
	t.Helper()
	list := output(t, command(root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"))
	copied := fstest.MapFS{}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) { // it is deleted, and that is not committed
			continue
		}
		require.NoError(t, err)
		copied[name] = &fstest.MapFile{Data: text, Mode: 0o644}
	}
	here := modfile.ModulePath(copied["go.mod"].Data)
	require.NotEmpty(t, here)
	for name, file := range copied {
		if strings.HasSuffix(name, ".go") {
			file.Data = renameImports(t, name, file.Data, here)
		}
	}
	mod, err := modfile.Parse("go.mod", copied["go.mod"].Data, nil)
	require.NoError(t, err)
	require.Empty(t, mod.Replace, "go install refuses a module with replacements")
	require.NoError(t, mod.AddModuleStmt(acme.Path))
	copied["go.mod"].Data, err = mod.Format()
	require.NoError(t, err)
	return copied
}

// renameImports replaces the module's path in the imports of a file.
func renameImports(t *testing.T, name string, text []byte, here string) []byte {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ImportsOnly)
	require.NoError(t, err)
	for _, spec := range slices.Backward(file.Imports) {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if strings.HasPrefix(path+"/", here+"/") {
			at := files.Position(spec.Path.Pos()).Offset + len(`"`)
			text = slices.Replace(text, at, at+len(here), []byte(acme.Path)...)
		}
	}
	return text
}

// member is a file of a module's zip.
type member struct {
	files fs.FS
	name  string
}

func (m member) Path() string                 { return m.name }
func (m member) Lstat() (fs.FileInfo, error)  { return fs.Stat(m.files, m.name) }
func (m member) Open() (io.ReadCloser, error) { return m.files.Open(m.name) }

// copyExample gives a folder the files of the README's first example.
func copyExample(t *testing.T, folder string) {
	t.Helper()
	example := filepath.Join(folder, "examples/bird-strikes")
	require.NoError(t, os.CopyFS(example, os.DirFS(filepath.Join(root, "examples/bird-strikes"))))
	require.NoError(t, os.RemoveAll(filepath.Join(example, "out")))
}

// requireExample requires that the program runs the README's first example with the result that the README shows.
func requireExample(t *testing.T, program *exec.Cmd) {
	t.Helper()
	program.Args = append(program.Args, "run", "examples/bird-strikes/pipeline.yaml")
	said, err := program.CombinedOutput()
	failed, ended := errors.AsType[*exec.ExitError](err)
	require.True(t, ended, "%v: %s", err, said)
	require.Equal(t, 3, failed.ExitCode(), "%s", said)
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	for _, line := range []string{
		"10,000 rows read, 15 refused, 15 of these in quarantine, 11 filtered", "review   318 ", "strikes  9,656 ",
	} {
		require.Contains(t, string(said), line)
		require.Contains(t, string(text), line)
	}
}

// command is a program in a folder, with some variables changed.
func command(folder string, changed []string, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.Env = folder, append(os.Environ(), changed...)
	return c
}

// output returns what a command prints, without spaces around it.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	require.NoError(t, err, "%s\n%s", c, &complaints)
	return strings.TrimSpace(string(out))
}
