package seal

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// NoWay is the code of a row that has no token in a lane, or was not merged there.
const NoWay = 0xFFFF

// Rows are what is recorded of the rows of one chunk when it has gone through the steps. Columns have an entry for each row.
type Rows struct {
	First   int64    // number of the first row of its origin
	Hashes  []byte   // 32 each: SHA-256 of the record as read
	Offsets []uint32 // of the record in the pack's data
	Lengths []uint32
	Lines   []uint32 // counted from the chunk's first; nil if each record has one line
	Ways    []Codes  // by lane
	Columns []Column // of hashes, by lane and node
	Keys    []Column // by the name of their fields: Node is the place in that order, Lane is 0
	Firsts  []Column // of repeats, by lane and node
	Errors  []Error  // by row, lane and node
	Joins   []Codes  // by lane
	Parents Parents
	Fields  []byte // 32 each: the root of the tree over the row's fields, zero if it has none; nil if no row has any

	Forgotten map[int]Hash // by index: leaves of rows of which the rest does not count any more
}

// Codes are one id for each row in a lane.
type Codes struct {
	Lane  uint16
	IDs   [][8]byte
	Codes []uint16 // index into IDs, or NoWay
}

// Column is a column of values of one size. A row whose value is zero has none.
type Column struct {
	Lane, Node uint16
	Values     []byte
}

// Error is why a token was refused.
type Error struct {
	Row        int // index in the chunk
	Lane, Node uint16
	Digest     Hash // SHA-256 of the line of its record
}

// Parents say what the rows of a barrier were made of; the zero value is of a source's rows.
type Parents struct {
	Batches []byte // 4 each
	Tokens  []byte // 8 each; nil if rows are made of whole batches
}

// The parts of a row's body. Stored in hashes; never change one.
const (
	rowPart = 0x77 // followed by 'm' and the version

	recordPart = 0x01
	wayPart    = 0x02
	hashPart   = 0x03
	keyPart    = 0x04
	firstPart  = 0x05
	errorPart  = 0x06
	joinPart   = 0x07
	parentPart = 0x08

	bodyVersion = 0x01
)

// Len returns the number of rows.
func (r *Rows) Len() int { return len(r.Offsets) }

// Root returns the root of the tree over the rows, with the salts of a cover. A leaf without a salt, which is not among Forgotten, is zero.
func (r *Rows) Root(salts Cover) Hash {
	var t tree
	r.leaves(salts, t.add)
	return t.root()
}

// Prove returns the salt of the body of one row, and its path to the root that Root returns; false if the salt was destroyed.
func (r *Rows) Prove(salts Cover, i int) (salt Key, path []Hash, ok bool) {
	salt, ok = salts.Salt(i)
	path = Path(r.Leaves(salts), i)
	if fields := r.fields(i); fields != nil {
		salt, _ = new(hasher).halves(&salt)
		path = append([]Hash{*fields}, path...)
	}
	return salt, path, ok
}

// ProveFields returns the root of the tree over the fields of one row, and the path from there to the root that Root returns; false if the row has no
// fields, or its salt was destroyed.
func (r *Rows) ProveFields(salts Cover, i int) (root Hash, path []Hash, ok bool) {
	salt, ok := salts.Salt(i)
	fields := r.fields(i)
	if !ok || fields == nil {
		return Hash{}, nil, false
	}
	salt, _ = new(hasher).halves(&salt)
	return *fields, append([]Hash{LeafHash(salt, r.Body(i))}, Path(r.Leaves(salts), i)...), true
}

// fields returns the root of the tree over the fields of one row; nil if it has none.
func (r *Rows) fields(i int) *Hash {
	if r.Fields == nil || zero(r.Fields[32*i:32*i+32]) {
		return nil
	}
	return (*Hash)(r.Fields[32*i:])
}

// Leaves returns the leaf of each row, in order.
func (r *Rows) Leaves(salts Cover) []Hash {
	leaves := make([]Hash, 0, r.Len())
	r.leaves(salts, func(hash Hash) { leaves = append(leaves, hash) })
	return leaves
}

// Leaf returns the leaf of one row.
func (r *Rows) Leaf(salts Cover, i int) Hash {
	if hash, ok := r.Forgotten[i]; ok {
		return hash
	}
	salt, ok := salts.Salt(i)
	if !ok {
		return Hash{}
	}
	body := r.Body(i)
	return new(hasher).row(&salt, r.fields(i), func(dst []byte) []byte { return append(dst, body...) })
}

// leaves calls add with the leaf of each row, in order.
func (r *Rows) leaves(cover Cover, add func(Hash)) {
	r.sort()
	salts := newSalts(cover)
	i := 0
	body := func(dst []byte) []byte { return r.appendBody(dst, i) }
	var h hasher
	for ; i < r.Len(); i++ {
		hash, forgotten := r.Forgotten[i]
		switch salt := salts.salt(); {
		case forgotten || salt == nil:
		case r.Fields == nil:
			hash = h.leaf(salt, body)
		default:
			hash = h.row(salt, r.fields(i), body)
		}
		add(hash)
	}
}

