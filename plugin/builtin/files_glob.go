package builtin

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Glob returns the paths that pattern matches, sorted bytewise; a pattern without *, ? or [ matches itself, whether it
// exists or not. Each element of the pattern is matched by path.Match on its own, so that * does not cross folders, and as
// in a shell a name that begins with a dot is matched by a leading dot only. What is matched is not only regular files:
// Open refuses the others by name, so that none is left out in silence. The error is a *RefusedError for a pattern that
// leads out of the Root or is malformed.
func (r *Root) Glob(pattern string) ([]string, error) {
	root, name, err := r.Resolve(pattern)
	if err != nil {
		return nil, err
	}
	if !hasMeta(name) {
		return []string{pattern}, nil
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, &RefusedError{pattern, "is not a valid pattern: " + err.Error()}
	}
	found, err := expand(root, strings.Split(name, string(filepath.Separator)))
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(filepath.Clean(pattern), name) // of an absolute pattern: its folder
	for i, match := range found {
		found[i] = prefix + match
	}
	slices.Sort(found)
	return found, nil
}

func hasMeta(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// expand returns the names that match the elements, one folder level after the other.
func expand(root *os.Root, elements []string) ([]string, error) {
	found := []string{"."}
	for i, element := range elements {
		var next []string
		for _, folder := range found {
			matches, err := matchIn(root, folder, element, i < len(elements)-1)
			if err != nil {
				return nil, err
			}
			next = append(next, matches...)
		}
		found = next
	}
	return found, nil
}

// matchIn returns what matches element in the folder: folders only, if more elements follow.
func matchIn(root *os.Root, folder, element string, more bool) ([]string, error) {
	if err := refuseLink(root, folder); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(folder))
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
		passable := !more || entry.IsDir() || entry.Type()&fs.ModeSymlink != 0
		if ok && !hidden && passable {
			found = append(found, filepath.Join(folder, entry.Name()))
		}
	}
	return found, nil
}
