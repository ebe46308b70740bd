package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"waymark/plugin/parquet/page"
)

// specimen makes a file, whole or damaged, and says what it is. path is where DuckDB may write.
func (d *duck) specimen(r *rand.Rand, path string) (what string, content []byte, damaged bool) {
	switch r.IntN(8) {
	case 0:
		what, content = d.byDuckDB(r, path)
	case 1:
		what, content = byLibrary(d.t, r)
	default:
		var file dissected
		what, file = byHand(r)
		content = file.assemble(d.t)
	}
	switch r.IntN(5) {
	case 0:
		return what, content, false
	case 1:
		return what + ", bytes changed", scrambled(r, content), true
	default:
		file := dissect(d.t, content)
		harm := file.damage(r)
		return what + ", " + harm, file.assemble(d.t), true
	}
}

// byDuckDB lets DuckDB write a file.
func (d *duck) byDuckDB(r *rand.Rand, path string) (string, []byte) {
	columns := []string{
		"i::int as i", "(i*7919)::bigint as b", "(i%3)::utinyint as u", "(i%100)::smallint as s", "i/7.0::double as d", "(i/3)::float as f",
		"i%3=0 as flag", "'text ' || i as t", "case when i%4=0 then null else 'k' || (i%5) end as k", "date '2020-01-01' + (i%1000)::int as day",
		"timestamp '2020-01-01 00:00:00.5' + to_seconds(i) as at", "(i*1.25)::decimal(9,2) as dec", "(i*1.25)::decimal(18,3) as dec2",
		"(i*i)::decimal(38,4) as dec3", "('x' || i)::blob as bin", "[i, null, i+1] as list", "{'x': i, 'y': 'z' || i} as st",
		"map {'a' || i: i} as m", "uuid() as u2", "i::hugeint::double as h", "(i%50)::ubigint as ub", "time '12:00:00' + to_seconds(i%1000) as tm",
		"case when i%9=0 then null else [[i],[i,2]] end as deep", "to_days((i%10)::int) as iv", "timestamptz '2020-01-01 00:00:00+00' + to_days((i%10)::int) as tz",
	}
	r.Shuffle(len(columns), func(i, k int) { columns[i], columns[k] = columns[k], columns[i] })
	columns = columns[:1+r.IntN(6)]
	rows := []int{0, 1, 2, 10, 300, 3000}[r.IntN(6)]
	options := []string{"format parquet", "compression " + pick(r, "uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"),
		"parquet_version " + pick(r, "v1", "v2")}
	if r.IntN(2) == 0 {
		options = append(options, "row_group_size "+pick(r, "100", "2048"))
	}
	if r.IntN(3) == 0 {
		options = append(options, "dictionary_size_limit "+pick(r, "1", "10"))
	}
	sql := fmt.Sprintf("select %s from range(%d) t(i)", strings.Join(columns, ", "), rows)
	d.run(fmt.Sprintf("copy (%s) to '%s' (%s)", sql, path, strings.Join(options, ", ")))
	content, err := os.ReadFile(path)
	require.NoError(d.t, err)
	return "DuckDB: " + sql + " (" + strings.Join(options, ", ") + ")", content
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// byLibrary lets parquet-go write a file.
func byLibrary(t testing.TB, r *rand.Rand) (string, []byte) {
	type deltas struct {
		A int32    `parquet:"a,delta"`
		B int64    `parquet:"b,delta"`
		C string   `parquet:"c,delta"`
		D [4]byte  `parquet:"d,delta"`
		E float32  `parquet:"e,split"`
		F float64  `parquet:"f,split"`
		G *string  `parquet:"g,optional"`
		H int64    `parquet:"h,optional,dict"`
		I []string `parquet:"i,list"`
	}
	version := 1 + r.IntN(2)
	codec := pick[compress.Codec](r, &parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Zstd, &parquet.Lz4Raw)
	options := []parquet.WriterOption{parquet.DataPageVersion(version), parquet.Compression(codec), parquet.PageBufferSize(pick(r, 128, 1<<20)), parquet.MaxRowsPerRowGroup(pick[int64](r, 50, 1<<20))}
	what := fmt.Sprintf("parquet-go: version %d, %v", version, codec)
	n := r.IntN(200)
	if r.IntN(2) == 0 {
		return what + ", events", fileWith(t, events(n), options...)
	}
	rows := make([]deltas, n)
	for i := range rows {
		text := fmt.Sprintf("text %d", i/3)
		rows[i] = deltas{A: r.Int32(), B: r.Int64(), C: text, D: [4]byte{byte(i)}, E: float32(i), F: float64(i) / 4, H: int64(i % 3), I: []string{text}[:i%2]}
		if i%3 == 0 {
			rows[i].G = &text
		}
	}
	return what + ", deltas", fileWith(t, rows, options...)
}

// dissected is a file in parts that can be changed one by one.
type dissected struct {
	meta   format.FileMetaData
	chunks []dissectedChunk // in the order of the row groups and of their columns
}

type dissectedChunk struct {
	meta  *format.ColumnMetaData
	pages []dissectedPage
}

// dissectedPage is a page whose body is not compressed; the sizes in its header say nothing. Lies are added to these sizes when
// the file is assembled.
type dissectedPage struct {
	header             format.PageHeader
	body               []byte
	packedLie, bodyLie int32
	checksum           bool
}

// dissect takes a file apart.
func dissect(t testing.TB, content []byte) dissected {
	t.Helper()
	var file dissected
	length := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), content[len(content)-8-length:len(content)-8], &file.meta))
	for g := range file.meta.RowGroups {
		for c := range file.meta.RowGroups[g].Columns {
			meta := &file.meta.RowGroups[g].Columns[c].MetaData
			chunk := dissectedChunk{meta: meta}
			begin, length := chunkRange(&columnMeta{
				DataPageOffset: meta.DataPageOffset, DictionaryPageOffset: meta.DictionaryPageOffset, TotalCompressedSize: meta.TotalCompressedSize,
			})
			for b := content[begin : begin+length]; len(b) > 0; {
				var p dissectedPage
				size, err := thriftSize(b, len(b))
				require.NoError(t, err)
				require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), b[:size], &p.header))
				body := b[size : size+int(p.header.CompressedPageSize)]
				s := pageStream{unpack: codecs[meta.Codec]}
				p.body, err = s.expand(&p.header, nil, body)
				require.NoError(t, err)
				chunk.pages, b = append(chunk.pages, p), b[size+len(body):]
			}
			file.chunks = append(file.chunks, chunk)
		}
	}
	return file
}

