package file

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"waymark/internal/disk"
)

// Confinement says what documents of other people may do in the folders of a Root. Names that begin with a dot
// are nothing that they read or write: those are configuration of programs.
type Confinement struct {
	// Served is the folder of the documents that the process serves, which are reserved: NAME.yaml and
	// NAME/pipeline.yaml; "" for none.
	Served string
	// Beside are the folders in which the document writes without a word of the operator; they need not be there yet.
	Beside []string
	// Write are those that the operator names.
	Write []string
}

// Confine confines the documents that use the Root. It must come before any other use.
func (r *Root) Confine(c Confinement) error {
	for _, folder := range slices.Concat([]string{c.Served}, c.Beside, c.Write) {
		if folder != "" && !filepath.IsAbs(folder) {
			return fmt.Errorf("%q is not an absolute path", folder)
		}
	}
	r.confined = &c
	return r.Reserve(Documents(c.Served)...)
}

// Documents returns the documents of pipelines that are in a folder, as the process that serves it finds them.
func Documents(folder string) (files []string) {
	if folder == "" {
		return nil
	}
	for _, entry := range entriesOf(folder) {
		if name := entry.Name(); entry.IsDir() {
			files = append(files, filepath.Join(folder, name, "pipeline.yaml"))
		} else if filepath.Ext(name) == ".yaml" {
			files = append(files, filepath.Join(folder, name))
		}
	}
	return slices.DeleteFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return err != nil
	})
}

// entriesOf returns what is in a folder, in any order: there may be much.
func entriesOf(folder string) []fs.DirEntry {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	return entries
}

// owns reports whether a clean absolute path is one of a document that is served, or would be as soon as there is one.
func (c *Confinement) owns(path string) bool {
	if c == nil || c.Served == "" {
		return false
	}
	for _, served := range []string{filepath.Clean(c.Served), Followed(c.Served)} {
		name, err := filepath.Rel(strings.ToLower(served), strings.ToLower(path))
		if err != nil || !filepath.IsLocal(name) {
			continue
		}
		folder, file := filepath.Split(name)
		if folder == "" && filepath.Ext(file) == ".yaml" || strings.Count(folder, "/") == 1 && file == "pipeline.yaml" {
			return true
		}
	}
	return false
}

// checkHidden fails if a name, or a folder that it is in, begins with a dot.
func (r *Root) checkHidden(f folder, name string) error {
	if r.confined == nil || name == "." {
		return nil
	}
	for element := range strings.SplitSeq(name, string(filepath.Separator)) {
		if strings.HasPrefix(element, ".") {
			reason := fmt.Sprintf("%q begins with a dot, as what programs keep for themselves does, "+
				"which no document reads or writes: choose another path", element)
			return &DeniedError{filepath.Join(f.path, name), reason}
		}
	}
	return nil
}

// checkWrite fails if name in the folder is not below one in which the document may write.
func (r *Root) checkWrite(f folder, name, path string) error {
	if r.confined == nil {
		return nil
	}
	for _, folder := range slices.Concat(r.confined.Beside, r.confined.Write) {
		for _, at := range []string{filepath.Join(f.path, name), filepath.Join(f.real, name)} {
			if at != folder && (within(at, filepath.Clean(folder)) || within(at, Followed(folder))) {
				return nil
			}
		}
	}
	return r.mayNotWrite(path, filepath.Join(f.path, name))
}

// mayNotWrite says where a document may write, and what would let it write to where the path leads: that is said
// of no folder that a server would refuse.
func (r *Root) mayNotWrite(path, absolute string) error {
	const reason = "is not where documents write on a server: "
	instead := ""
	if len(r.confined.Beside) > 0 {
		instead = filepath.Join(r.confined.Beside[0], filepath.Base(absolute))
		if !filepath.IsAbs(path) {
			instead = filepath.Join(filepath.Base(r.confined.Beside[0]), path)
		}
	}
	folder := filepath.Dir(absolute)
	switch opens := !r.liesAround(folder); {
	case opens && instead == "":
		return &DeniedError{path, reason + "its operator allows a folder with --allow-write " + folder}
	case opens:
		return &DeniedError{path, reason + fmt.Sprintf(
			"write to %s, or its operator allows a folder with --allow-write %s", instead, folder)}
	case instead == "":
		return &DeniedError{path, reason + "write to a folder that its operator allows with --allow-write"}
	}
	return &DeniedError{path, reason + fmt.Sprintf(
		"write to %s, or to a folder that its operator allows with --allow-write", instead)}
}

