package row

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"hash"
	"slices"
)

// Change says how rows of one shape were made of rows of another: how many fields at the front and at the back of the
// canonical form are the same, with the same values. The zero Change says that nothing is known to be the same.
type Change struct{ front, back int }

// ChangeOf returns what stays the same in rows that are made of others. from says for each field of the shape after in
// which position of the shape before its value stood; negative for a value that is made.
func ChangeOf(before, after *Shape, from []int) (c Change) {
	n, m := before.Len(), after.Len()
	same := func(i, j int) bool {
		return from[after.sorted[j]] == before.sorted[i] && bytes.Equal(before.keys[i], after.keys[j])
	}
	for c.front < min(n, m) && same(c.front, c.front) {
		c.front++
	}
	for c.back < min(n, m)-c.front && same(n-1-c.back, m-1-c.back) {
		c.back++
	}
	return c
}

// A Hasher returns the hashes of rows of which each was made of the one before. It keeps the canonical form of a row, and
// what SHA-256 had come to at some places in it, so that the next row costs the fields that changed, and the bytes from
// the first of them on: a hundred steps that each add a field to a row would otherwise encode and hash it a hundred times.
// It is not for concurrent use.
type Hasher struct {
	form []byte // canonical, of the last row; empty if there is none
	ends []int  // of form: where each field's value ends

	made     []byte // the fields that changed, each with the comma before it
	madeEnds []int

	sha   sha
	marks []byte   // what sha had come to: after each markEvery bytes of form, from the first on
	sum   [32]byte // sha writes it here: what is passed to an interface would be allocated
}

// sha is what crypto/sha256 says that its hashes are.
type sha interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// markEvery is after how many bytes of a form a Hasher notes what SHA-256 had come to. To note it takes as long as to
// hash 50 bytes; to hash again what stands between a mark and a change takes half of this on average.
const markEvery = 512

// markBytes is the size of what is noted.
var markBytes = func() int {
	mark, _ := sha256.New().(sha).AppendBinary(nil) // which never fails
	return len(mark)
}()

// Forget makes the Hasher forget the last row.
func (h *Hasher) Forget() { h.form, h.ends = h.form[:0], h.ends[:0] }

// Sum returns the SHA-256 of what AppendCanonical writes for the row. The change is how the row was made of the one that
// Sum got before, unless that was forgotten. It allocates only to grow what the Hasher keeps, and panics as
// AppendCanonical does: then the last row must be forgotten.
func (h *Hasher) Sum(r Row, c Change) [32]byte {
	if len(h.form) == 0 || c == (Change{}) {
		c = Change{}
		h.form, h.ends = append(h.form[:0], '}'), h.ends[:0]
	}
	n, m := len(h.ends), r.Shape.Len()
	h.make(r, c.front, m-c.back)
	start, stop := end(h.ends, c.front), end(h.ends, n-c.back)
	h.form = slices.Replace(h.form, start, stop, h.made...)
	h.ends = slices.Replace(h.ends, c.front, n-c.back, h.madeEnds...)
	if longer := len(h.made) - (stop - start); longer != 0 {
		for i := m - c.back; i < m; i++ {
			h.ends[i] += longer
		}
	}
	if c.back > 0 {
		h.form[end(h.ends, m-c.back)] = ','
	}
	if m == 0 {
		h.form = append(h.form[:0], '{', '}')
	}
	h.form[0] = '{'
	return h.hash(start)
}

// end returns where so many fields end.
func end(ends []int, fields int) int {
	if fields == 0 {
		return 0
	}
	return ends[fields-1]
}

// make makes the fields of the row from one up to, but not including, another, in the order of its form.
func (h *Hasher) make(r Row, from, to int) {
	h.made, h.madeEnds = h.made[:0], h.madeEnds[:0]
	start := end(h.ends, from)
	for i := from; i < to; i++ {
		h.made = append(append(h.made, ','), r.Shape.keys[i]...)
		h.made = AppendValue(h.made, r.Values[r.Shape.sorted[i]])
		h.madeEnds = append(h.madeEnds, start+len(h.made))
	}
}

// hash returns the hash of the form, of which so many bytes are those of the form before.
func (h *Hasher) hash(same int) [32]byte {
	if len(h.form) <= markEvery { // what is after it changes before its first mark, so marks of a longer one do not count
		return sha256.Sum256(h.form)
	}
	if h.sha == nil {
		h.sha = sha256.New().(sha)
	}
	marks := min(len(h.marks)/markBytes, same/markEvery)
	h.marks = h.marks[:marks*markBytes]
	h.sha.Reset()
	if marks > 0 {
		if err := h.sha.UnmarshalBinary(h.marks[len(h.marks)-markBytes:]); err != nil {
			panic("row: " + err.Error()) // AppendBinary made it
		}
	}
	for rest := h.form[marks*markEvery:]; ; rest = rest[markEvery:] {
		if len(rest) < markEvery {
			_, _ = h.sha.Write(rest)
			h.sha.Sum(h.sum[:0])
			return h.sum
		}
		_, _ = h.sha.Write(rest[:markEvery])
		h.marks, _ = h.sha.AppendBinary(h.marks)
	}
}
