package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"waymark/audit/interop"
	"waymark/client/local"
)

// exportedFolder is a folder of Parquet files that was written.
type exportedFolder struct {
	Folder string         `json:"folder"`
	Files  []interop.File `json:"files"`
}

func (e *exportedFolder) writeText(w io.Writer) error {
	rows := int64(0)
	for _, f := range e.Files {
		rows += f.Rows
	}
	_, err := fmt.Fprintf(w, "%s  %d files  %d rows\n", e.Folder, len(e.Files), rows)
	return err
}

// exportParquet writes a run, or all of them if word is empty, into a new folder, whole or not at all.
func (a *app) exportParquet(ctx context.Context, home *local.Home, word, folder string) (err error) {
	parent, name := filepath.Split(filepath.Clean(folder))
	staged, err := os.MkdirTemp(filepath.Clean(parent), "."+name+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(staged))
		}
	}()
	files, err := home.ExportParquet(ctx, word, staged)
	if err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(staged, 0o755), os.Rename(staged, folder)); err != nil {
		return err
	}
	made := &exportedFolder{folder, files}
	return a.print(made, made.writeText)
}

// checkNewFolder refuses a path at which no folder can be made.
func checkNewFolder(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return wrongUsef("-o %s is there already: name a new folder, or remove it", path)
	}
	return checkParent(filepath.Clean(path))
}
