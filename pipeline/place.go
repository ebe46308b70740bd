package pipeline

import (
	"fmt"
	"strconv"
	"strings"
)

// Key returns the path of the entry with this key in the mapping at path: steps[0].set.total, or steps[0].set["a.b"] for
// a key that is not made of ASCII letters, digits, _ and - alone.
func Key(path, key string) string {
	switch {
	case key == "" || strings.ContainsFunc(key, isPathSpecial):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

func isPathSpecial(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// Item returns the path of element i of the list at path: steps[2].
func Item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Position returns the place of what the path leads to, both numbers from 1: a single text itself, the key of a mapping
// or list, or the first sign of one that is in a list. For a path that the document does not have it is the place of the
// nearest ancestor that it has.
func (d *Document) Position(path string) (line, column int) {
	if d.root == nil {
		return 1, 1
	}
	nearest, _ := d.walk(path)
	return nearest.line, nearest.column
}

// find returns the node at the path, or nil if the document does not have it.
func (d *Document) find(path string) *node {
	if n, rest := d.walk(path); rest == "" {
		return n
	}
	return nil
}

// walk follows the path as far as the document has it, and returns the rest.
func (d *Document) walk(path string) (n *node, rest string) {
	n = d.root
	for path != "" {
		key, index, behind := cutPath(path)
		child := n.child(key, index)
		if child == nil {
			break
		}
		n, path = child, behind
	}
	return n, path
}

// cutPath splits the first element off a path: a key, or an index if that is not negative.
func cutPath(path string) (key string, index int, rest string) {
	path = strings.TrimPrefix(path, ".")
	if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(path, "[")); err == nil && strings.HasPrefix(path, "[") {
		key, _ = strconv.Unquote(quoted)
		return key, -1, strings.TrimPrefix(path[len(quoted)+1:], "]")
	}
	if number, rest, ok := strings.Cut(path, "]"); ok && strings.HasPrefix(path, "[") {
		if index, err := strconv.Atoi(number[1:]); err == nil {
			return "", index, rest
		}
	}
	end := len(path)
	if i := strings.IndexAny(path, ".["); i > 0 {
		end = i
	}
	return path[:end], -1, path[end:]
}

// Problem returns a problem at the path. The message is a format for fmt.Sprintf; values of secrets and environment
// variables that find their way into it are replaced, short ones as well where the document uses them at this path.
func (d *Document) Problem(path, format string, args ...any) Problem {
	line, column := d.Position(path)
	message := d.conceal(path, fmt.Sprintf(format, args...))
	return Problem{File: d.File, Line: line, Column: column, Path: path, Message: message}
}
