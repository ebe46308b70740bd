package parquet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/plugintest"
)

var observed = pipeline.Schema{Mode: pipeline.ModeObserved}

// fileWith returns a file with these rows, of a struct, written by the library as others use it.
func fileWith[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, options...)
	_, err := w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestFilesWithoutRows shows that no rows are no fault, and no bytes are one.
func TestFilesWithoutRows(t *testing.T) {
	require.Empty(t, mustRead(t, written(t, fileWith(t, []event{}), observed)))
	p, dir := files(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.parquet"), nil, 0o600))
	for _, pattern := range []string{"a.parquet", "b*.parquet"} {
		_, err := readFrom(t, sourceOf(t, p, pattern, observed), plugin.Cursor{}, chunkLimits)
		require.ErrorContains(t, err, "EMPTY_SOURCE")
		allowed, err := NewSource("in", pipeline.Source{Parquet: &pipeline.ParquetSource{Path: pattern, AllowEmpty: true}}, p)
		require.NoError(t, err)
		require.Empty(t, mustRead(t, allowed))
	}
}

// TestColumnsWithoutPages has files as Arrow writes tables without rows: a column has no data page, perhaps a
// dictionary, and a note without a value.
func TestColumnsWithoutPages(t *testing.T) {
	dictionary := []byte("\x15\x04\x15\x00\x15\x00\x4c\x15\x00\x15\x00\x12\x00\x00") // of no values
	for _, pages := range [][]byte{nil, dictionary} {
		column := columnMeta{Type: format.Int32, PathInSchema: []string{"a"}, TotalCompressedSize: int64(len(pages)),
			Notes: []note{{Key: "key"}}}
		if len(pages) > 0 {
			column.DictionaryPageOffset = int64(len(magic))
		}
		meta := fileMeta{
			Version: 1,
			Schema: []format.SchemaElement{
				{Name: "root", NumChildren: thrift.New(int32(1))},
				{Name: "a", Type: thrift.New(format.Int32), RepetitionType: thrift.New(format.Optional)},
			},
			RowGroups: []groupMeta{{Columns: []chunkMeta{{MetaData: column}}}},
		}
		footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
		require.NoError(t, err)
		require.Empty(t, mustRead(t, written(t, withRawFooter(append([]byte(magic), pages...), footer), observed)))
	}
}

// TestAnyCursorGoesOn reads on from every chunk's end, as after a crash.
func TestAnyCursorGoesOn(t *testing.T) {
	p, dir := files(t)
	var digests []string
	for i, options := range [][]parquet.WriterOption{
		{parquet.DataPageVersion(1), parquet.PageBufferSize(512), parquet.MaxRowsPerRowGroup(400)},
		{parquet.DataPageVersion(2), parquet.PageBufferSize(512), parquet.MaxRowsPerRowGroup(333), parquet.Compression(&parquet.Zstd)},
	} {
		file := fileWith(t, events(1500), options...)
		sum := sha256.Sum256(file)
		digests = append(digests, hex.EncodeToString(sum[:]))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.parquet", i)), file, 0o600))
	}
	source := sourceOf(t, p, "*.parquet", observed)
	limits := plugin.Limits{Rows: 97, Bytes: 1 << 20}
	whole, err := readFrom(t, source, plugin.Cursor{}, limits)
	require.NoError(t, err)
	require.Len(t, whole.records, 3000)
	require.Equal(t, digests, whole.digests)
	done := 0
	for i, at := range whole.cursors {
		done += whole.chunks[i].Len()
		rest, err := readFrom(t, source, at, limits)
		require.NoError(t, err)
		require.Equal(t, len(whole.records)-done, len(rest.records), "from chunk %d", i)
		for k, record := range rest.records {
			require.Equal(t, whole.records[done+k], record, "from chunk %d", i)
		}
		require.Equal(t, whole.digests, rest.digests)
		require.Len(t, rest.cursors, len(whole.cursors)-i-1)
		for k, cursor := range rest.cursors {
			require.Equal(t, whole.cursors[i+1+k], cursor)
		}
		if i+1 < len(whole.chunks) {
			next := whole.chunks[i+1]
			require.Equal(t, at.Row+1, next.FirstRow)
			if next.File != whole.chunks[i].File {
				at.Line, at.Offset = 0, 0
			}
			require.Equal(t, at.Line+1, next.FirstLine)
			require.Equal(t, at.Offset, next.FirstOffset)
		}
	}
}

// TestChunksEndAtTheirLimits shows that bytes count as those of the records.
func TestChunksEndAtTheirLimits(t *testing.T) {
	out, err := readFrom(t, written(t, fileWith(t, events(1000)), observed), plugin.Cursor{}, plugin.Limits{Rows: 1 << 15, Bytes: 1000})
	require.NoError(t, err)
	require.Greater(t, len(out.chunks), 50)
	for i, c := range out.chunks[:len(out.chunks)-1] {
		last := c.Len() - 1
		require.Less(t, int(c.Offsets[last]), 1000, "chunk %d", i)
		require.GreaterOrEqual(t, int(c.Offsets[last]+c.Lengths[last]+1), 1000, "chunk %d", i)
	}
}

// TestChangedFiles shows that a file that is another by now is not read on.
func TestChangedFiles(t *testing.T) {
	p, dir := files(t)
	path := filepath.Join(dir, "in.parquet")
	require.NoError(t, os.WriteFile(path, fileWith(t, events(500)), 0o600))
	source := sourceOf(t, p, "in.parquet", observed)
	pin, err := source.Stat(t.Context())
	require.NoError(t, err)
	r, err := source.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var c plugin.Chunk
	require.NoError(t, r.Next(t.Context(), plugin.Limits{Rows: 10, Bytes: 1 << 20}, &c))
	require.NoError(t, os.WriteFile(path, fileWith(t, events(501)), 0o600))
	require.ErrorContains(t, r.Next(t.Context(), plugin.Limits{Rows: 10, Bytes: 1 << 20}, &c), "SOURCE_CHANGED")
	_, err = source.Open(t.Context(), r.Cursor(), pin)
	require.ErrorContains(t, err, "SOURCE_CHANGED")
}

// TestColumnsAndSchema holds the columns of a file against the declared fields, before a row is read.
func TestColumnsAndSchema(t *testing.T) {
	file := fileWith(t, events(3))
	field := func(name, kind string, optional bool) pipeline.Named[pipeline.Field] {
		return pipeline.Named[pipeline.Field]{Name: name, Value: pipeline.Field{Type: kind, Optional: optional}}
	}
	all := pipeline.Map[pipeline.Field]{
		field("id", "int", false), field("name", "string", true), field("flag", "bool", false),
		field("cost", "float", false), field("tags", "json", false), field("kind", "string", false),
	}
	source := written(t, file, pipeline.Schema{Fields: all})
	parser, err := source.Parser(nil)
	require.NoError(t, err)
	for _, record := range mustRead(t, source) {
		_, err := parser.Parse(record, nil)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		name, message string
		schema        pipeline.Schema
	}{
		{"a column that is not declared", `its column "kind" is not declared`, pipeline.Schema{Fields: all[:5]}},
		{"a field without a column", `it has no column "other"`, pipeline.Schema{Fields: append(all[:6:6], field("other", "int", false))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readFrom(t, written(t, file, c.schema), plugin.Cursor{}, chunkLimits)
			require.ErrorContains(t, err, "in.parquet: HEADER_MISMATCH: "+c.message)
		})
	}
	require.Len(t, mustRead(t, written(t, file, pipeline.Schema{Mode: pipeline.ModeFlexible, Fields: all[:1]})), 3)
	require.Len(t, mustRead(t, written(t, file, pipeline.Schema{Fields: append(all[:6:6], field("other", "int", true))})), 3)
}

func TestTargetContract(t *testing.T) {
	s := sinkOf(t, pipeline.ParquetSink{})
	require.Equal(t, plugin.Idempotent, s.Guarantee())
	require.Equal(t, pipeline.WritesIO, s.Determinism())
	fields, rows := allKinds(t)
	e, err := s.TypedEncoder(fields, false)
	require.NoError(t, err)
	part := fileOf(t, e.(plugin.Finisher), rows)
	output := plugintest.NewOutput("", string(part), string(part))
	target := s.Target("run")
	output.Write(t, target)
	artifact, err := target.Publish(t.Context(), nil, output.Parts)
	require.NoError(t, err)
	require.Equal(t, int64(2*len(part)), artifact.Bytes)
	for _, name := range []string{"part-00000.parquet", "part-00001.parquet"} {
		content, err := os.ReadFile(filepath.Join(artifact.Path, name))
		require.NoError(t, err)
		require.Equal(t, part, content)
	}
}

func TestSinkRefusesWhatItCannotWrite(t *testing.T) {
	fields := []plugin.Field{{Name: "a"}, {Name: "b"}}
	for _, c := range []struct {
		name, message string
		spec          pipeline.ParquetSink
		fields        []plugin.Field
		open          bool
	}{
		{"open rows without columns", "list columns", pipeline.ParquetSink{}, fields, true},
		{"rows without fields", "rows have no fields", pipeline.ParquetSink{}, nil, false},
		{"a column of no row", `no row has a field "c"; the fields are a, b`, pipeline.ParquetSink{Columns: []string{"c"}}, fields, false},
		{"digits of no column", `no column is called "c"`, pipeline.ParquetSink{Decimals: pipeline.Map[int]{{Name: "c"}}}, fields, false},
		{"digits of another type", `"a" is null, not a decimal`, pipeline.ParquetSink{Decimals: pipeline.Map[int]{{Name: "a"}}}, fields, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sinkOf(t, c.spec).TypedEncoder(c.fields, c.open)
			require.ErrorContains(t, err, "sinks.out: ")
			require.ErrorContains(t, err, c.message)
		})
	}
	_, err := sinkOf(t, pipeline.ParquetSink{Columns: []string{"a", "c"}}).TypedEncoder(fields, true)
	require.NoError(t, err, "a column that is not declared holds JSON")
}

