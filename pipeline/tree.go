package pipeline

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

type nodeKind int

const (
	scalarNode nodeKind = iota
	nullNode
	mappingNode
	listNode
)

// node is one value of the YAML document.
type node struct {
	kind    nodeKind
	line    int // see Document.Position
	column  int
	text    string     // of a scalar or null: as written if plain, without quotes and escapes otherwise
	plain   token.Type // of a scalar: as what YAML reads a plain one; token.StringType for a quoted one
	quoted  bool       // of a scalar: in quotes, or a block
	entries []entry    // of a mapping, in order
	byKey   map[string]*node
	written bool    // of a mapping: it has keys, if only refused ones
	items   []*node // of a list
}

type entry struct {
	key    string
	line   int // of the key
	column int
	value  *node
}

// child returns the entry with the key if index is negative, otherwise the item with the index; nil if there is none.
func (n *node) child(key string, index int) *node {
	if index >= 0 {
		if index < len(n.items) {
			return n.items[index]
		}
		return nil
	}
	return n.byKey[key]
}

// treeBuilder turns the library's tree into nodes, and notes what the library lets pass.
type treeBuilder struct {
	report func(at *token.Token, path, format string, args ...any)
}

func (b treeBuilder) node(path string, in ast.Node) *node {
	at := in.GetToken()
	n := &node{line: at.Position.Line, column: at.Position.Column}
	switch in := in.(type) {
	case *ast.MappingNode:
		b.mapping(path, n, in)
	case *ast.SequenceNode:
		b.list(path, n, in)
	case *ast.NullNode:
		n.kind, n.text = nullNode, at.Value
	case *ast.StringNode:
		n.text, n.plain = in.Value, at.Type
		n.quoted = at.Type != token.StringType
	case *ast.LiteralNode:
		n.text, n.plain, n.quoted = in.Value.Value, token.StringType, true
	default: // numbers and bools
		n.text, n.plain = at.Value, at.Type
	}
	return n
}

func (b treeBuilder) list(path string, n *node, in *ast.SequenceNode) {
	n.kind = listNode
	n.line, n.column = in.Start.Position.Line, in.Start.Position.Column
	for i, value := range in.Values {
		n.items = append(n.items, b.node(Item(path, i), value))
	}
}

func (b treeBuilder) mapping(path string, n *node, in *ast.MappingNode) {
	n.kind = mappingNode
	if len(in.Values) > 0 && !in.IsFlowStyle {
		first := in.Values[0].Key.GetToken().Position
		n.line, n.column = first.Line, first.Column
	}
	n.written = len(in.Values) > 0
	n.byKey = map[string]*node{}
	keys := map[string]*token.Token{}
	for _, pair := range in.Values {
		at := pair.Key.GetToken()
		key, ok := b.key(path, pair.Key)
		if !ok {
			continue
		}
		if earlier, twice := keys[key]; twice {
			b.report(at, path, "the key %q is here twice: first in line %d", key, earlier.Position.Line)
			continue
		}
		keys[key] = at
		value := b.node(Key(path, key), pair.Value)
		if value.kind != scalarNode {
			value.line, value.column = at.Position.Line, at.Position.Column
		}
		n.entries = append(n.entries, entry{key, at.Position.Line, at.Position.Column, value})
		n.byKey[key] = value
	}
}

func (b treeBuilder) key(path string, in ast.MapKeyNode) (string, bool) {
	at := in.GetToken()
	text, ok := in.(*ast.StringNode)
	if !ok {
		b.report(at, path, "keys are texts: write %q in quotes", at.Value)
		return "", false
	}
	if key, refs, err := splitReferences(text.Value); err == nil && len(refs) == 0 {
		return key, true
	}
	b.report(at, path, "the key %q: references are not replaced in keys; write $${ for a literal ${", text.Value)
	return "", false
}
