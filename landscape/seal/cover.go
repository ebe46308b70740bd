package seal

import (
	"errors"
	"maps"
	"slices"
)

// A Cover is what is left of a tree of keys after the salts of some leaves were destroyed: keys from which all other salts follow, and none of
// these. Of a tree from which nothing was destroyed it is the key of the tree.
type Cover struct {
	leaves int
	nodes  []node // by first leaf
}

// node is a key, and which leaves are below it.
type node struct {
	key   Key
	first int // leaf
	depth int // levels of keys below
}

// width returns how many leaves are below a key with so many levels.
func width(depth int) int {
	n := 1
	for range depth {
		n *= radix
	}
	return n
}

// Whole returns the cover of all leaves below a key.
func Whole(key Key, leaves int) Cover {
	return Cover{leaves, []node{{key, 0, depth(leaves)}}}
}

// ParseCover returns the cover whose Keys these are, without the salts of some leaves, ascending.
func ParseCover(keys []byte, leaves int, without []int) (Cover, error) {
	c := Cover{leaves: leaves}
	if keys = c.parse(keys, 0, depth(leaves), without); keys == nil || len(keys) > 0 {
		return Cover{}, errors.New("the keys do not fit the leaves whose salts were destroyed")
	}
	return c, nil
}

// parse takes the keys of a subtree, and returns the rest; nil if one is missing.
func (c *Cover) parse(keys []byte, first, depth int, without []int) []byte {
	from, _ := slices.BinarySearch(without, first)
	to, _ := slices.BinarySearch(without, first+width(depth))
	switch {
	case first >= c.leaves || keys == nil || depth == 0 && from < to:
		return keys
	case from < to:
		for child := range radix {
			keys = c.parse(keys, first+child*width(depth-1), depth-1, without[from:to])
		}
		return keys
	case len(keys) < KeyBytes:
		return nil
	}
	c.nodes = append(c.nodes, node{Key(keys), first, depth})
	return keys[KeyBytes:]
}

// Keys returns the keys, in the order of their leaves, 16 bytes each.
func (c Cover) Keys() []byte {
	keys := make([]byte, 0, KeyBytes*len(c.nodes))
	for i := range c.nodes {
		keys = append(keys, c.nodes[i].key[:]...)
	}
	return keys
}

// Without returns the cover from which the salt of one more leaf does not follow.
func (c Cover) Without(leaf int) Cover {
	at, ok := c.find(leaf)
	if !ok {
		return c
	}
	nodes := slices.Clone(c.nodes[:at])
	nodes = c.siblings(nodes, c.nodes[at], leaf)
	return Cover{c.leaves, append(nodes, c.nodes[at+1:]...)}
}

// siblings appends the keys below one that do not lead to a leaf.
func (c Cover) siblings(nodes []node, n node, leaf int) []node {
	if n.depth == 0 {
		return nodes
	}
	for child := range radix {
		below := node{n.key.child(child), n.first + child*width(n.depth-1), n.depth - 1}
		switch {
		case below.first >= c.leaves:
		case below.has(leaf):
			nodes = c.siblings(nodes, below, leaf)
		default:
			nodes = append(nodes, below)
		}
	}
	return nodes
}

func (n node) has(leaf int) bool { return n.first <= leaf && leaf < n.first+width(n.depth) }

// find returns which node a leaf is below.
func (c Cover) find(leaf int) (at int, ok bool) {
	at, ok = slices.BinarySearchFunc(c.nodes, leaf, func(n node, leaf int) int {
		if n.has(leaf) {
			return 0
		}
		return n.first - leaf
	})
	return at, ok && leaf < c.leaves
}

// Salt returns the salt of a leaf; false if it was destroyed.
func (c Cover) Salt(leaf int) (salt Key, ok bool) {
	at, ok := c.find(leaf)
	if !ok {
		return Key{}, false
	}
	n := c.nodes[at]
	return n.key.below(leaf-n.first, n.depth), true
}

func sortedKeys(forgotten map[int]Hash) []int { return slices.Sorted(maps.Keys(forgotten)) }
