package pipeline

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// Leaf is one value of a document, or the order of the entries of a mapping or list.
type Leaf struct {
	Path  string // of the value, such as steps.large.gate.when: an item of a list that has a name is called by it, and not by its number
	Text  string // the value as written, with its references; or the names of the entries in their order
	Order bool   // it is an order
}

// Leaves returns what a document says, value by value, in the document's order. Comments and layout say nothing. Nor does the order of the keys
// of the document itself, and of its steps.
func (d *Document) Leaves() []Leaf {
	if d.root == nil {
		return nil
	}
	return d.root.leaves(nil, "", false)
}

// leaves appends those of the node. ordered says that the order of its keys means something.
func (n *node) leaves(dst []Leaf, path string, ordered bool) []Leaf {
	switch n.kind {
	case mappingNode:
		var names []string
		for _, entry := range n.entries {
			names = append(names, entry.key)
			dst = entry.value.leaves(dst, Key(path, entry.key), path != "" || entry.key == "sources" || entry.key == "sinks")
		}
		if ordered && len(names) > 1 {
			dst = append(dst, Leaf{path, strings.Join(names, ", "), true})
		}
	case listNode:
		var names []string
		for i, item := range n.items {
			at := Item(path, i)
			if named := item.byKey["name"]; named != nil && named.text != "" {
				at = Key(path, named.text)
				names = append(names, named.text)
			}
			dst = item.leaves(dst, at, false)
		}
		if len(names) > 1 {
			dst = append(dst, Leaf{path, strings.Join(names, ", "), true})
		}
	case nullNode:
		dst = append(dst, Leaf{Path: path, Text: "null"})
	default:
		dst = append(dst, Leaf{Path: path, Text: n.scalar()})
	}
	return dst
}

// likeNoText is what a text without quotes would be something else than a text.
var likeNoText = regexp.MustCompile(`^([-+.0-9][-+.0-9a-zA-Z_]*|true|false|null|~|)$`)

// scalar returns the text of a scalar; one in quotes that would be something else without them keeps them.
func (n *node) scalar() string {
	if n.plain == token.StringType || n.quoted {
		if n.quoted && likeNoText.MatchString(n.text) {
			return strconv.Quote(n.text)
		}
	}
	return n.text
}