var libraryCodecs = map[format.CompressionCodec]compress.Codec{
	format.Snappy: &parquet.Snappy, format.Gzip: &parquet.Gzip, format.Zstd: &parquet.Zstd, format.Brotli: &parquet.Brotli, format.Lz4Raw: &parquet.Lz4Raw,
}

// assemble puts the file together.
func (f *dissected) assemble(t testing.TB) []byte {
	t.Helper()
	out := []byte(magic)
	for _, chunk := range f.chunks {
		begin := len(out)
		chunk.meta.DataPageOffset, chunk.meta.DictionaryPageOffset = int64(begin), 0
		for _, p := range chunk.pages {
			if p.header.Type == format.DataPage || p.header.Type == format.DataPageV2 {
				chunk.meta.DataPageOffset = int64(len(out))
				break
			}
			chunk.meta.DictionaryPageOffset = int64(len(out))
			out = p.append(t, out, chunk.meta.Codec)
		}
		for _, p := range chunk.pages {
			if p.header.Type == format.DataPage || p.header.Type == format.DataPageV2 || len(out) > int(chunk.meta.DataPageOffset) {
				out = p.append(t, out, chunk.meta.Codec)
			}
		}
		chunk.meta.TotalCompressedSize = int64(len(out) - begin)
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &f.meta)
	require.NoError(t, err)
	return withRawFooter(out, footer)
}

