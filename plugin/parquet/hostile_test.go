package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/plugin/jsonl"
	"waymark/plugin/parquet/page"
	"waymark/tests/sample"
)

// memory is a Store of one file that is in memory.
type memory struct{ content []byte }

func (m memory) List(context.Context, string) ([]plugin.FileInfo, error) {
	return []plugin.FileInfo{{Path: "in.parquet", Bytes: int64(len(m.content))}}, nil
}
func (m memory) Open(context.Context, plugin.FileInfo) (file.File, error) { return m, nil }
func (memory) Fixed(plugin.FileInfo) bool                                 { return true }
func (memory) OnHost() bool                                               { return true }
func (m memory) ReaderAt(context.Context) io.ReaderAt                     { return bytes.NewReader(m.content) }
func (memory) Pinned() bool                                               { return true }
func (memory) Unchanged(context.Context) error                            { return nil }
func (memory) Close() error                                               { return nil }
func (m memory) Stream(_ context.Context, offset int64) (file.Stream, error) {
	return memoryStream{bytes.NewReader(m.content[offset:])}, nil
}

type memoryStream struct{ *bytes.Reader }

func (s memoryStream) Read(_ context.Context, p []byte) (int, error) { return s.Reader.Read(p) }

// inMemory is a source of a file with this content.
func inMemory(t testing.TB, content []byte) plugin.Source {
	records, err := jsonl.NewRecords(observed)
	require.NoError(t, err)
	return &source{name: "in", store: memory{content}, records: records}
}

// readHostile reads a file that may be anything: it gives rows, or a fault that names the file.
func readHostile(t testing.TB, content []byte) (reading, error) {
	t.Helper()
	out, err := readFrom(t, inMemory(t, content), plugin.Cursor{}, chunkLimits)
	if err != nil {
		var f *plugin.SourceError
		require.ErrorAs(t, err, &f)
		require.NotEmpty(t, f.Code)
		require.Equal(t, "in.parquet", f.File)
	}
	return out, err
}

// specimens are small files with a bit of everything.
func specimens(t testing.TB) map[string][]byte {
	type deltas struct {
		A int64  `parquet:"a,delta"`
		B string `parquet:"b,delta"`
		C string `parquet:"c,delta"`
		D bool   `parquet:"d"`
	}
	var rows []deltas
	for i := range 40 {
		rows = append(rows, deltas{int64(i * i), "prefix" + string(rune('a'+i%26)), "x", i%2 == 0})
	}
	return map[string][]byte{
		"pages of version 1": fileWith(t, events(12), parquet.DataPageVersion(1), parquet.MaxRowsPerRowGroup(7), parquet.Compression(&parquet.Snappy)),
		"pages of version 2": fileWith(t, events(12), parquet.DataPageVersion(2), parquet.Compression(&parquet.Zstd)),
		"plain":              fileWith(t, events(12), parquet.DataPageVersion(1)),
		"deltas":             fileWith(t, rows, parquet.DataPageVersion(2)),
	}
}

// TestCutFiles cuts files at every byte: none of them is read as a whole one.
func TestCutFiles(t *testing.T) {
	for name, file := range specimens(t) {
		t.Run(name, func(t *testing.T) {
			for size := range len(file) {
				_, err := readHostile(t, file[:size])
				require.Error(t, err, "%d of %d bytes", size, len(file))
			}
		})
	}
}

// TestFlippedBits changes every byte of files in several ways: it gives rows or a fault, and no more memory is made than the
// file is worth.
func TestFlippedBits(t *testing.T) {
	for name, file := range specimens(t) {
		t.Run(name, func(t *testing.T) {
			faults := 0
			for at := 0; at < len(file); at += sample.Step(7) {
				for _, change := range []byte{0x01, 0xff} {
					flipped := bytes.Clone(file)
					flipped[at] ^= change
					if _, err := readHostile(t, flipped); err != nil {
						faults++
					}
				}
			}
			require.Positive(t, faults)
		})
	}
}

// TestScrambledFiles changes many bytes at random places.
func TestScrambledFiles(t *testing.T) {
	for name, file := range specimens(t) {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 1500 / sample.Step(5) {
				scrambled := bytes.Clone(file)
				for range 1 + random.IntN(8) {
					scrambled[random.IntN(len(scrambled))] = byte(random.Uint32())
				}
				_, _ = readHostile(t, scrambled)
			}
		})
	}
}

// withFooter returns the file with another footer.
func withFooter(t testing.TB, file []byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	length := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	begin := len(file) - 8 - length
	var meta format.FileMetaData
	require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), file[begin:begin+length], &meta))
	change(&meta)
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	require.NoError(t, err)
	return withRawFooter(file[:begin], footer)
}

