// Package page decodes pages of Parquet columns, strictly: a page decodes to exactly the levels and values that its header
// declares, from all of its bytes, or it is rejected. Nothing is made up for what a page lacks, and nothing that it holds is
// passed over. Why there is such a package: docs/adr/0011-parquet-pages.md.
package page

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// OldDictionary is by what encoding old writers say that values are in a dictionary, and that the dictionary is plain.
const OldDictionary format.Encoding = 2

// ErrEncoding is in the chain of errors about encodings that the Parquet format does not have for values of the column's type.
var ErrEncoding = errors.New("which is not read")

// mismatch says what a page declares, and what it holds instead.
func mismatch(text string, args ...any) error { return fmt.Errorf(text, args...) }

// Column is what the schema says of a column.
type Column struct {
	Type           format.Type
	Length         int // of values of fixed length, in bytes, at least 1
	MaxDef, MaxRep int // levels; at most 255
}

// width returns how many bytes a value has; 0 if that is different from value to value, and for booleans, which are bits.
func (c *Column) width() int {
	switch c.Type {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return c.Length
	default:
		return 0
	}
}

// Page is a decoded data page. An entry is a value or a null, or says that a list is empty.
type Page struct {
	Entries  int
	Rows     int    // that begin in the page
	Def, Rep []byte // levels of each entry; nil if the column has none
	Values   Values // of the entries whose definition level is the greatest, in order

	Indices    []uint32 // of the values in Dictionary; nil if they are in Values
	Dictionary *Values
}

// Value returns value i, in the form that Values.At describes.
func (p *Page) Value(i int) []byte {
	if p.Indices != nil {
		return p.Dictionary.At(int(p.Indices[i]))
	}
	return p.Values.At(i)
}

// Decoder decodes the pages of one column of a row group, one after the other. It is not safe for concurrent use.
type Decoder struct {
	column     Column
	most       int // bytes
	dictionary *Values
	page       Page
	lengths    []int32
}

// NewDecoder returns a decoder for pages of a column. Pages whose values have more bytes than most, when they are decoded, are
// rejected by ErrTooLarge.
func NewDecoder(column Column, most int) *Decoder { return &Decoder{column: column, most: most} }

// ErrTooLarge says that the values of a page have more bytes than they may.
var ErrTooLarge = errors.New("its values are too large")

// Memory returns how many bytes are needed at most to decode a page that declares so many entries, beside its own bytes, and
// beside the texts of DELTA_BYTE_ARRAY, which have at most as many as the decoder was told.
func Memory(entries int64) int64 {
	const perEntry = 2 + 8 + 4 // levels, where a value is, a length
	return perEntry * entries
}

// Dictionary decodes the dictionary, which must come before the data pages, once. It keeps body.
func (d *Decoder) Dictionary(h *format.DictionaryPageHeader, body []byte) error {
	if d.dictionary != nil {
		return errors.New("it is the second dictionary of the column")
	}
	if h.Encoding != format.Plain && h.Encoding != OldDictionary {
		return fmt.Errorf("its dictionary has the encoding %s, %w", h.Encoding, ErrEncoding)
	}
	d.dictionary = new(Values)
	return d.dictionary.plain(&d.column, body, int(h.NumValues))
}

// Data decodes a data page of version 1, or 2, by the header of which there is one. The body is decompressed. The page that it
// returns is good until the next call, and as long as body is unchanged.
func (d *Decoder) Data(h *format.PageHeader, body []byte) (*Page, error) {
	d.page = Page{Def: d.page.Def[:0], Rep: d.page.Rep[:0], Values: d.page.Values, Indices: d.page.Indices[:0]}
	if entries := Entries(h); entries < 0 {
		return nil, mismatch("it declares %d values", entries)
	}
	var encoding format.Encoding
	var present int
	var err error
	if h.Type == format.DataPageV2 {
		encoding = h.DataPageHeaderV2.V.Encoding
		body, present, err = d.levelsV2(&h.DataPageHeaderV2.V, body)
	} else {
		encoding = h.DataPageHeader.V.Encoding
		body, present, err = d.levelsV1(&h.DataPageHeader.V, body)
	}
	if err == nil {
		err = d.values(encoding, body, present)
	}
	return &d.page, err
}

// Entries returns how many entries a page declares, null or not, by the header of which there is one.
func Entries(h *format.PageHeader) int64 {
	switch h.Type {
	case format.DataPage:
		return int64(h.DataPageHeader.V.NumValues)
	case format.DataPageV2:
		return int64(h.DataPageHeaderV2.V.NumValues)
	case format.DictionaryPage:
		return int64(h.DictionaryPageHeader.V.NumValues)
	}
	return 0
}

// values decodes so many values.
func (d *Decoder) values(encoding format.Encoding, body []byte, count int) error {
	if encoding == OldDictionary || encoding == format.RLEDictionary {
		return d.indices(body, count)
	}
	d.page.Indices = nil
	if !d.column.has(encoding) {
		return fmt.Errorf("it has %s values in the encoding %s, %w", d.column.Type, encoding, ErrEncoding)
	}
	v := &d.page.Values
	if count == 0 && len(body) == 0 {
		v.n = 0
		return nil // nothing is encoded by nothing
	}
	switch width := d.column.width(); encoding {
	case format.RLE:
		return v.runs(body, count)
	case format.DeltaBinaryPacked:
		return v.deltas(width, body, count)
	case format.DeltaLengthByteArray:
		return d.deltaLengths(body, count)
	case format.DeltaByteArray:
		return d.deltaTexts(body, count)
	case format.ByteStreamSplit:
		return v.streams(width, body, count)
	default:
		return v.plain(&d.column, body, count)
	}
}

// has reports whether the values of the column may be in this encoding, without a dictionary.
func (c *Column) has(encoding format.Encoding) bool {
	switch encoding {
	case format.Plain:
		return true
	case format.RLE:
		return c.Type == format.Boolean
	case format.DeltaBinaryPacked:
		return c.Type == format.Int32 || c.Type == format.Int64
	case format.DeltaLengthByteArray:
		return c.Type == format.ByteArray
	case format.DeltaByteArray:
		return c.Type == format.ByteArray || c.Type == format.FixedLenByteArray
	case format.ByteStreamSplit:
		return c.width() > 0 && c.Type != format.Int96
	}
	return false
}

// KnownEncoding reports whether the Parquet format has such an encoding.
func KnownEncoding(encoding format.Encoding) bool {
	return encoding >= format.Plain && encoding <= format.ByteStreamSplit && encoding != 1
}

// indices decodes so many indices of the dictionary: how many bits each has, and runs of them.
func (d *Decoder) indices(body []byte, count int) error {
	d.page.Dictionary = d.dictionary
	d.page.Indices = grown(d.page.Indices, count)
	if count == 0 && len(body) == 0 {
		return nil
	}
	if d.dictionary == nil {
		return errors.New("its values are in a dictionary, and the column has none")
	}
	if len(body) == 0 {
		return mismatch("it declares %d values and holds none", count)
	}
	if body[0] > 32 {
		return mismatch("it declares %d bits for each index of the dictionary; there are at most 32", body[0])
	}
	if err := hybrid(d.page.Indices, body[1:], int(body[0])); err != nil {
		return fmt.Errorf("indices of the dictionary: %w", err)
	}
	for _, index := range d.page.Indices {
		if int(index) >= d.dictionary.n {
			return mismatch("it has the value %d of a dictionary, which holds %d", index, d.dictionary.n)
		}
	}
	return nil
}

// grown returns a slice of n elements, in s if that is large enough. What they are is left over from before.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
