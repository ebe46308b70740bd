package parquet

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"waymark/plugin/parquet/page"
)

// TestAPageThatDeclaresMoreThanItHolds has 8 rows of which the only page holds 5.
func TestAPageThatDeclaresMoreThanItHolds(t *testing.T) {
	file, err := base64.StdEncoding.DecodeString("UEFSMRUAFSgVKCwVEBUAFQYVBgAAAQAAAAIAAAADAAAABAAAAAUAAAAVAhksSAFyFQIAFQIlABgBYwAWEBkcGRwmCBwVAhkVABkYAWMVABYQFkoWSiYIAAAWShYQAAA2AAAAUEFSMQ==")
	require.NoError(t, err)
	out, err := readHostile(t, file)
	require.EqualError(t, err, `in.parquet: CORRUPT_PARQUET: row group 0, column "c", page 0: it declares 8 values and holds 20 bytes of 4 for each`, "%v", out.records)
	require.Empty(t, out.records)
}

// handRows are whole bytes, so that there is no room for one more boolean.
const handRows = 16

// declaring returns a file with one column, whose only data page declares so many entries more than it holds. Everything else in
// the file agrees with that.
func declaring(t testing.TB, h hand, more int32, body func([]byte) []byte) []byte {
	const rows = handRows
	h.r, h.name, h.oneByOne = rand.New(rand.NewPCG(1, 2)), "a", true
	n := int64(rows + more)
	file := dissected{meta: format.FileMetaData{
		Version: 1, NumRows: n, Schema: append([]format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(1))}}, h.schema()...),
		RowGroups: []format.RowGroup{{NumRows: n, Columns: make([]format.ColumnChunk, 1)}},
	}}
	meta := &file.meta.RowGroups[0].Columns[0].MetaData
	*meta = format.ColumnMetaData{Type: h.physical, Encoding: []format.Encoding{h.encoding}, PathInSchema: []string{"a"}, NumValues: n}
	if h.encoding == format.RLEDictionary || h.encoding == page.OldDictionary {
		h.dictionary = [][]byte{h.value(), h.value(), h.value()}
		file.chunks = []dissectedChunk{{meta: meta, pages: []dissectedPage{h.dictionaryPage()}}}
	} else {
		file.chunks = []dissectedChunk{{meta: meta}}
	}
	p := h.page(rows)
	p.body = body(p.body)
	if h.v2 {
		p.header.DataPageHeaderV2.V.NumValues += more
		p.header.DataPageHeaderV2.V.NumRows += more
	} else {
		p.header.DataPageHeader.V.NumValues += more
	}
	file.chunks[0].pages = append(file.chunks[0].pages, p)
	return file.assemble(t)
}

// TestPagesHoldWhatTheyDeclare has a page of every encoding of every type, in both versions, with and without levels. It is read
// as it is; it is rejected if it declares more entries than it holds, or fewer, or has bytes too few or too many.
func TestPagesHoldWhatTheyDeclare(t *testing.T) {
	asIs := func(b []byte) []byte { return b }
	for physical, encodings := range handEncodings {
		for _, encoding := range encodings {
			for variant := range 4 {
				h := hand{physical: physical, encoding: encoding, length: 5, annotation: -1, v2: variant&1 > 0, optional: variant&2 > 0}
				t.Run(fmt.Sprintf("%s %s, version %d, optional %v", physical, encoding, 1+variant&1, h.optional), func(t *testing.T) {
					out, err := readHostile(t, declaring(t, h, 0, asIs))
					require.NoError(t, err)
					require.Len(t, out.records, handRows)
					for name, file := range map[string][]byte{
						"one entry more": declaring(t, h, 1, asIs), "a thousand more": declaring(t, h, 1000, asIs), "one less": declaring(t, h, -1, asIs),
						"a byte less": declaring(t, h, 0, func(b []byte) []byte { return b[:len(b)-1] }),
						"a byte more": declaring(t, h, 0, func(b []byte) []byte { return append(bytes.Clone(b), 3) }),
						"no byte":     declaring(t, h, 0, func([]byte) []byte { return nil }),
					} {
						if name == "one less" && physical == format.Boolean && encoding == format.Plain && !h.optional {
							continue // what fills up the last byte may be anything
						}
						out, err := readHostile(t, file)
						require.ErrorContains(t, err, `CORRUPT_PARQUET: row group 0, column "a", page 0: `, "%s: %v", name, out.records)
					}
				})
			}
		}
	}
}

