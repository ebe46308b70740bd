package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed starter
var starter embed.FS

// starterFiles are the files that init writes, by their names in starter and their names on disk.
var starterFiles = [][2]string{
	{"starter/pipeline.yaml", "pipeline.yaml"},
	{"starter/data/orders.csv", "data/orders.csv"},
	{"starter/gitignore", ".gitignore"},
}

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a small pipeline to start from, with data that has a few bad rows",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			written, err := writeStarter(folder)
			if err != nil {
				return wrongUse(err)
			}
			return a.print(map[string][]string{"files": written}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "wrote %s\n\nnext: %swaymark run pipeline.yaml\n", strings.Join(written, ", "), enter(folder))
				return err
			})
		},
	}
}

func enter(folder string) string {
	if folder == "." {
		return ""
	}
	return "cd " + folder + " && "
}

// writeStarter writes the files and returns their paths. It overwrites nothing, and writes nothing if one of them is there.
func writeStarter(folder string) ([]string, error) {
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
