package file

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Glob returns the paths that pattern matches, sorted bytewise; a pattern without *, ? or [ matches itself,
// whether it exists or not. Each element of the pattern is matched by path.Match on its own, so that * does not
// cross folders, and as in a shell a name that begins with a dot is matched by a leading dot only. What is
// matched is not only regular files: Open rejects the others by name, so that none is left out in silence.
//
// Folders that are symbolic links are passed if links are followed and the pattern names them; those that it
// merely matches are skipped. What is reserved is as if it were not there: a pattern does not tell what is in
// it. The error is a *DeniedError for a pattern that leads out of the Root, names what is reserved, or is
// malformed.
func (r *Root) Glob(pattern string) (found, skipped []string, err error) {
	_, name, err := r.Resolve(pattern)
	if err != nil {
		return nil, nil, err
	}
	if !IsPattern(name) {
		return []string{pattern}, nil, nil
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, nil, &DeniedError{pattern, "is not a valid pattern: " + err.Error()}
	}
	elements := strings.Split(name, string(filepath.Separator))
	named := slices.IndexFunc(elements, IsPattern)
	above := strings.TrimSuffix(filepath.Clean(pattern), name) // of an absolute pattern: its folder
	start := filepath.Join(elements[:named]...)
	root, begin, _, err := r.target(cmp.Or(above+start, "."))
	if err != nil {
		return nil, nil, err
	}
	folder, err := r.enter(root, begin)
	if err != nil {
		return nil, nil, ignoreMissing(err)
	}
	defer folder.Close()
	g := glob{root: folder, own: func(name string, entry fs.DirEntry) bool {
		info, err := entry.Info()
		return r.isReserved(root, filepath.Join(begin, name)) || err == nil && r.reserved.has(info)
	}}
	if err := g.expand(elements[named:]); err != nil {
		return nil, nil, ignoreMissing(err)
	}
	asNamed := func(names []string) []string {
		for i, match := range names {
			names[i] = above + filepath.Join(start, match)
		}
		slices.Sort(names)
		return names
	}
	return asNamed(g.found), asNamed(g.skipped), nil
}

// ignoreMissing returns nil for a folder that is not there, in which nothing matches.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// IsPattern reports whether a path may match others than itself.
func IsPattern(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// glob is a pattern as it is expanded below a folder.
type glob struct {
	root    *os.Root
	own     func(name string, entry fs.DirEntry) bool // what is reserved
	found   []string
	skipped []string // folders that are symbolic links
}

// expand finds the names in the folder that match the elements, one folder level after the other.
func (g *glob) expand(elements []string) error {
	g.found = []string{"."}
	for i, element := range elements {
		var next []string
		for _, folder := range g.found {
			matches, err := g.matchIn(folder, element, i < len(elements)-1)
			if err != nil {
				return err
			}
			next = append(next, matches...)
		}
		g.found = next
	}
	return nil
}

// matchIn returns what matches element in the folder: folders only, if more elements follow.
func (g *glob) matchIn(folder, element string, more bool) ([]string, error) {
	entries, err := fs.ReadDir(g.root.FS(), filepath.ToSlash(folder))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		ok, err := path.Match(element, entry.Name())
		if err != nil {
			return nil, err
		}
		hidden := entry.Name()[0] == '.' && element[0] != '.'
		name := filepath.Join(folder, entry.Name())
		switch {
		case !ok || hidden || g.own(name, entry):
		case more && entry.Type()&fs.ModeSymlink != 0:
			g.skipped = append(g.skipped, name)
		case !more || entry.IsDir():
			found = append(found, name)
		}
	}
	return found, nil
}
