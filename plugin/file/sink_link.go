package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"waymark/internal/disk"
	"waymark/internal/failpoint"
	"waymark/pipeline"
	"waymark/plugin"
)

// link is a symbolic link that leads to the latest of several outputs.
type link struct {
	location
	folder func() (*os.Root, error) // opens the one that the name is in; the caller closes it
	real   string                   // its path without symbolic links on the way
}

// newLink checks the link's path without looking at the disk; it returns nil for an empty one. The error is a *DeniedError.
func newLink(root *Root, name string) (plugin.Pointer, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // as the comment says
	}
	at, err := newLocation(root, pipeline.FileTarget{Path: name})
	if err != nil {
		return nil, err
	}
	handle, _, err := root.ResolveFolder(name)
	if err != nil {
		return nil, err
	}
	real, err := root.real(name)
	return link{at, func() (*os.Root, error) { return root.enter(handle, path.Dir(at.name)) }, real}, err
}

func (l link) String() string { return l.real }

func (l link) Check(ctx context.Context) error {
	info, err := l.disk.Lstat(l.name)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && info.Mode().Type() != fs.ModeSymlink:
		return l.fault(codeTargetExists, "there is %s, and no symbolic link that could lead to the latest output; move it away", kindName(info))
	}
	return l.classify(err)
}

func (l link) Leads(ctx context.Context) (string, error) {
	if err := l.Check(ctx); err != nil {
		return "", err
	}
	to, err := l.readlink()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", l.classify(err)
	case !filepath.IsAbs(to):
		to = filepath.Join(filepath.Dir(l.real), to)
	}
	return to, nil
}

func (l link) readlink() (string, error) {
	folder, err := l.folder()
	if err != nil {
		return "", err
	}
	defer folder.Close()
	return folder.Readlink(path.Base(l.name))
}

// Lead makes a new link and gives it the name of the old one. It is relative, so that it leads there as well where the folder is moved or mounted elsewhere.
func (l link) Lead(ctx context.Context, output plugin.Latest) error {
	err := l.Check(ctx)
	if err == nil {
		err = l.makeFolder()
	}
	if err != nil {
		return l.classify(err)
	}
	to, err := filepath.Abs(output.Output)
	if err == nil {
		to, err = filepath.Rel(filepath.Dir(l.real), to)
	}
	if err != nil {
		return fmt.Errorf("%s: the way to %s: %w", l, output.Output, err)
	}
	staging := l.hidden(output.Run, "link") // every attempt of the run makes the same link
	err = disk.Ignore(l.symlink(to, staging), fs.ErrExist)
	if err == nil {
		err = failpoint.Hit("sink.linked")
	}
	if err == nil {
		err = disk.Ignore(l.disk.Rename(staging, l.name), fs.ErrNotExist)
	}
	if err == nil {
		err = l.disk.SyncDir(path.Dir(l.name))
	}
	return l.classify(err)
}

func (l link) symlink(to, name string) error {
	folder, err := l.folder()
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Symlink(to, path.Base(name))
}
