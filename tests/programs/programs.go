// Package programs builds the programs of this module for tests.
package programs

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// inUse are the programs that this process was given, each with a lock that ends with the process.
var inUse []*os.File

// Build builds the program of a package, such as waymark/cmd/waymark, with these flags of `go build`, and returns its path, at which
// it stays as it is until this process ends, whatever others build.
//
// All tests of a checkout build into the same folder of the user's cache, one after the other: what is up to date there
// is not linked again. What git says of the checkout is not in the program. The test looks at all files of the module,
// so that `go test` takes no result of an older program for that of this one.
func Build(program string, flags ...string) (string, error) {
	folder, err := folderOf(strings.Join(append([]string{program}, flags...), " "))
	if err != nil {
		return "", err
	}
	building, err := lock(filepath.Join(folder, "lock"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer building.Close()
	newest := filepath.Join(folder, "newest")
	if err := bring(newest, program, flags); err != nil {
		return "", err
	}
	file, err := lock(newest, syscall.LOCK_SH)
	if err != nil {
		return "", err
	}
	inUse = append(inUse, file)
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	name := filepath.Base(program)
	path := filepath.Join(folder, fmt.Sprint(name, ".", info.Sys().(*syscall.Stat_t).Ino)) // of no other file, as long as it is there
	if err := os.Link(newest, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, sweep(folder, name)
}

// bring brings a program up to date. The file next to it says of which sources it was built.
func bring(path, program string, flags []string) error {
	module, err := module()
	if err != nil {
		return err
	}
	now, err := sources(module)
	if err != nil {
		return err
	}
	built, err := os.ReadFile(path + ".sources")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(path); err == nil && now != "" && now == string(built) {
		return nil
	}
	args := append([]string{"build", "-buildvcs=false", linked, "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, program)...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return os.WriteFile(path+".sources", []byte(now), 0o600)
}

// module is the path of the file go.mod.
func module() (string, error) {
	path, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
}

// Armed is the flag of the linker that arms the failpoints of a program: docs/crash.md.
const Armed = "-X waymark/internal/failpoint.armed=yes"

// BuildArmed is Build for a program with armed failpoints. No package is compiled for it that a normal build has
// compiled.
func BuildArmed(program string) (string, error) { return Build(program, linked+" "+Armed) }

// linked is how all programs are linked: without what debuggers read.
const linked = "-ldflags=-s -w"

// Waymark is the path of the command waymark, which is built when a test first asks for it.
var Waymark = sync.OnceValues(func() (string, error) { return Build("waymark/cmd/waymark") })

// folderOf makes a folder for programs of this checkout, and removes those of checkouts that are gone.
func folderOf(kind string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	module, err := module()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "waymark-tests")
	folder := filepath.Join(cache, url.PathEscape(module), url.PathEscape(kind))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	all, err := os.ReadDir(cache)
	for _, entry := range all {
		module, _ := url.PathUnescape(entry.Name()) // what is no name of a module is not there
		if _, gone := os.Stat(module); errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(cache, entry.Name())))
		}
	}
	return folder, err
}

// sweep removes the programs of that name which no process uses.
func sweep(folder, name string) error {
	old, err := fs.Glob(os.DirFS(folder), name+".*")
	for _, name := range old {
		if file, busy := lock(filepath.Join(folder, name), syscall.LOCK_EX|syscall.LOCK_NB); busy == nil {
			err = errors.Join(err, os.Remove(file.Name()), file.Close())
		}
	}
	return err
}

func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
