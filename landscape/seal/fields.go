package seal

import (
	"encoding/binary"
	"strconv"

	"waymark/pipeline/row"
)

// Fields are the values of some fields of the rows of a chunk, as one sink got the rows in one lane.
type Fields struct {
	Lane   int64
	Sink   string
	Names  []string // sorted by their bytes
	Rows   []int    // indexes in the chunk, ascending
	Ends   []int    // by row and name: where the value ends in Values. It begins where the one before ends; it is empty if the row does not have the field
	Values []byte   // in canonical form
}

// A Commitment is a leaf of the tree over the fields of one row.
type Commitment struct {
	Salt Key
	Line []byte // docs/seal.md; it has the field and its value
}

// FieldRoots returns for each row of a chunk the root of the tree over its fields, 32 bytes each; zero for a row without any, and for one whose salt was
// destroyed; nil if all are zero. first is the number of the first row, fields are sorted by lane and sink.
func FieldRoots(salts Cover, first int64, rows int, fields []Fields) (roots []byte) {
	if len(fields) == 0 {
		return nil
	}
	next, lines := newSalts(salts), newFieldLines(first, fields)
	var h hasher
	var leaves []Hash
	for i := range rows {
		salt := next.salt()
		if !lines.has(i) || salt == nil {
			lines.skip(i)
			continue
		}
		_, key := h.halves(salt)
		leaves = leaves[:0]
		lines.each(i, func(line []byte) {
			salt := h.fieldSalt(&key, len(leaves))
			leaves = append(leaves, h.leaf(&salt, func(dst []byte) []byte { return append(dst, line...) }))
		})
		if len(leaves) == 0 {
			continue
		}
		if roots == nil {
			roots = make([]byte, len(Hash{})*rows)
		}
		root := h.root(leaves)
		copy(roots[len(root)*i:], root[:])
	}
	return roots
}

// Commitments returns the leaves of the tree over the fields of one row, in their order, given the row's key: the salt that a Cover has of it.
func Commitments(key Key, first int64, i int, fields []Fields) (leaves []Commitment) {
	lines := newFieldLines(first, fields)
	for before := range i {
		lines.skip(before)
	}
	var h hasher
	_, key = h.halves(&key)
	lines.each(i, func(line []byte) {
		leaves = append(leaves, Commitment{h.fieldSalt(&key, len(leaves)), append([]byte(nil), line...)})
	})
	return leaves
}

// halves returns what follows from the key of a row that has fields: the salt of its body, and the key of its fields. From neither follows the other.
func (h *hasher) halves(key *Key) (body, fields Key) {
	pair := h.pair(key, 0)
	return Key(pair[:KeyBytes]), Key(pair[KeyBytes:])
}

// fieldSalt returns the salt of a leaf of the tree over the fields of a row.
func (h *hasher) fieldSalt(key *Key, leaf int) Key {
	h.message = binary.BigEndian.AppendUint32(append(h.message[:0], key[:]...), uint32(leaf))
	sum := h.sum()
	return Key(sum[:KeyBytes])
}

// root returns the root of the tree over at least one leaf. The leaves do not stay.
func (h *hasher) root(leaves []Hash) Hash {
	for len(leaves) > 1 {
		half := len(leaves) / 2
		for j := range half {
			leaves[j] = h.node(&leaves[2*j], &leaves[2*j+1])
		}
		if len(leaves)%2 == 1 {
			leaves[half] = leaves[len(leaves)-1]
			half++
		}
		leaves = leaves[:half]
	}
	return leaves[0]
}

// fieldLines makes the lines of one row after the other.
type fieldLines struct {
	first  int64
	fields []Fields
	next   []int    // by fields: of the rows there, the first that was not passed
	begin  []int    // and where its values begin
	before [][]byte // by fields and name: a line up to the row's number
	after  [][]byte // by fields: a line from there to the value
	line   []byte
}

func newFieldLines(first int64, fields []Fields) *fieldLines {
	l := &fieldLines{first: first, fields: fields, next: make([]int, len(fields)), begin: make([]int, len(fields))}
	for _, f := range fields {
		for _, name := range f.Names {
			line := row.AppendValue([]byte(`{"field":`), row.StringValue(name))
			line = strconv.AppendInt(append(line, `,"lane":`...), f.Lane, 10)
			l.before = append(l.before, append(line, `,"row":`...))
		}
		l.after = append(l.after, append(row.AppendValue([]byte(`,"sink":`), row.StringValue(f.Sink)), `,"value":`...))
	}
	return l
}

// has reports whether the next row, of which this is the index, has fields.
func (l *fieldLines) has(i int) bool {
	for f := range l.fields {
		if l.holds(f, i) {
			return true
		}
	}
	return false
}

func (l *fieldLines) holds(f, i int) bool {
	return l.next[f] < len(l.fields[f].Rows) && l.fields[f].Rows[l.next[f]] == i
}

// skip passes a row.
func (l *fieldLines) skip(i int) { l.each(i, func([]byte) {}) }

// each passes a row, and calls yield with the line of each of its fields; the next one takes its place.
func (l *fieldLines) each(i int, yield func(line []byte)) {
	at := 0 // in before
	for f := range l.fields {
		of := &l.fields[f]
		if l.holds(f, i) {
			for n := range of.Names {
				end := of.Ends[l.next[f]*len(of.Names)+n]
				if value := of.Values[l.begin[f]:end]; len(value) > 0 {
					l.line = strconv.AppendInt(append(l.line[:0], l.before[at+n]...), l.first+int64(i), 10)
					l.line = append(append(append(l.line, l.after[f]...), value...), '}')
					yield(l.line)
				}
				l.begin[f] = end
			}
			l.next[f]++
		}
		at += len(of.Names)
	}
}

// FieldRoot returns the root of the tree over the fields of a row.
func FieldRoot(leaves []Commitment) Hash {
	hashes := make([]Hash, len(leaves))
	for i, leaf := range leaves {
		hashes[i] = LeafHash(leaf.Salt, leaf.Line)
	}
	return rootOf(hashes)
}