// TestListsHoldWhatTheyDeclare does so with levels of repetition.
func TestListsHoldWhatTheyDeclare(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		h := hand{physical: format.Int64, encoding: format.Plain, annotation: -1, list: true, optional: true, v2: v2, oneByOne: true, name: "a"}
		h.r = rand.New(rand.NewPCG(3, 4))
		p := h.page(20)
		for _, more := range []int32{0, 1, -1} {
			file := dissected{meta: format.FileMetaData{
				Version: 1, NumRows: 20, Schema: append([]format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(1))}}, h.schema()...),
				RowGroups: []format.RowGroup{{NumRows: 20, Columns: make([]format.ColumnChunk, 1)}},
			}}
			changed := p
			changed.header.DataPageHeader.V.NumValues += more
			changed.header.DataPageHeaderV2.V.NumValues += more
			meta := &file.meta.RowGroups[0].Columns[0].MetaData
			*meta = format.ColumnMetaData{Type: h.physical, PathInSchema: []string{"a"}, NumValues: entriesOf(&changed.header), Encoding: []format.Encoding{0}}
			if !v2 {
				changed.header.DataPageHeaderV2.V.NumValues, meta.NumValues = 0, int64(changed.header.DataPageHeader.V.NumValues)
			} else {
				changed.header.DataPageHeader.V.NumValues, meta.NumValues = 0, int64(changed.header.DataPageHeaderV2.V.NumValues)
			}
			file.chunks = []dissectedChunk{{meta: meta, pages: []dissectedPage{changed}}}
			out, err := readHostile(t, file.assemble(t))
			if more == 0 {
				require.NoError(t, err)
				require.Len(t, out.records, 20)
				continue
			}
			require.ErrorContains(t, err, `row group 0, column "a.list.element", page 0: repetition levels: it declares`)
		}
	}
}

// TestDictionariesHoldWhatTheyDeclare has a dictionary that declares one value more, and one less, than it holds.
func TestDictionariesHoldWhatTheyDeclare(t *testing.T) {
	for _, physical := range []format.Type{format.Int32, format.ByteArray, format.FixedLenByteArray} {
		file := dissect(t, declaring(t, hand{physical: physical, encoding: format.RLEDictionary, length: 5, annotation: -1}, 0, func(b []byte) []byte { return b }))
		for _, more := range []int32{1, -1} {
			header := &file.chunks[0].pages[0].header.DictionaryPageHeader.V
			header.NumValues = 3 + more
			_, err := readHostile(t, file.assemble(t))
			require.ErrorContains(t, err, fmt.Sprintf(`CORRUPT_PARQUET: row group 0, column "a", dictionary: it declares %d values`, 3+more))
		}
	}
}

// TestAColumnHoldsWhatItDeclares has pages behind those with the values that the column declares, and no rows for them.
func TestAColumnHoldsWhatItDeclares(t *testing.T) {
	file := dissect(t, declaring(t, hand{physical: format.Int32, encoding: format.Plain, annotation: -1}, 0, func(b []byte) []byte { return b }))
	file.chunks[0].pages = append(file.chunks[0].pages, file.chunks[0].pages[0])
	_, err := readHostile(t, file.assemble(t))
	require.ErrorContains(t, err, `CORRUPT_PARQUET: row group 0, column "a", page 0: the pages with its values end`)
}