func (p *dissectedPage) append(t testing.TB, out []byte, codec format.CompressionCodec) []byte {
	t.Helper()
	header, body, levels := p.header, p.body, 0
	compressor := libraryCodecs[codec]
	if header.Type == format.DataPageV2 {
		h := &header.DataPageHeaderV2.V
		levels = min(max(int(h.RepetitionLevelsByteLength)+int(h.DefinitionLevelsByteLength), 0), len(body))
		if h.IsCompressed.Valid && !h.IsCompressed.V {
			compressor = nil
		}
	}
	if compressor != nil {
		packed, err := compressor.Encode(nil, body[levels:])
		require.NoError(t, err)
		body = slices.Concat(body[:levels], packed)
	}
	header.UncompressedPageSize, header.CompressedPageSize = int32(len(p.body))+p.bodyLie, int32(len(body))+p.packedLie
	header.CRC = 0
	if p.checksum {
		header.CRC = int32(crc32.ChecksumIEEE(body))
	}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &header)
	require.NoError(t, err)
	return append(append(out, text...), body...)
}

// scrambled changes some bytes, before or in the footer.
func scrambled(r *rand.Rand, content []byte) []byte {
	out := slices.Clone(content)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(out))
		if r.IntN(2) == 0 {
			out[at] ^= 1 << r.IntN(8)
		} else {
			out[at] = byte(r.Uint32())
		}
	}
	return out
}

// damage changes something, or two things, and says what.
func (f *dissected) damage(r *rand.Rand) string {
	var did []string
	for range 1 + r.IntN(2) {
		if len(f.chunks) == 0 || r.IntN(8) == 0 {
			did = append(did, f.damageFooter(r))
			continue
		}
		chunk := &f.chunks[r.IntN(len(f.chunks))]
		if len(chunk.pages) == 0 {
			continue
		}
		at := r.IntN(len(chunk.pages))
		switch p := &chunk.pages[at]; r.IntN(10) {
		case 0:
			chunk.pages = slices.Delete(chunk.pages, at, at+1)
			did = append(did, fmt.Sprintf("page %d taken away", at))
		case 1:
			chunk.pages = slices.Insert(chunk.pages, at, *p)
			did = append(did, fmt.Sprintf("page %d twice", at))
		case 2, 3, 4:
			did = append(did, fmt.Sprintf("header of page %d: %s", at, p.damageHeader(r)))
		default:
			did = append(did, fmt.Sprintf("body of page %d: %s", at, p.damageBody(r)))
		}
	}
	return strings.Join(did, "; ")
}

func little(r *rand.Rand) int32 { return pick[int32](r, -1000, -8, -3, -1, 1, 2, 8, 100, 1000) }

func (f *dissected) damageFooter(r *rand.Rand) string {
	by := little(r)
	if len(f.meta.RowGroups) == 0 {
		f.meta.NumRows += int64(by)
		return "rows of no row group"
	}
	group := &f.meta.RowGroups[r.IntN(len(f.meta.RowGroups))]
	column := r.IntN(len(group.Columns))
	meta := &group.Columns[column].MetaData
	switch r.IntN(7) {
	case 0:
		group.NumRows += int64(by)
		return fmt.Sprintf("%+d rows of a row group", by)
	case 1:
		meta.NumValues += int64(by)
		return fmt.Sprintf("%+d values of column %d", by, column)
	case 2:
		f.meta.NumRows, group.NumRows = f.meta.NumRows+int64(by), group.NumRows+int64(by)
		for i := range group.Columns {
			group.Columns[i].MetaData.NumValues += int64(by)
		}
		return fmt.Sprintf("%+d rows and values of a row group", by)
	case 3:
		meta.Codec = format.CompressionCodec(r.IntN(8))
		return "another compression"
	case 4:
		element := &f.meta.Schema[1+r.IntN(len(f.meta.Schema)-1)]
		element.RepetitionType = thrift.New(format.FieldRepetitionType(r.IntN(3)))
		return "another repetition of " + element.Name
	case 5:
		element := &f.meta.Schema[1+r.IntN(len(f.meta.Schema)-1)]
		element.TypeLength = thrift.New(element.TypeLength.V + pick[int32](r, -1, 1, 4))
		return "another length of " + element.Name
	default:
		f.meta.NumRows += int64(by)
		return fmt.Sprintf("%+d rows of the file", by)
	}
}

