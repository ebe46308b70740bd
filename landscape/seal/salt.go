package seal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// KeyBytes is the length of a key and of a salt in bytes.
const KeyBytes = 16

// A Key is the root of a tree of keys, the leaves of which are salts. From a key all keys below it follow, and none beside or above it.
// So the salt of one leaf is destroyed, and no other, by keeping the siblings along its path in place of the key.
type Key [KeyBytes]byte

// NewKey returns a random key.
func NewKey() (key Key) {
	_, _ = rand.Read(key[:]) // it never fails
	return key
}

// ParseKey returns the key with these bytes.
func ParseKey(bytes []byte) (Key, error) {
	if len(bytes) != KeyBytes {
		return Key{}, errors.New("a key has 16 bytes")
	}
	return Key(bytes), nil
}

// Chunk returns the key of a chunk's rows, given the key of their run. It is a part of the stored form of a seal; never change it.
func (k Key) Chunk(source string, chunk int64) Key {
	text := make([]byte, 0, 2*KeyBytes+len(source)+len("\x00")+8)
	text = append(append(append(text, k[:]...), source...), 0)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(chunk)))
	return Key(sum[:KeyBytes])
}

const (
	radix    = 32 // keys below a key
	minDepth = 3  // levels of keys below that of a chunk: room for 32,768 rows
	maxDepth = 12 // more than there can be rows
)

// depth returns how many levels of keys so many leaves have.
func depth(leaves int) int {
	d, room := minDepth, radix*radix*radix
	for ; room < leaves; d++ {
		room *= radix
	}
	return d
}

// child returns one of the keys below.
func (k Key) child(n int) Key {
	pair := sha256.Sum256(append(k[:], byte(n/2)))
	return Key(pair[KeyBytes*(n%2):][:KeyBytes])
}

// below returns the key that a leaf has so many levels below.
func (k Key) below(leaf, depth int) Key {
	for ; depth > 0; depth-- {
		k = k.child(leaf / width(depth-1) % radix)
	}
	return k
}

// salts gives the salts of the leaves of a cover one after the other.
type salts struct {
	cover Cover
	at    int // the node that covers the next leaf, or comes after it
	next  int // leaf
	below *descent
}

func newSalts(c Cover) *salts { return &salts{cover: c} }

// salt returns the salt of the next leaf; nil if it was destroyed.
func (s *salts) salt() *Key {
	leaf := s.next
	s.next++
	if s.below != nil && !s.cover.nodes[s.at].has(leaf) {
		s.at, s.below = s.at+1, nil
	}
	if s.at == len(s.cover.nodes) || !s.cover.nodes[s.at].has(leaf) {
		return nil
	}
	if s.below == nil {
		s.below = newDescent(s.cover.nodes[s.at])
	}
	return s.below.salt()
}

// descent gives the salts below a key one after the other: a hash for every two of them.
type descent struct {
	depth  int
	next   int
	hasher hasher
	level  [maxDepth + 1]struct {
		key  Key                // at this level, above the next leaf
		pair [2 * KeyBytes]byte // of keys, of which key is one
	}
}

func newDescent(n node) *descent {
	s := &descent{depth: n.depth}
	s.level[0].key = n.key
	return s
}

// salt returns the salt of the next leaf.
func (s *descent) salt() *Key {
	from := 1 // the highest level on which the next leaf has another key than the one before
	if s.next > 0 {
		from = s.depth
		for n := s.next; n%radix == 0; n /= radix {
			from--
		}
	}
	for d := from; d <= s.depth; d++ {
		s.descend(d)
	}
	s.next++
	return &s.level[s.depth].key
}

// descend takes the key at a level that leads to the next leaf.
func (s *descent) descend(d int) {
	child := s.next
	for range s.depth - d {
		child /= radix
	}
	child %= radix
	at := &s.level[d]
	if child%2 == 0 {
		at.pair = s.hasher.pair(&s.level[d-1].key, child/2)
		at.key = Key(at.pair[:KeyBytes])
		return
	}
	at.key = Key(at.pair[KeyBytes:])
}