// TestNotesWithoutValue has a note of a writer without a value, in the file and at a column, which the format allows.
func TestNotesWithoutValue(t *testing.T) {
	type keyOnly struct {
		Key string `thrift:"1,required"`
	}
	type column struct {
		Type       format.Type                   `thrift:"1,required"`
		Encoding   thrift.Slice[format.Encoding] `thrift:"2,required"`
		Path       thrift.Slice[string]          `thrift:"3,required"`
		Codec      int32                         `thrift:"4,required"`
		Values     int64                         `thrift:"5,required"`
		Plain      int64                         `thrift:"6,required"`
		Compressed int64                         `thrift:"7,required"`
		Notes      thrift.Slice[keyOnly]         `thrift:"8,optional"`
		Offset     int64                         `thrift:"9,required"`
	}
	type chunk struct {
		Offset int64  `thrift:"2,required"`
		Meta   column `thrift:"3,optional"`
	}
	type group struct {
		Columns thrift.Slice[chunk] `thrift:"1,required"`
		Bytes   int64               `thrift:"2,required"`
		Rows    int64               `thrift:"3,required"`
	}
	type footer struct {
		Version int32                              `thrift:"1,required"`
		Schema  thrift.Slice[format.SchemaElement] `thrift:"2,required"`
		Rows    int64                              `thrift:"3,required"`
		Groups  thrift.Slice[group]                `thrift:"4,required"`
		Notes   thrift.Slice[keyOnly]              `thrift:"5,optional"`
	}
	file := declaring(t, hand{physical: format.Int32, encoding: format.Plain, annotation: -1}, 0, func(b []byte) []byte { return b })
	parts := dissect(t, file)
	c, notes := parts.chunks[0].meta, []keyOnly{{"foo"}, {""}}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &footer{Version: 1, Schema: parts.meta.Schema, Rows: handRows, Notes: notes, Groups: []group{{Rows: handRows, Columns: []chunk{{Meta: column{
		Type: c.Type, Encoding: c.Encoding, Path: c.PathInSchema, Values: handRows, Compressed: c.TotalCompressedSize, Offset: c.DataPageOffset, Notes: notes,
	}}}}}})
	require.NoError(t, err)
	out, err := readHostile(t, withRawFooter(file[:c.DataPageOffset+c.TotalCompressedSize], text))
	require.NoError(t, err)
	require.Len(t, out.records, handRows)
}

// TestVariantsAreRefusedByName has a column of a type whose values say themselves what they are.
func TestVariantsAreRefusedByName(t *testing.T) {
	type row struct {
		Event struct {
			Metadata []byte `parquet:"metadata"`
			Value    []byte `parquet:"value"`
		} `parquet:"event"`
	}
	file := withFooter(t, fileWith(t, []row{{}}), func(m *format.FileMetaData) {
		m.Schema[1].LogicalType.Value = &format.VariantType{}
	})
	_, err := readHostile(t, file)
	require.EqualError(t, err, `in.parquet: UNSUPPORTED_PARQUET: the column "event" is a VARIANT, which is not read: cast it to JSON, or to columns, when you write the file`)
}

// TestIntegersThatAreTooWide has integers that have more bits than their column says: they reject their row alone.
func TestIntegersThatAreTooWide(t *testing.T) {
	type narrow struct {
		A int8   `parquet:"a"`
		B uint16 `parquet:"b"`
	}
	file := dissect(t, fileWith(t, []narrow{{-128, 65535}, {127, 0}, {1, 1}}))
	for i, at := range []int{1, 1} {
		pages := file.chunks[i].pages
		pages[len(pages)-1].body[4*(i+1)+at+i] ^= 1
	}
	out, err := readHostile(t, file.assemble(t))
	require.NoError(t, err)
	require.Equal(t, []string{`{"a":-128,"b":65535}`, `{"a":int("383"),"b":0}`, `{"a":1,"b":int("65537")}`}, out.records)
	require.Equal(t, map[int]string{1: "NUMBER_RANGE", 2: "NUMBER_RANGE"}, out.bad)
}