func (p *dissectedPage) damageHeader(r *rand.Rand) string {
	by := little(r)
	if r.IntN(6) == 0 {
		p.bodyLie = by
		return fmt.Sprintf("%+d bytes", by)
	}
	if r.IntN(12) == 0 {
		p.packedLie = by
		return fmt.Sprintf("%+d compressed bytes", by)
	}
	encoding := format.Encoding(r.IntN(10))
	switch p.header.Type {
	case format.DictionaryPage:
		p.header.DictionaryPageHeader.V.NumValues += by
		return fmt.Sprintf("%+d values of a dictionary", by)
	case format.DataPageV2:
		return damageV2(r, &p.header.DataPageHeaderV2.V, by, encoding)
	}
	switch h := &p.header.DataPageHeader.V; r.IntN(5) {
	case 0:
		h.Encoding = encoding
		return "encoding " + encoding.String()
	case 1:
		h.DefinitionLevelEncoding = pick(r, format.RLE, format.Plain) // DuckDB takes levels for RLE, whatever they are said to be
		return "levels of definition in another encoding"
	default:
		h.NumValues += by
		return fmt.Sprintf("%+d values", by)
	}
}

func damageV2(r *rand.Rand, h *format.DataPageHeaderV2, by int32, encoding format.Encoding) string {
	switch r.IntN(8) {
	case 0:
		h.Encoding = encoding
		return "encoding " + encoding.String()
	case 1:
		h.DefinitionLevelsByteLength += by
		return fmt.Sprintf("%+d bytes of levels of definition", by)
	case 2:
		h.RepetitionLevelsByteLength += by
		return fmt.Sprintf("%+d bytes of levels of repetition", by)
	case 3:
		h.NumNulls += by
		return fmt.Sprintf("%+d nulls", by)
	case 4:
		h.NumRows += by
		return fmt.Sprintf("%+d rows", by)
	case 5:
		h.NumValues, h.NumNulls, h.NumRows = h.NumValues+by, h.NumNulls+by, h.NumRows+by
		return fmt.Sprintf("%+d values, nulls and rows", by)
	default:
		h.NumValues, h.NumRows = h.NumValues+by, h.NumRows+by
		return fmt.Sprintf("%+d values and rows", by)
	}
}

func (p *dissectedPage) damageBody(r *rand.Rand) string {
	body := slices.Clone(p.body)
	defer func() { p.body = body }()
	if len(body) == 0 {
		body = append(body, byte(r.Uint32()))
		return "a byte where none was"
	}
	at, many := r.IntN(len(body)), min(1+r.IntN(9), len(body))
	switch r.IntN(7) {
	case 0:
		body = body[:len(body)-many]
		return fmt.Sprintf("the last %d bytes taken away", many)
	case 1:
		body = append(body, body[:many]...)
		return fmt.Sprintf("%d bytes more", many)
	case 2:
		body = slices.Delete(body, at, at+1)
		return fmt.Sprintf("byte %d taken away", at)
	case 3:
		body = slices.Insert(body, at, byte(r.Uint32()))
		return fmt.Sprintf("a byte more before byte %d", at)
	case 4:
		at = min(at, r.IntN(12)) // where the lengths and counts are
		body[min(at, len(body)-1)] += byte(pick(r, -8, -2, -1, 1, 2, 8))
		return fmt.Sprintf("byte %d a bit more or less", at)
	case 5:
		body[at] ^= 1 << r.IntN(8)
		return fmt.Sprintf("a bit of byte %d", at)
	default:
		body = body[:at]
		return fmt.Sprintf("cut after byte %d", at)
	}
}

// byHand writes a file of one or two columns, with its own encoders: in every encoding of the format for every type.
func byHand(r *rand.Rand) (string, dissected) {
	rows := pick(r, 0, 1, 2, 7, 8, 9, 33, 100, 700)
	file := dissected{meta: format.FileMetaData{
		Version: 1, NumRows: int64(rows), RowGroups: []format.RowGroup{{NumRows: int64(rows), TotalByteSize: 1}},
		Schema: []format.SchemaElement{{Name: "root", NumChildren: thrift.New(int32(0))}},
	}}
	var what []string
	columns := 1 + r.IntN(2)
	group := &file.meta.RowGroups[0]
	group.Columns = make([]format.ColumnChunk, columns)
	for i := range columns {
		h := newHand(r)
		h.name = string(rune('a' + i))
		file.meta.Schema[0].NumChildren.V++
		file.meta.Schema = append(file.meta.Schema, h.schema()...)
		meta := &group.Columns[i].MetaData
		*meta = format.ColumnMetaData{Type: h.physical, PathInSchema: []string{h.name}, Codec: pick(r, format.Uncompressed, format.Snappy, format.Gzip, format.Zstd), Encoding: []format.Encoding{h.encoding}}
		if h.list {
			meta.PathInSchema = []string{h.name, "list", "element"}
		}
		chunk := dissectedChunk{meta: meta, pages: h.pages(rows)}
		for _, p := range chunk.pages {
			meta.NumValues += entriesOf(&p.header)
		}
		meta.TotalUncompressedSize = 1
		file.chunks = append(file.chunks, chunk)
		what = append(what, fmt.Sprintf("%s %s, optional %v, list %v, version %d", h.physical, h.encoding, h.optional, h.list, 1+b2i(h.v2)))
	}
	return fmt.Sprintf("by hand, %d rows: %s", rows, strings.Join(what, "; ")), file
}

