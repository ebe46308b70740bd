package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

const (
	memoryFolder = "/dev/shm" // a file system in memory, on Linux
	roomBytes    = 2 << 30    // that must be free there
)

// roomy returns the folder in which to make the scratch folder: in memory if there is room, because a run waits for the disk
// hundreds of times, else the system's.
func roomy() string {
	var room syscall.Statfs_t
	if err := syscall.Statfs(memoryFolder, &room); err != nil || room.Bavail*uint64(room.Bsize) < roomBytes {
		return os.TempDir()
	}
	return memoryFolder
}

// copyPipeline makes the image: a copy of the pipeline's folder without the state folder and what the sinks wrote.
func (l *laboratory) copyPipeline(ctx context.Context) error {
	folder := filepath.Dir(l.Pipeline)
	outputs, err := l.outputs(ctx, folder)
	if err != nil {
		return err
	}
	skip := func(path string) bool {
		return path == filepath.Join(folder, stateFolder) || path == l.Scratch || slices.Contains(outputs, path)
	}
	if err := checkSize(folder, skip); err != nil {
		return err
	}
	l.image = filepath.Join(l.Scratch, "image")
	return copyFolder(folder, l.image, skip)
}

// maxImageBytes is the most that a pipeline's folder may hold: it is copied for every trial, most often into memory.
const maxImageBytes = 64 << 20

// checkSize refuses a folder that holds too much.
func checkSize(folder string, skip func(path string) bool) error {
	var total int64
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skip(path) && entry.IsDir():
			return fs.SkipDir
		case skip(path) || !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if total += info.Size(); total > maxImageBytes {
			return fmt.Errorf("%s holds more than %d MiB, and is copied for every crash: give the document and a small input a folder of their own",
				folder, maxImageBytes>>20)
		}
		return nil
	})
}

// outputs returns where the pipeline's sinks write.
func (l *laboratory) outputs(ctx context.Context, folder string) ([]string, error) {
	shown := process{binary: l.Binary, folder: folder, timeout: l.Timeout}
	ended := shown.run(ctx, slices.Concat([]string{"plan", l.Pipeline, "--json"}, l.Flags, l.Params)...)
	if ended.code != 0 {
		return nil, fmt.Errorf("%s: %s", l.Pipeline, ended)
	}
	var plan struct {
		Nodes []struct{ Location string }
	}
	if err := json.Unmarshal(ended.stdout, &plan); err != nil {
		return nil, fmt.Errorf("waymark plan: %w", err)
	}
	var outputs []string
	for _, node := range plan.Nodes {
		if node.Location != "" {
			outputs = append(outputs, node.Location)
		}
	}
	return outputs, nil
}

// copyFolder copies a folder that nobody writes to: files with mode and modification time, hard links as hard links. Whatever
// skip says is left out.
func copyFolder(from, to string, skip func(path string) bool) error {
	links := map[uint64]string{} // by inode
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if skip(path) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, path[len(from):])
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, info.Mode().Perm()|0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			points, err := os.Readlink(path)
			return errors.Join(err, os.Symlink(points, target))
		case !info.Mode().IsRegular():
			return nil
		}
		return copyFile(path, target, info, links)
	})
}

func copyFile(from, to string, info fs.FileInfo, links map[uint64]string) error {
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Nlink > 1 {
		if first, there := links[stat.Ino]; there {
			return os.Link(first, to)
		}
		links[stat.Ino] = to
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

// replaceFolder makes a folder a copy of another.
func replaceFolder(folder, image string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return copyFolder(image, folder, func(string) bool { return false })
}
