package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// sources returns what a program of this module is made of, in few words: they change when a file of the module or a
// setting of the go command does. It takes 20 ms; `go build` takes most of a second to find that there is nothing to
// do, in each test process that needs a program. In a workspace other than the module's own, whose modules may change
// as well, it returns nothing.
func sources(module string) (string, error) {
	names := []string{"GOWORK", "GOVERSION", "GOFLAGS", "GOOS", "GOARCH", "GOEXPERIMENT", "GOAMD64", "CGO_ENABLED"}
	settings, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return "", fmt.Errorf("settings of the go command: %w", err)
	}
	workspace, _, _ := strings.Cut(string(settings), "\n")
	if workspace != "" && workspace != filepath.Join(filepath.Dir(module), "go.work") {
		return "", nil
	}
	sum := sha256.New()
	sum.Write(settings)
	err = filepath.WalkDir(filepath.Dir(module), func(path string, entry fs.DirEntry, err error) error {
		switch hidden := len(entry.Name()) > 1 && entry.Name()[0] == '.'; {
		case err != nil:
			return err
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case !entry.Type().IsRegular() || hidden || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		info, err := entry.Info()
		if os.IsNotExist(err) { // a test wrote it, and removed it
			return nil
		}
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		fmt.Fprintln(sum, path, stat.Ino, stat.Size, stat.Mtim, stat.Ctim) // a hash takes everything
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
