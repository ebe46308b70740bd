package file

import (
	"path/filepath"
	"strings"
)

// Reserve keeps documents away from files and folders, and all that is in these: from the record. They need not be there yet. Call it
// before the Root is used.
func (r *Root) Reserve(paths ...string) error {
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		r.reserved = append(r.reserved, absolute, followed(absolute))
	}
	return nil
}

// followed returns the path with all symbolic links followed, as far as there is anything.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return real
	}
	return filepath.Join(followed(filepath.Dir(path)), filepath.Base(path))
}

// checkReserved fails if name in the folder is reserved, or lies in what is. On the way to the folder there may be symbolic links; below it
// there are none, or name is where they led.
func (r *Root) checkReserved(f folder, name string) error {
	return r.eachReserved(f, name, func(path, reserved string) bool { return within(path, reserved) })
}

// checkAround fails if what is reserved lies in name in the folder: an output that is a folder takes the place of all in it.
func (r *Root) checkAround(f folder, name string) error {
	return r.eachReserved(f, name, func(path, reserved string) bool { return within(reserved, path) })
}

func (r *Root) eachReserved(f folder, name string, hits func(path, reserved string) bool) error {
	if len(r.reserved) == 0 {
		return nil
	}
	for _, path := range []string{filepath.Join(f.path, name), filepath.Join(f.real, name)} {
		for _, reserved := range r.reserved {
			if hits(path, reserved) {
				return &DeniedError{path, "the record, its payloads and what belongs to them are there (" + reserved + "), which no document reads or writes: choose another path"}
			}
		}
	}
	return nil
}

// within reports whether a clean path is folder, or lies in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