func withRawFooter(pages, footer []byte) []byte {
	out := append(bytes.Clone(pages), footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return append(out, magic...)
}

// TestHostileFooters has footers that claim what is not so: BI-138, BI-139.
func TestHostileFooters(t *testing.T) {
	type one struct {
		A int64 `parquet:"a"`
	}
	file := fileWith(t, []one{{1}, {2}, {3}}, parquet.DataPageVersion(1))
	first := func(meta *format.FileMetaData) *format.ColumnMetaData { return &meta.RowGroups[0].Columns[0].MetaData }
	nested := func(depth int) []format.SchemaElement {
		schema := []format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(1))}}
		for range depth {
			schema = append(schema, format.SchemaElement{Name: "g", NumChildren: thrift.New(int32(1)), RepetitionType: thrift.New(format.Optional)})
		}
		return append(schema, format.SchemaElement{Name: "a", Type: thrift.New(format.Int64), RepetitionType: thrift.New(format.Required)})
	}
	for _, c := range []struct {
		name, code string
		change     func(*format.FileMetaData)
	}{
		{"2^31 rows", codeRatio, func(m *format.FileMetaData) {
			m.NumRows, m.RowGroups[0].NumRows, first(m).NumValues = 1<<31, 1<<31, 1<<31
		}},
		{"less than no rows", codeCorrupt, func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = -1, -1 }},
		{"more rows than values", codeCorrupt, func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = 4, 4 }},
		{"more values than pages", codeCorrupt, func(m *format.FileMetaData) {
			m.NumRows, m.RowGroups[0].NumRows, first(m).NumValues = 4, 4, 4
		}},
		{"fewer values than pages", codeCorrupt, func(m *format.FileMetaData) {
			m.NumRows, m.RowGroups[0].NumRows, first(m).NumValues = 2, 2, 2
		}},
		{"nested 100 levels", codeUnsupported, func(m *format.FileMetaData) { m.Schema = nested(100) }},
		{"nested as deep as allowed, without its pages", codeCorrupt, func(m *format.FileMetaData) { m.Schema = nested(maxNesting - 1) }},
		{"no columns", codeCorrupt, func(m *format.FileMetaData) { m.Schema = m.Schema[:1] }},
		{"no schema", codeCorrupt, func(m *format.FileMetaData) { m.Schema = nil }},
		{"more children than elements", codeCorrupt, func(m *format.FileMetaData) { m.Schema[0].NumChildren.V = 1 << 30 }},
		{"elements without a place", codeCorrupt, func(m *format.FileMetaData) { m.Schema = append(m.Schema, m.Schema[1]) }},
		{"a column without a name", codeNameless, func(m *format.FileMetaData) { m.Schema[1].Name = "" }},
		{"a name that is no text", codeEncoding, func(m *format.FileMetaData) { m.Schema[1].Name = "\xff" }},
		{"two columns of one name", codeCollision, func(m *format.FileMetaData) {
			m.Schema[0].NumChildren.V = 2
			m.Schema = append(m.Schema, m.Schema[1])
			m.RowGroups[0].Columns = append(m.RowGroups[0].Columns, m.RowGroups[0].Columns[0])
		}},
		{"too many columns", codeColumns, func(m *format.FileMetaData) {
			m.Schema[0].NumChildren.V = maxColumns + 1
			for i := range maxColumns {
				column := m.Schema[1]
				column.Name = string(rune('a'+i%26)) + string(rune('0'+i/26%4000))
				m.Schema = append(m.Schema, column)
			}
		}},
		{"fewer columns in a row group", codeCorrupt, func(m *format.FileMetaData) { m.RowGroups[0].Columns = nil }},
		{"another type", codeCorrupt, func(m *format.FileMetaData) { first(m).Type = format.ByteArray }},
		{"an unknown type", codeUnsupported, func(m *format.FileMetaData) { m.Schema[1].Type.V = 99 }},
		{"an unknown compression", codeUnsupported, func(m *format.FileMetaData) { first(m).Codec = 99 }},
		{"lzo", codeUnsupported, func(m *format.FileMetaData) { first(m).Codec = format.LZO }},
		{"another compression", codeCorrupt, func(m *format.FileMetaData) { first(m).Codec = format.Zstd }},
		{"pages before the file", codeCorrupt, func(m *format.FileMetaData) { first(m).DataPageOffset = -5 }},
		{"pages behind the file", codeCorrupt, func(m *format.FileMetaData) { first(m).DataPageOffset = 1 << 60 }},
		{"longer than the file", codeCorrupt, func(m *format.FileMetaData) { first(m).TotalCompressedSize = 1 << 62 }},
		{"no length", codeCorrupt, func(m *format.FileMetaData) { first(m).TotalCompressedSize = -1 }},
		{"in another file", codeUnsupported, func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].FilePath = "/etc/passwd" }},
		{"encrypted", codeUnsupported, func(m *format.FileMetaData) { m.EncryptionAlgorithm.Value = &format.AesGcmV1{} }},
		{"decimals without a precision", codeCorrupt, func(m *format.FileMetaData) {
			m.Schema[1].LogicalType.Value, m.Schema[1].ConvertedType = nil, thrift.New(deprecated.Decimal)
		}},
		{"values of no length", codeCorrupt, func(m *format.FileMetaData) {
			m.Schema[1].Type, m.Schema[1].TypeLength = thrift.New(format.FixedLenByteArray), thrift.New(int32(0))
		}},
		{"decimals with too many places", codeTooLarge, func(m *format.FileMetaData) {
			m.Schema[1].LogicalType.Value, m.Schema[1].ConvertedType = nil, thrift.New(deprecated.Decimal)
			m.Schema[1].Precision, m.Schema[1].Scale = thrift.New(int32(2000)), thrift.New(int32(1001))
		}},
		{"values of 2 GiB", codeTooLarge, func(m *format.FileMetaData) {
			m.Schema[1].Type, m.Schema[1].TypeLength = thrift.New(format.FixedLenByteArray), thrift.New(int32(1<<31-1))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := readHostile(t, withFooter(t, file, c.change))
			var f *plugin.SourceError
			require.ErrorAs(t, err, &f, "%v", out.records)
			require.Equal(t, c.code, f.Code, "%v", err)
		})
	}
}

