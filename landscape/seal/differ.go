package seal

import (
	"bytes"
	"slices"
)

// tables says of which table each part of a row's body is.
var tables = []struct {
	name string
	of   func(r *Rows, i int) []byte
}{
	{"chunk_rows", func(r *Rows, i int) []byte { return r.appendRecord(nil, i) }},
	{"passages", func(r *Rows, i int) []byte { return appendCodes(nil, wayPart, r.Ways, i) }},
	{"hashes", func(r *Rows, i int) []byte { return appendColumns(nil, hashPart, r.Columns, i, 32) }},
	{"key_hashes", func(r *Rows, i int) []byte { return r.appendKeys(nil, i) }},
	{"repeats", func(r *Rows, i int) []byte { return appendColumns(nil, firstPart, r.Firsts, i, 8) }},
	{"errors", func(r *Rows, i int) []byte { return r.appendErrors(nil, i) }},
	{"merge_codes", func(r *Rows, i int) []byte { return appendCodes(nil, joinPart, r.Joins, i) }},
	{"parents", func(r *Rows, i int) []byte { return r.Parents.append(nil, i) }},
	{"field_roots", func(r *Rows, i int) []byte {
		if root := r.fields(i); root != nil {
			return root[:]
		}
		return nil
	}},
}

// Differ returns the tables in which a row is recorded otherwise than in other; nil if it is not.
func (r *Rows) Differ(other *Rows, i int) (names []string) {
	r.sort()
	other.sort()
	for _, t := range tables {
		if !bytes.Equal(t.of(r, i), t.of(other, i)) {
			names = append(names, t.name)
		}
	}
	return slices.Clip(names)
}