func entriesOf(h *format.PageHeader) int64 {
	return int64(h.DataPageHeader.V.NumValues) + int64(h.DataPageHeaderV2.V.NumValues)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hand writes the pages of a column.
type hand struct {
	r              *rand.Rand
	name           string
	physical       format.Type
	length         int
	encoding       format.Encoding
	annotation     deprecated.ConvertedType // -1: none
	optional, list bool
	v2             bool
	oneByOne       bool // no values are packed
	dictionary     [][]byte
}

var handEncodings = map[format.Type][]format.Encoding{
	format.Boolean:           {format.Plain, format.RLE},
	format.Int32:             {format.Plain, format.RLEDictionary, format.DeltaBinaryPacked, format.ByteStreamSplit},
	format.Int64:             {format.Plain, page.OldDictionary, format.DeltaBinaryPacked, format.ByteStreamSplit},
	format.Int96:             {format.Plain, format.RLEDictionary},
	format.Float:             {format.Plain, format.RLEDictionary, format.ByteStreamSplit},
	format.Double:            {format.Plain, format.RLEDictionary, format.ByteStreamSplit},
	format.ByteArray:         {format.Plain, format.RLEDictionary, format.DeltaLengthByteArray, format.DeltaByteArray},
	format.FixedLenByteArray: {format.Plain, format.RLEDictionary, format.DeltaByteArray, format.ByteStreamSplit},
}

func newHand(r *rand.Rand) *hand {
	h := &hand{r: r, physical: format.Type(r.IntN(8)), length: 1 + r.IntN(9), optional: r.IntN(2) == 0, list: r.IntN(4) == 0, v2: r.IntN(2) == 0, annotation: -1}
	h.encoding = pick(r, handEncodings[h.physical]...)
	switch h.physical {
	case format.Int32:
		h.annotation = pick[deprecated.ConvertedType](r, -1, deprecated.Date, deprecated.Uint32, deprecated.Int8, deprecated.Uint16)
	case format.Int64:
		h.annotation = pick[deprecated.ConvertedType](r, -1, deprecated.TimestampMicros, deprecated.Uint64)
	case format.ByteArray:
		h.annotation = pick[deprecated.ConvertedType](r, -1, deprecated.UTF8)
	}
	return h
}

func (h *hand) schema() []format.SchemaElement {
	leaf := format.SchemaElement{Name: h.name, Type: thrift.New(h.physical), RepetitionType: thrift.New(format.Required)}
	if h.optional {
		leaf.RepetitionType.V = format.Optional
	}
	if h.physical == format.FixedLenByteArray {
		leaf.TypeLength = thrift.New(int32(h.length))
	}
	if h.annotation >= 0 {
		leaf.ConvertedType = thrift.New(h.annotation)
	}
	if !h.list {
		return []format.SchemaElement{leaf}
	}
	leaf.Name = "element"
	return []format.SchemaElement{
		{Name: h.name, RepetitionType: thrift.New(format.Optional), NumChildren: thrift.New(int32(1)), ConvertedType: thrift.New(deprecated.List)},
		{Name: "list", RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(1))}, leaf,
	}
}