// TestFootersThatAreNone has bytes that a decoder of thrift would choke on.
func TestFootersThatAreNone(t *testing.T) {
	many := binary.AppendUvarint([]byte{0x29, 0xfc}, 1<<31) // a list of 2^31 structures
	deep := bytes.Repeat([]byte{0x1c}, maxFooterBytes)      // a structure in a structure, and so on
	for name, footer := range map[string][]byte{
		"a list of 2^31 row groups": append([]byte{0x15, 0x02}, many...),
		"a text of 2^31 bytes":      binary.AppendUvarint([]byte{0x68}, 1<<31), "nothing": {}, "an end": {0}, "an unknown kind": {0x1f},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readHostile(t, withRawFooter([]byte(magic), footer))
			require.ErrorContains(t, err, codeCorrupt)
		})
	}
	_, err := readHostile(t, withRawFooter([]byte(magic), deep))
	require.ErrorContains(t, err, "PARQUET_TOO_LARGE: its footer has more parts, or deeper ones, than are read")
	_, err = readHostile(t, append([]byte("PARExxxx"), "\x04\x00\x00\x00PARE"...))
	require.ErrorContains(t, err, "UNSUPPORTED_PARQUET: it is encrypted")
	huge := append([]byte(magic), make([]byte, maxFooterBytes+1)...)
	_, err = readHostile(t, withRawFooter(huge[:4], huge[4:]))
	require.ErrorContains(t, err, codeTooLarge)
}

// rawPage is a page of a file made by hand.
type rawPage struct {
	header format.PageHeader
	body   []byte
}

// dataPage returns a page of version 1, without levels, that claims to have this size when it is decompressed.
func dataPage(encoding format.Encoding, values, size int, body []byte) rawPage {
	return rawPage{format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(size), DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(values), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})}, body}
}

// asItIs is a dataPage that is not compressed.
func asItIs(encoding format.Encoding, values int, body []byte) rawPage {
	return dataPage(encoding, values, len(body), body)
}

// fileOfPages returns a file with one row group and one column of these pages.
func fileOfPages(t testing.TB, codec format.CompressionCodec, physical format.Type, values int, pages ...rawPage) []byte {
	t.Helper()
	file := []byte(magic)
	for _, p := range pages {
		p.header.CompressedPageSize = int32(len(p.body))
		header, err := thrift.Marshal(new(thrift.CompactProtocol), &p.header)
		require.NoError(t, err)
		file = slices.Concat(file, header, p.body)
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &format.FileMetaData{
		Version: 1, NumRows: int64(values),
		Schema: []format.SchemaElement{
			{Name: "root", NumChildren: thrift.New(int32(1))}, {Name: "a", Type: thrift.New(physical), RepetitionType: thrift.New(format.Required)},
		},
		RowGroups: []format.RowGroup{{NumRows: int64(values), Columns: []format.ColumnChunk{{MetaData: format.ColumnMetaData{
			Type: physical, PathInSchema: []string{"a"}, Codec: codec, NumValues: int64(values), DataPageOffset: 4, TotalCompressedSize: int64(len(file) - 4),
		}}}}},
	})
	require.NoError(t, err)
	return withRawFooter(file, footer)
}