// liesAround reports whether what is reserved lies in the folder, so that no server lets documents write there. It
// does if only documents are there, and what is hidden.
func (r *Root) liesAround(folder string) bool {
	return slices.ContainsFunc(r.reserved.paths, func(reserved string) bool {
		return slices.ContainsFunc([]string{folder, Followed(folder)}, func(folder string) bool {
			name, err := filepath.Rel(folder, reserved)
			return err == nil && r.within(reserved, folder) && !r.confined.owns(reserved) &&
				!strings.HasPrefix(name, ".") && !strings.Contains(name, "/.")
		})
	})
}

// steadyDisk is a folder of a Root in which documents of other people write. Each change goes to the folder of
// its name step by step, see enter.
type steadyDisk struct {
	disk.Disk
	root   *Root
	handle *os.Root
}

// in does something in the folder that a name lies in.
func (d steadyDisk) in(name string, do func(folder disk.Disk, name string) error) error {
	folder, err := d.root.enter(d.handle, path.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return do(disk.Of(folder), path.Base(name))
}

// inBoth is in for two names of one folder.
func (d steadyDisk) inBoth(a, b string, do func(folder disk.Disk, a, b string) error) error {
	if path.Dir(a) != path.Dir(b) {
		return fmt.Errorf("%s and %s lie in two folders", a, b)
	}
	return d.in(a, func(folder disk.Disk, a string) error { return do(folder, a, path.Base(b)) })
}

// Lstat does what disk.Disk says.
func (d steadyDisk) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.in(name, func(folder disk.Disk, name string) (err error) {
		info, err = folder.Lstat(name)
		return err
	})
	return info, err
}

// OpenFile does what disk.Disk says.
func (d steadyDisk) OpenFile(name string, flag int, perm fs.FileMode) (file disk.File, err error) {
	err = d.in(name, func(folder disk.Disk, name string) (err error) {
		file, err = folder.OpenFile(name, flag, perm)
		return err
	})
	return file, err
}

// Names does what disk.Disk says.
func (d steadyDisk) Names(dir string) ([]string, error) {
	folder, err := d.root.enter(d.handle, dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return disk.Of(folder).Names(".")
}

// Mkdir does what disk.Disk says.
func (d steadyDisk) Mkdir(name string, perm fs.FileMode) error {
	return d.in(name, func(folder disk.Disk, name string) error { return folder.Mkdir(name, perm) })
}

// Remove does what disk.Disk says.
func (d steadyDisk) Remove(name string) error {
	return d.in(name, func(folder disk.Disk, name string) error { return folder.Remove(name) })
}

// RemoveAll does what disk.Disk says.
func (d steadyDisk) RemoveAll(name string) error {
	return d.in(name, func(folder disk.Disk, name string) error { return folder.RemoveAll(name) })
}

// SyncDir does what disk.Disk says.
func (d steadyDisk) SyncDir(name string) error {
	folder, err := d.root.enter(d.handle, name)
	if err != nil {
		return err
	}
	defer folder.Close()
	return disk.Of(folder).SyncDir(".")
}

// Link does what disk.Disk says.
func (d steadyDisk) Link(from, to string) error {
	return d.inBoth(from, to, func(folder disk.Disk, from, to string) error { return folder.Link(from, to) })
}

// Rename does what disk.Disk says.
func (d steadyDisk) Rename(from, to string) error {
	return d.inBoth(from, to, func(folder disk.Disk, from, to string) error { return folder.Rename(from, to) })
}

// Exchange does what disk.Disk says.
func (d steadyDisk) Exchange(a, b string) error {
	return d.inBoth(a, b, func(folder disk.Disk, a, b string) error { return folder.Exchange(a, b) })
}