// pages writes values for so many rows, on one page or several.
func (h *hand) pages(rows int) []dissectedPage {
	if h.encoding == format.RLEDictionary || h.encoding == page.OldDictionary {
		for range 1 + h.r.IntN(20) {
			h.dictionary = append(h.dictionary, h.value())
		}
	}
	var pages []dissectedPage
	if h.dictionary != nil {
		pages = append(pages, h.dictionaryPage())
	}
	for {
		here := rows
		if h.r.IntN(2) == 0 {
			here = h.r.IntN(rows + 1)
		}
		if p := h.page(here); here > 0 || rows == 0 {
			pages = append(pages, p)
		}
		if rows -= here; rows == 0 {
			return pages
		}
	}
}

func (h *hand) dictionaryPage() dissectedPage {
	return dissectedPage{body: h.plain(h.dictionary), checksum: h.r.IntN(3) == 0, header: format.PageHeader{
		Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(h.dictionary)), Encoding: pick(h.r, format.Plain, page.OldDictionary)}),
	}}
}

func (h *hand) page(rows int) dissectedPage {
	rep, def, present := h.levels(rows)
	var reps, defs []byte
	if h.list {
		reps = h.hybrid(rep, 1)
	}
	switch {
	case h.list && h.optional, h.list:
		defs = h.hybrid(def, 2)
	case h.optional:
		defs = h.hybrid(def, 1)
	}
	values := make([][]byte, present)
	indices := make([]int, present)
	for i := range values {
		if h.dictionary != nil {
			indices[i] = h.r.IntN(len(h.dictionary))
			continue
		}
		values[i] = h.value()
	}
	body := h.encode(values, indices)
	if h.v2 {
		return dissectedPage{body: slices.Concat(reps, defs, body), checksum: h.r.IntN(3) == 0, header: format.PageHeader{Type: format.DataPageV2,
			DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
				NumValues: int32(len(def)), NumNulls: int32(len(def) - present), NumRows: int32(rows), Encoding: h.encoding,
				DefinitionLevelsByteLength: int32(len(defs)), RepetitionLevelsByteLength: int32(len(reps)), IsCompressed: thrift.New(h.r.IntN(4) != 0),
			})}}
	}
	for _, levels := range []*[]byte{&reps, &defs} {
		if *levels != nil {
			*levels = append(binary.LittleEndian.AppendUint32(nil, uint32(len(*levels))), *levels...)
		}
	}
	return dissectedPage{body: slices.Concat(reps, defs, body), checksum: h.r.IntN(3) == 0, header: format.PageHeader{Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(len(def)), Encoding: h.encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		})}}
}

// levels makes levels for so many rows, and the number of values that are there.
func (h *hand) levels(rows int) (rep, def []int, present int) {
	top := b2i(h.optional)
	if h.list {
		top += 2
	}
	add := func(r, d int) {
		rep, def = append(rep, r), append(def, d)
		if d == top {
			present++
		}
	}
	leaf := func() int { return top - b2i(h.optional && h.r.IntN(4) == 0) }
	for range rows {
		if !h.list {
			add(0, leaf())
			continue
		}
		switch n := h.r.IntN(5); n {
		case 0, 1:
			add(0, n) // null, and empty
		default:
			for i := range n - 1 {
				add(b2i(i > 0), leaf())
			}
		}
	}
	return rep, def, present
}

// value makes a value as PLAIN has it, without the length of a text.
func (h *hand) value() []byte {
	switch h.physical {
	case format.Boolean:
		return []byte{byte(h.r.IntN(2))}
	case format.Int32:
		n := map[deprecated.ConvertedType]int32{-1: h.r.Int32() - h.r.Int32(), deprecated.Int8: int32(h.r.IntN(256) - 128)}
		if n, ok := n[h.annotation]; ok {
			return binary.LittleEndian.AppendUint32(nil, uint32(n))
		}
		return binary.LittleEndian.AppendUint32(nil, uint32(h.r.IntN(1<<16)))
	case format.Int64:
		return binary.LittleEndian.AppendUint64(nil, h.r.Uint64()>>h.r.IntN(64)>>(8*b2i(h.annotation == deprecated.TimestampMicros)))
	case format.Int96:
		nanos := binary.LittleEndian.AppendUint64(nil, uint64(h.r.IntN(86400_000_000)*1000))
		return binary.LittleEndian.AppendUint32(nanos, uint32(julianEpoch+h.r.IntN(20000)))
	case format.Float:
		return binary.LittleEndian.AppendUint32(nil, uint32(h.r.IntN(1<<30)))
	case format.Double:
		return binary.LittleEndian.AppendUint64(nil, h.r.Uint64()>>2)
	case format.ByteArray:
		return []byte(strings.Repeat("waymark", 2)[:h.r.IntN(10)] + fmt.Sprint(h.r.IntN(100)))
	}
	out := make([]byte, h.length)
	for i := range out {
		out[i] = byte(h.r.Uint32())
	}
	return out
}