// TestBombs has pages that expand to far more than they are, by compression or by their encoding. None makes memory for it.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 64<<20)
	packed := func(codec format.CompressionCodec, by compress.Codec) []byte {
		out, err := by.Encode(nil, zeros)
		require.NoError(t, err)
		return fileOfPages(t, codec, format.Int64, 3, dataPage(format.Plain, 3, 24, out))
	}
	const many = 100_000_000
	deltas := append(binary.AppendUvarint([]byte{0x80, 0x80, 0x04, 0x04}, many), 0) // blocks of 65,536 values, all the same
	deltas = append(deltas, make([]byte, 5*(many/65536+1))...)
	lengths := func(first, others int32) []byte {
		all := slices.Repeat([]int32{others}, 1000)
		all[0] = first
		out, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, all)
		require.NoError(t, err)
		return out
	}
	prefixes := slices.Concat(lengths(0, 1<<20), lengths(1<<20, 0), zeros[:1<<20]) // every text is the one before it, of a mebibyte
	dictionary := rawPage{format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: 8, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: 1, Encoding: format.Plain,
	})}, zeros[:8]}
	run := append(binary.AppendUvarint([]byte{1}, many<<1), 0)
	one := func(encoding format.Encoding, physical format.Type, body []byte) []byte {
		return fileOfPages(t, format.Uncompressed, physical, 3, asItIs(encoding, 3, body))
	}
	for name, file := range map[string][]byte{
		"zstd": packed(format.Zstd, &parquet.Zstd), "gzip": packed(format.Gzip, &parquet.Gzip), "brotli": packed(format.Brotli, &parquet.Brotli),
		"snappy": packed(format.Snappy, &parquet.Snappy), "lz4": packed(format.Lz4Raw, &parquet.Lz4Raw),
		"snappy that claims 4 GiB": fileOfPages(t, format.Snappy, format.Int64, 3, dataPage(format.Plain, 3, 24, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})),
		"a page that claims 2 GiB": fileOfPages(t, format.Zstd, format.Int64, 3, dataPage(format.Plain, 3, 1<<31-1, []byte("x"))),
		"a run of many values":     fileOfPages(t, format.Uncompressed, format.Int64, 3, dictionary, asItIs(format.RLEDictionary, 3, run)),
		"many deltas":              one(format.DeltaBinaryPacked, format.Int64, deltas),
		"many lengths":             one(format.DeltaLengthByteArray, format.ByteArray, deltas),
		"prefixes":                 fileOfPages(t, format.Uncompressed, format.ByteArray, 1000, asItIs(format.DeltaByteArray, 1000, prefixes)),

		"a bit width of 0 without a dictionary": one(format.RLEDictionary, format.Int64, []byte{0, 3 << 1}),
		"a value that the dictionary lacks":     fileOfPages(t, format.Uncompressed, format.Int64, 3, dictionary, asItIs(format.RLEDictionary, 3, []byte{1, 3 << 1, 1})),
		"a bit width of 255":                    fileOfPages(t, format.Uncompressed, format.Int64, 3, dictionary, asItIs(format.RLEDictionary, 3, []byte{255, 3 << 1, 1})),
		"an unknown encoding":                   one(99, format.Int64, zeros[:24]),
		"fewer bytes than values":               one(format.Plain, format.Int64, zeros[:23]),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readHostile(t, file)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(220<<20), "bytes of memory were made")
		})
	}
	for _, names := range [][2]format.Encoding{{format.Plain, format.RLEDictionary}, {page.OldDictionary, page.OldDictionary}} {
		dictionary.header.DictionaryPageHeader.V.Encoding = names[0]
		good := fileOfPages(t, format.Uncompressed, format.Int64, 3, dictionary, asItIs(names[1], 3, []byte{1, 3 << 1, 0}))
		out, err := readHostile(t, good)
		require.NoError(t, err, "what these files are made of is read, also by its old names")
		require.Equal(t, []string{`{"a":0}`, `{"a":0}`, `{"a":0}`}, out.records)
	}
	dictionary.header.DictionaryPageHeader.V.Encoding = format.DeltaBinaryPacked
	_, err := readHostile(t, fileOfPages(t, format.Uncompressed, format.Int64, 3, dictionary, asItIs(format.RLEDictionary, 3, []byte{1, 3 << 1, 0})))
	require.ErrorContains(t, err, codeUnsupported)
}

