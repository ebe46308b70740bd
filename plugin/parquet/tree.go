package parquet

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// shape says how a node of the schema is written.
type shape uint8

const (
	leafShape   shape = iota
	objectShape       // a group: one key for each child
	listShape         // a group whose only child is repeated: its elements
	mapShape          // a group whose only child is repeated and has a key and a value
)

// node is one element of a file's schema.
type node struct {
	name     string
	path     string // names of the nodes from the root to here, with dots
	label    []byte // the name as a key, with its colon
	shape    shape
	optional bool
	repeated bool
	def, rep int // levels of a value that is there, and of its repetitions
	children []*node
	first    int // of the columns below it
	columns  int // below it
	leaf     leaf
}

// treeBuilder reads the schema, which is a list of its nodes, each before its children.
type treeBuilder struct {
	elements []format.SchemaElement
	at       int
	leaves   []*node
}

// newTree returns the root of a schema and its columns in order.
func newTree(elements []format.SchemaElement) (root *node, leaves []*node, err error) {
	b := treeBuilder{elements: elements}
	root, err = b.next(nil, 0)
	if err == nil && b.at != len(elements) {
		err = fault(codeCorrupt, "its schema has %d elements, and only %d of them have a place", len(elements), b.at)
	}
	if err == nil && root.shape == leafShape {
		err = fault(codeCorrupt, "its schema has no columns")
	}
	return root, b.leaves, err
}

func (b *treeBuilder) next(parent *node, depth int) (*node, error) {
	if b.at >= len(b.elements) {
		return nil, fault(codeCorrupt, "its schema is not whole")
	}
	if depth > maxNesting {
		return nil, fault(codeUnsupported, "its columns are nested more than %d groups deep", maxNesting)
	}
	element := &b.elements[b.at]
	b.at++
	if old := element.ConvertedType; old.Valid && (old.V < deprecated.UTF8 || old.V > deprecated.Interval) {
		return nil, fault(codeUnsupported, "the column %q has the converted type %d, which nobody knows", element.Name, old.V)
	}
	n := &node{name: element.Name, first: len(b.leaves)}
	if parent != nil {
		n.def, n.rep, n.path = parent.def, parent.rep, n.name
		if parent.path != "" {
			n.path = parent.path + "." + n.name
		}
		if err := n.repetition(element); err != nil {
			return nil, err
		}
	}
	if element.Type.Valid {
		return n, b.addLeaf(n, element)
	}
	return n, b.addGroup(n, element, depth)
}

func (n *node) repetition(element *format.SchemaElement) error {
	if !utf8.ValidString(n.name) {
		return fault(codeEncoding, "the name of a column is not valid UTF-8: %q", n.name)
	}
	if n.name == "" {
		return fault(codeNameless, "a column has no name")
	}
	n.label = append(appendString(nil, n.name), ':')
	repetition := format.Required
	if element.RepetitionType.Valid {
		repetition = element.RepetitionType.V
	}
	switch repetition {
	case format.Required:
	case format.Optional:
		n.optional, n.def = true, n.def+1
	case format.Repeated:
		n.repeated, n.def, n.rep = true, n.def+1, n.rep+1
	default:
		return fault(codeCorrupt, "the column %q is neither required nor optional nor repeated", n.name)
	}
	return nil
}

func (b *treeBuilder) addLeaf(n *node, element *format.SchemaElement) error {
	if len(b.leaves) == maxColumns {
		return fault(codeColumns, "the file has more than %d columns", maxColumns)
	}
	var err error
	n.leaf, err = newLeaf(element)
	n.columns = 1
	b.leaves = append(b.leaves, n)
	return err
}

func (b *treeBuilder) addGroup(n *node, element *format.SchemaElement, depth int) error {
	n.shape = objectShape
	children := int(element.NumChildren.V)
	if children < 1 || children > len(b.elements)-b.at {
		return fault(codeCorrupt, "its schema says that %q has %d children", n.name, children)
	}
	names := make(map[string]bool, children)
	for range children {
		child, err := b.next(n, depth+1)
		if err != nil {
			return err
		}
		if names[child.name] {
			return fault(codeCollision, "two columns have the name %q", child.name)
		}
		names[child.name] = true
		n.children = append(n.children, child)
	}
	n.columns = len(b.leaves) - n.first
	if old := element.ConvertedType; old.Valid && old.V != deprecated.List && old.V != deprecated.Map && old.V != deprecated.MapKeyValue {
		return fault(codeCorrupt, "the column %q is a group, and has the converted type %d, which no group has", n.path, old.V)
	}
	if _, variant := element.LogicalType.Value.(*format.VariantType); variant {
		return fault(codeUnsupported, "the column %q is a VARIANT, which is not read: cast it to JSON, or to columns, when you write the file", n.path)
	}
	n.mark(element)
	return nil
}

// mark finds lists and maps. What they are is in the children, in one of several historical ways. Source: the Parquet format's
// LogicalTypes.md, "Lists" and "Maps".
func (n *node) mark(element *format.SchemaElement) {
	if len(n.children) != 1 || !n.children[0].repeated {
		return
	}
	middle := n.children[0]
	old := deprecated.ConvertedType(-1)
	if element.ConvertedType.Valid {
		old = element.ConvertedType.V
	}
	_, list := element.LogicalType.Value.(*format.ListType)
	_, mapping := element.LogicalType.Value.(*format.MapType)
	switch {
	case list || old == deprecated.List:
		n.shape = listShape
	case (mapping || old == deprecated.Map || old == deprecated.MapKeyValue) && middle.isEntry():
		n.shape = mapShape
	}
}

// isEntry reports whether the node is a key with a value, and the key can be one of an object.
func (n *node) isEntry() bool {
	return n.shape == objectShape && len(n.children) == 2 && n.children[0].shape == leafShape && !n.children[0].repeated && !n.children[1].repeated
}

// element returns the node of the elements of a list: its repeated child, or the only child of that.
func (n *node) element() *node {
	middle := n.children[0]
	if middle.shape != objectShape || len(middle.children) > 1 || middle.children[0].repeated || middle.name == "array" || middle.name == n.name+"_tuple" {
		return middle
	}
	return middle.children[0]
}

// names returns the names of the columns of the rows.
func (n *node) names() []string {
	names := make([]string, len(n.children))
	for i, child := range n.children {
		names[i] = child.name
	}
	return names
}

// namesText lists names for people.
func namesText(names []string) string {
	const most = 20
	more := ""
	if len(names) > most {
		names, more = slices.Clone(names[:most]), ", …"
	}
	return strings.Join(names, ", ") + more
}