func (h *hand) plain(values [][]byte) []byte {
	var out []byte
	if h.physical == format.Boolean {
		out = make([]byte, (len(values)+7)/8)
		for i, v := range values {
			out[i/8] |= v[0] << (i % 8)
		}
		return out
	}
	for _, v := range values {
		if h.physical == format.ByteArray {
			out = binary.LittleEndian.AppendUint32(out, uint32(len(v)))
		}
		out = append(out, v...)
	}
	return out
}

// encode encodes values, or indices of the dictionary.
func (h *hand) encode(values [][]byte, indices []int) []byte {
	switch h.encoding {
	case format.RLEDictionary, page.OldDictionary:
		width := 0
		for 1<<width < len(h.dictionary) {
			width++
		}
		width += b2i(h.r.IntN(5) == 0)
		return append([]byte{byte(width)}, h.hybrid(indices, width)...)
	case format.RLE:
		bits := make([]int, len(values))
		for i, v := range values {
			bits[i] = int(v[0])
		}
		runs := h.hybrid(bits, 1)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
	case format.ByteStreamSplit:
		var out []byte
		for k := range widthOf(h) {
			for _, v := range values {
				out = append(out, v[k])
			}
		}
		return out
	case format.Plain:
		return h.plain(values)
	}
	return h.deltas(values)
}

func widthOf(h *hand) int {
	return map[format.Type]int{format.Int32: 4, format.Float: 4, format.Int64: 8, format.Double: 8, format.FixedLenByteArray: h.length}[h.physical]
}

func (h *hand) deltas(values [][]byte) []byte {
	all, offsets := slices.Concat(values...), []uint32{0}
	for _, v := range values {
		offsets = append(offsets, offsets[len(offsets)-1]+uint32(len(v)))
	}
	var out []byte
	var err error
	switch {
	case h.encoding == format.DeltaLengthByteArray:
		out, err = new(delta.LengthByteArrayEncoding).EncodeByteArray(nil, all, offsets)
	case h.physical == format.ByteArray:
		out, err = new(delta.ByteArrayEncoding).EncodeByteArray(nil, all, offsets)
	case h.physical == format.FixedLenByteArray:
		out, err = new(delta.ByteArrayEncoding).EncodeFixedLenByteArray(nil, all, h.length)
	case h.physical == format.Int32:
		numbers := make([]int32, len(values))
		for i, v := range values {
			numbers[i] = int32(binary.LittleEndian.Uint32(v))
		}
		out, err = new(delta.BinaryPackedEncoding).EncodeInt32(nil, numbers)
	default:
		numbers := make([]int64, len(values))
		for i, v := range values {
			numbers[i] = int64(binary.LittleEndian.Uint64(v))
		}
		out, err = new(delta.BinaryPackedEncoding).EncodeInt64(nil, numbers)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// hybrid encodes values in runs of one, and packed, as chance will have it.
func (h *hand) hybrid(values []int, width int) []byte {
	var out []byte
	for len(values) > 0 {
		same := 1
		for same < len(values) && values[same] == values[0] {
			same++
		}
		if h.oneByOne || same > h.r.IntN(12) {
			out = binary.AppendUvarint(out, uint64(same)<<1)
			for i := range (width + 7) / 8 {
				out = append(out, byte(values[0]>>(8*i)))
			}
			values = values[same:]
			continue
		}
		n := min(8*(1+h.r.IntN(4)), len(values)+(8-len(values)%8)%8)
		packed := make([]byte, n/8*width)
		for i, v := range values[:min(n, len(values))] {
			for bit := range width {
				packed[(i*width+bit)/8] |= byte(v>>bit&1) << ((i*width + bit) % 8)
			}
		}
		out = append(binary.AppendUvarint(out, uint64(n/8)<<1|1), packed...)
		values = values[min(n, len(values)):]
	}
	return out
}
