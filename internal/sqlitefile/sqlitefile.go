// Package sqlitefile names SQLite databases by their paths. SQLite takes names as URIs, in which ?, # and % have a meaning:
// a path that is not escaped opens another file than the one it names.
package sqlitefile

import (
	"fmt"
	"net/url"
	"path/filepath"
)

// MaxPathBytes is the longest path of a database, with all symbolic links followed, that SQLite opens: 512 bytes, less 8 for
// the name of its journal. Source: MAX_PATHNAME in SQLite's os.h, and sqlite3PagerOpen.
const MaxPathBytes = 512 - len("-journal")

// URI returns the URI of the database at path, with these parameters. The error is that of Path.
func URI(path string, parameters url.Values) (string, error) {
	escaped, err := Path(path)
	if err != nil {
		return "", err
	}
	return "file:" + escaped + "?" + parameters.Encode(), nil
}

// Path returns the path in the URI of the database at path: absolute and escaped. The file need not be there. The error says that
// SQLite opens no database with a path of this length.
func Path(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if n := len(followed(absolute)); n > MaxPathBytes {
		return "", fmt.Errorf("%s: the path is %d bytes long, and SQLite takes at most %d: choose a folder with a shorter path", absolute, n, MaxPathBytes)
	}
	return (&url.URL{Path: absolute}).EscapedPath(), nil
}

// followed returns where the symbolic links in an absolute path lead, as far as they lead anywhere.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}
