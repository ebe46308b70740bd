package pipeline

import (
	"slices"
	"strings"
)

// Sound reports whether the document has no problem at the path or below it, as far as Load has looked, and no reference to a parameter
// with one. What is not sound may be missing from Pipeline, or be there with zero values.
func (d *Document) Sound(path string) bool {
	for _, at := range d.unresolved {
		if at == path || isBelow(at, path) {
			return false
		}
	}
	for i := range d.Problems {
		if at := d.Problems[i].Path; at == path || isBelow(at, path) {
			return false
		}
	}
	return true
}

// SoundItself reports whether the mapping or list at the path has no problem of its own, such as an unknown key. What is
// below it may have some.
func (d *Document) SoundItself(path string) bool {
	for i := range d.Problems {
		if d.Problems[i].Path == path {
			return false
		}
	}
	return true
}

// Has reports whether the document has something at the path, sound or not.
func (d *Document) Has(path string) bool { return d.find(path) != nil }

// HasUnknownKey reports whether the mapping at the path has a key that is not known, which may stand for any known one.
func (d *Document) HasUnknownKey(path string) bool { return slices.Contains(d.unknownKeys, path) }

// isBelow reports whether the path leads to something inside of what the ancestor leads to.
func isBelow(path, ancestor string) bool {
	rest, is := strings.CutPrefix(path, ancestor)
	return is && rest != "" && (ancestor == "" || rest[0] == '.' || rest[0] == '[')
}