// TestARowGroupIsReadPageByPage shows that memory does not grow with the row group, which has all rows here.
func TestARowGroupIsReadPageByPage(t *testing.T) {
	var out bytes.Buffer
	w := parquet.NewGenericWriter[event](&out, parquet.Compression(&parquet.Snappy))
	rows := events(10_000)
	const times = 40
	for range times {
		_, err := w.Write(rows)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	source := inMemory(t, out.Bytes())
	pin, err := source.Stat(t.Context())
	require.NoError(t, err)
	r, err := source.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	before, most, read, size := liveBytes(), uint64(0), 0, 0
	var c plugin.Chunk
	for read < times*len(rows) {
		require.NoError(t, r.Next(t.Context(), plugin.Limits{Rows: 1 << 15, Bytes: 1 << 20}, &c))
		read, size = read+c.Len(), size+len(c.Data)
		most = max(most, liveBytes())
	}
	require.Greater(t, size, 30<<20)
	require.Less(t, most, before+(12<<20))
}

func liveBytes() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestDecimalsOfFixedLength(t *testing.T) {
	column := &target{Field: plugin.Field{Name: "total"}, scale: 2}
	for text, want := range map[string]string{
		"0": "0.00", "-0.01": "-0.01", "1.5": "1.50", "1.500": "1.50", "999999999999999999": "999999999999999999.00",
		"-123456789012345678901234567890.12": "-123456789012345678901234567890.12", "0.07": "0.07",
	} {
		encoded, refused := appendFixed(nil, column, text)
		require.Nil(t, refused, text)
		require.Len(t, encoded, 1+decimalBytes)
		l := leaf{physical: format.FixedLenByteArray, length: decimalBytes, form: formDecimal, scale: 2}
		back, why := l.appendValue(nil, encoded[1:])
		require.Zero(t, why)
		require.Equal(t, want, string(back))
	}
	for text, code := range map[string]string{
		"0.001": "INEXACT", "1234567890123456789012345678901234567.5": "NUMBER_RANGE", "-1000000000000000000000000000000000000": "NUMBER_RANGE",
	} {
		dst, refused := appendFixed([]byte("before"), column, text)
		require.NotNil(t, refused, text)
		require.Equal(t, code, refused.Code)
		require.Contains(t, refused.Message, `"`+text+`"`)
		require.Equal(t, "before", string(dst))
	}
	_, refused := appendFixed(nil, &target{Field: plugin.Field{Name: "total"}, scale: 1}, "1.25")
	require.Equal(t, `"1.25" has more than 1 digit after the point; round it before`, refused.Message)
}
