package client

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

//go:embed starter
var starter embed.FS

// starterFiles are the files of a starter, by their names in starter and their names on disk.
var starterFiles = [][2]string{
	{"starter/pipeline.yaml", "pipeline.yaml"},
	{"starter/data/orders.csv", "data/orders.csv"},
	{"starter/gitignore", ".gitignore"},
}

// starterName is what a pipeline and a folder may both be called, without quotes in the document.
var starterName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// WriteStarter writes a small pipeline and its data into a folder, which it makes if need be, and returns the paths of the files. The pipeline
// is called as the folder, by which a server finds it there, or orders if that is no name. It overwrites nothing, and writes nothing if one of the
// files is there.
func WriteStarter(folder string) ([]string, error) {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; nothing was written: name a folder", folder)
	}
	var paths []string
	for _, file := range starterFiles {
		path := filepath.Join(folder, file[1])
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is there already; nothing was written: name another folder", path)
		}
		paths = append(paths, path)
	}
	for i, file := range starterFiles {
		content, err := starter.ReadFile(file[0])
		if err != nil {
			return nil, err
		}
		if name := filepath.Base(folder); starterName.MatchString(name) && !slices.Contains([]string{"true", "false", "null"}, name) {
			content = bytes.Replace(content, []byte("\nname: orders\n"), []byte("\nname: "+name+"\n"), 1)
		}
		if err := writeNew(paths[i], content); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}
