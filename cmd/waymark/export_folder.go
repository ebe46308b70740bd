package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"waymark/audit/interop"
	"waymark/internal/text"
)

// exportedFolder is a folder that was written.
type exportedFolder struct {
	Folder string         `json:"folder"`
	Files  []interop.File `json:"files"`
}

func (e *exportedFolder) writeText(w io.Writer) error {
	bytes := int64(0)
	for _, f := range e.Files {
		bytes += f.Bytes
	}
	_, err := fmt.Fprintf(w, "%s  %s  %d bytes\n", e.Folder, text.Count(int64(len(e.Files)), "file"), bytes)
	return err
}

// writeFolder writes a new folder whole or not at all.
func writeFolder(folder string, write func(folder string) ([]interop.File, error)) (made *exportedFolder, err error) {
	parent, name := filepath.Split(filepath.Clean(folder))
	staged, err := os.MkdirTemp(filepath.Clean(parent), "."+name+"-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(staged))
		}
	}()
	files, err := write(staged)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(staged, 0o755), os.Rename(staged, folder)); err != nil {
		return nil, err
	}
	return &exportedFolder{folder, files}, nil
}

// checkNewFolder refuses a path at which no folder can be made.
func checkNewFolder(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return wrongUsef("-o %s is there already: name a new folder, or remove it", path)
	}
	return checkParent(filepath.Clean(path))
}