// Blank reports whether no hash is recorded of a row, and no key.
func (r *Rows) Blank(i int) bool {
	blank := zero(r.Hashes[32*i : 32*i+32])
	for _, column := range r.Columns {
		blank = blank && zero(column.Values[32*i:32*i+32])
	}
	for _, key := range r.Keys {
		blank = blank && zero(key.Values[4*i:4*i+4])
	}
	return blank
}

// Body returns what is sealed of one row, without its salt.
func (r *Rows) Body(i int) []byte {
	r.sort()
	return r.appendBody(nil, i)
}

// sort puts everything into the order of a body.
func (r *Rows) sort() {
	byLane := func(a, b Codes) int { return cmp.Compare(a.Lane, b.Lane) }
	byNode := func(a, b Column) int { return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Node, b.Node)) }
	slices.SortFunc(r.Ways, byLane)
	slices.SortFunc(r.Joins, byLane)
	slices.SortFunc(r.Columns, byNode)
	slices.SortFunc(r.Keys, byNode)
	slices.SortFunc(r.Firsts, byNode)
	slices.SortFunc(r.Errors, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Node, b.Node))
	})
}

func (r *Rows) appendBody(dst []byte, i int) []byte {
	dst = append(dst, rowPart, 'm', bodyVersion)
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.First)+uint64(i))
	dst = r.appendRecord(dst, i)
	dst = appendCodes(dst, wayPart, r.Ways, i)
	dst = appendColumns(dst, hashPart, r.Columns, i, 32)
	dst = r.appendKeys(dst, i)
	dst = appendColumns(dst, firstPart, r.Firsts, i, 8)
	dst = r.appendErrors(dst, i)
	dst = appendCodes(dst, joinPart, r.Joins, i)
	return r.Parents.append(dst, i)
}

// appendRecord appends where the record is, and what it hashes to.
func (r *Rows) appendRecord(dst []byte, i int) []byte {
	dst = append(append(dst, recordPart), r.Hashes[32*i:32*i+32]...)
	dst = binary.BigEndian.AppendUint32(dst, r.Offsets[i])
	dst = binary.BigEndian.AppendUint32(dst, r.Lengths[i])
	line := uint32(0)
	if r.Lines != nil {
		line = r.Lines[i]
	}
	return binary.BigEndian.AppendUint32(dst, line)
}

func (r *Rows) appendKeys(dst []byte, i int) []byte {
	for _, key := range r.Keys { // without a lane
		if value := key.Values[4*i : 4*i+4]; !zero(value) {
			dst = append(binary.BigEndian.AppendUint16(append(dst, keyPart), key.Node), value...)
		}
	}
	return dst
}

func appendCodes(dst []byte, part byte, lanes []Codes, i int) []byte {
	for l := range lanes {
		lane := &lanes[l]
		if code := lane.Codes[i]; code != NoWay {
			dst = binary.BigEndian.AppendUint16(append(dst, part), lane.Lane)
			dst = append(dst, lane.IDs[code][:]...)
		}
	}
	return dst
}

func appendColumns(dst []byte, part byte, columns []Column, i, size int) []byte {
	for c := range columns {
		column := &columns[c]
		if value := column.Values[size*i : size*(i+1)]; !zero(value) {
			dst = binary.BigEndian.AppendUint16(append(dst, part), column.Lane)
			dst = append(binary.BigEndian.AppendUint16(dst, column.Node), value...)
		}
	}
	return dst
}

func (r *Rows) appendErrors(dst []byte, i int) []byte {
	at, _ := slices.BinarySearchFunc(r.Errors, i, func(e Error, row int) int { return cmp.Compare(e.Row, row) })
	for ; at < len(r.Errors) && r.Errors[at].Row == i; at++ {
		e := &r.Errors[at]
		dst = binary.BigEndian.AppendUint16(append(dst, errorPart), e.Lane)
		dst = append(binary.BigEndian.AppendUint16(dst, e.Node), e.Digest[:]...)
	}
	return dst
}

func (p *Parents) append(dst []byte, i int) []byte {
	if p.Batches == nil {
		return dst
	}
	dst = append(append(dst, parentPart), p.Batches[4*i:4*i+4]...)
	if p.Tokens == nil {
		return binary.BigEndian.AppendUint64(dst, 0)
	}
	return append(dst, p.Tokens[8*i:8*i+8]...)
}

// zero reports whether a value is absent.
func zero(value []byte) bool {
	for _, b := range value {
		if b != 0 {
			return false
		}
	}
	return true
}