// TestColumnsThatContradictEachOther exchanges a column of two row groups, in which the lists have other lengths.
func TestColumnsThatContradictEachOther(t *testing.T) {
	type pair struct {
		A int64 `parquet:"a"`
		B int64 `parquet:"b"`
	}
	type lists struct {
		Pairs []pair `parquet:"pairs,list"`
	}
	file := fileWith(t, []lists{{[]pair{{1, 1}, {2, 2}}}, {[]pair{{3, 3}}}, {[]pair{{4, 4}}}, {[]pair{{5, 5}, {6, 6}}}}, parquet.MaxRowsPerRowGroup(2))
	out, err := readHostile(t, file)
	require.NoError(t, err)
	require.Equal(t, `{"pairs":[{"a":1,"b":1},{"a":2,"b":2}]}`, out.records[0])
	_, err = readHostile(t, withFooter(t, file, func(m *format.FileMetaData) {
		first, second := m.RowGroups[0].Columns, m.RowGroups[1].Columns
		first[1], second[1] = second[1], first[1]
	}))
	require.ErrorContains(t, err, `CORRUPT_PARQUET: row group 0, column "pairs.list.element.b": it contradicts the columns beside it`)
}

// TestAPageBeginsWithARow has lists of three booleans in all, whose pages have these repetition levels, the first one in the
// lowest bit. What came before the first row of a column was left out without a word.
func TestAPageBeginsWithARow(t *testing.T) {
	flags := func(rows int64, levels ...byte) []byte {
		var pages []rawPage
		for _, bits := range levels {
			pages = append(pages, asItIs(format.Plain, 3, []byte{2, 0, 0, 0, 3, bits, 2, 0, 0, 0, 3 << 1, 1, 0b101}))
		}
		file := fileOfPages(t, format.Uncompressed, format.Boolean, 3*len(pages), pages...)
		return withFooter(t, file, func(m *format.FileMetaData) {
			m.Schema[1].RepetitionType = thrift.New(format.Repeated)
			m.NumRows, m.RowGroups[0].NumRows = rows, rows
		})
	}
	out, err := readHostile(t, flags(3, 0b010, 0b101))
	require.NoError(t, err, "in a page of version 1 a row may go on")
	require.Equal(t, []string{`{"a":[true,false]}`, `{"a":[true,true]}`, `{"a":[false,true]}`}, out.records)
	_, err = readHostile(t, flags(1, 0b101))
	require.ErrorContains(t, err, `column "a", page 0: it begins within a row: its first repetition level is 1`)
}

// TestFilesThatAreNotParquet shows that what is something else is a fault in words.
func TestFilesThatAreNotParquet(t *testing.T) {
	for name, content := range map[string]string{
		"text": "id,name\n1,a\n2,b\n3,c\n4,d\n5,e\n", "the beginning of one": "PAR1 and then nothing that a footer could be",
		"an end alone": "xxxxxxxxxxxx\x00\x00\x00\x00PAR1", "short": "PAR1PAR1",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readHostile(t, []byte(content))
			require.ErrorContains(t, err, "CORRUPT_PARQUET")
		})
	}
}

// TestAFaultComesAfterTheRowsBeforeIt cuts the pages of the second row group.
func TestAFaultComesAfterTheRowsBeforeIt(t *testing.T) {
	file := fileWith(t, events(100), parquet.MaxRowsPerRowGroup(50))
	p, dir := files(t)
	broken := withFooter(t, file, func(m *format.FileMetaData) {
		m.RowGroups[1].Columns[0].MetaData.TotalCompressedSize = 0
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in.parquet"), broken, 0o600))
	source := sourceOf(t, p, "in.parquet", observed)
	out, err := readFrom(t, source, plugin.Cursor{}, chunkLimits)
	require.ErrorContains(t, err, codeCorrupt)
	require.Len(t, out.records, 50)
	_, again := readFrom(t, source, out.cursors[0], chunkLimits)
	require.Equal(t, err, again, "another reader finds the same")
}

// FuzzRead gives the reader what it likes.
func FuzzRead(f *testing.F) {
	for _, file := range specimens(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		_, err := readHostile(t, content)
		var fault *plugin.SourceError
		require.True(t, err == nil || errors.As(err, &fault))
	})
}
