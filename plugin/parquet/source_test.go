package parquet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
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

// TestTypes shows what each type of column becomes.
func TestTypes(t *testing.T) {
	name := func(s string) *string { return &s }
	moment := time.Date(2026, 11, 20, 15, 4, 5, 123456789, time.UTC)
	t.Run("numbers", func(t *testing.T) {
		type numbers struct {
			I8  int8    `parquet:"i8"`
			U16 uint16  `parquet:"u16"`
			I32 int32   `parquet:"i32"`
			U32 uint32  `parquet:"u32"`
			I64 int64   `parquet:"i64"`
			U64 uint64  `parquet:"u64"`
			F32 float32 `parquet:"f32"`
			F64 float64 `parquet:"f64"`
			B   bool    `parquet:"b"`
			D32 int32   `parquet:"d32,decimal(2:9)"`
			D64 int64   `parquet:"d64,decimal(4:18)"`
		}
		require.Equal(t, []string{
			`{"i8":-128,"u16":65535,"i32":-2147483648,"u32":4294967295,"i64":9223372036854775807,"u64":18446744073709551615,"f32":0.10000000149011612,"f64":0.1,"b":true,"d32":-1.50,"d64":0.0001}`,
			`{"i8":0,"u16":0,"i32":0,"u32":0,"i64":0,"u64":0,"f32":0.0,"f64":0.0,"b":false,"d32":0.00,"d64":0.0000}`,
		}, mustRead(t, written(t, fileWith(t, []numbers{
			{-128, 65535, math.MinInt32, math.MaxUint32, math.MaxInt64, math.MaxUint64, 0.1, 0.1, true, -150, 1}, {},
		}), observed)))
	})
	t.Run("texts and bytes", func(t *testing.T) {
		type texts struct {
			S string   `parquet:"s"`
			E string   `parquet:"e,enum"`
			J string   `parquet:"j,json"`
			B []byte   `parquet:"b"`
			U [16]byte `parquet:"u,uuid"`
			F [3]byte  `parquet:"f"`
			D [5]byte  `parquet:"d,decimal(3:11)"`
		}
		require.Equal(t, []string{
			`{"s":"a\"ü","e":"RED","j":{"a":1,"b":[1.5]},"b":"\\x00ff","u":"00010203-0405-0607-0809-0a0b0c0d0e0f","f":"\\x010203","d":-0.001}`,
		}, mustRead(t, written(t, fileWith(t, []texts{{
			"a\"ü", "RED", "{\"b\": [1.5],\n\"a\": 1}", []byte{0, 255}, [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
			[3]byte{1, 2, 3}, [5]byte{255, 255, 255, 255, 255},
		}}), observed)))
	})
	t.Run("times", func(t *testing.T) {
		type times struct {
			Day   int32            `parquet:"day,date"`
			Ms    int64            `parquet:"ms,timestamp(millisecond)"`
			Us    int64            `parquet:"us,timestamp(microsecond)"`
			Ns    int64            `parquet:"ns,timestamp(nanosecond)"`
			Local int64            `parquet:"local,timestamp(microsecond:local)"`
			TMs   int32            `parquet:"tms,time(millisecond)"`
			TNs   int64            `parquet:"tns,time(nanosecond)"`
			Old   deprecated.Int96 `parquet:"old"`
		}
		nanos := uint64(12*time.Hour + 1)
		require.Equal(t, []string{
			`{"day":"2026-11-20","ms":"2026-11-20T15:04:05.123Z","us":"2026-11-20T15:04:05.123456Z","ns":"2026-11-20T15:04:05.123456789Z",` +
				`"local":"1969-12-31T23:59:59.999999Z","tms":"23:59:59.999","tns":"00:00:00.00000001","old":"1970-01-02T12:00:00.000000001Z"}`,
		}, mustRead(t, written(t, fileWith(t, []times{{
			int32(moment.Unix() / 86400), moment.UnixMilli(), moment.UnixMicro(), moment.UnixNano(), -1, 86399999, 10,
			deprecated.Int96{uint32(nanos), uint32(nanos >> 32), 2440589},
		}}), observed)))
	})
	t.Run("nested", func(t *testing.T) {
		type point struct {
			X *int32   `parquet:"x,optional"`
			T []string `parquet:"t"`
		}
		type nested struct {
			ID    int64              `parquet:"id"`
			Note  *string            `parquet:"note,optional"`
			Point *point             `parquet:"point,optional"`
			List  []int64            `parquet:"list,list"`
			Many  []point            `parquet:"many,list"`
			Deep  [][]string         `parquet:"deep,list"`
			Map   map[string]float64 `parquet:"map"`
			Plain []point            `parquet:"plain"`
		}
		x := int32(7)
		require.Equal(t, []string{
			`{"id":1,"note":"n","point":{"x":7,"t":["a","b"]},"list":[1,2,3],"many":[{"x":null,"t":[]},{"x":7,"t":["c"]}],"deep":[["p","q"],["r"]],"map":{"k":1.5},"plain":[{"x":7,"t":["d","e"]},{"x":null,"t":[]}]}`,
			`{"id":2,"note":null,"point":null,"list":[],"many":[],"deep":[],"map":{},"plain":[]}`,
		}, mustRead(t, written(t, fileWith(t, []nested{
			{1, name("n"), &point{&x, []string{"a", "b"}}, []int64{1, 2, 3}, []point{{}, {&x, []string{"c"}}}, [][]string{{"p", "q"}, {"r"}}, map[string]float64{"k": 1.5}, []point{{&x, []string{"d", "e"}}, {}}},
			{ID: 2},
		}), observed)))
	})
}

// TestRowsThatNoRowCanBe shows values for which JSON or a row has no place: they refuse their row alone.
func TestRowsThatNoRowCanBe(t *testing.T) {
	type odd struct {
		F float64 `parquet:"f"`
		S string  `parquet:"s"`
		D int32   `parquet:"d,date"`
		T int64   `parquet:"t,timestamp(millisecond)"`
		J string  `parquet:"j,json"`
	}
	good := odd{J: "1"}
	with := func(change func(*odd)) odd {
		o := good
		change(&o)
		return o
	}
	out, err := readFrom(t, written(t, fileWith(t, []odd{
		good, with(func(o *odd) { o.F = math.NaN() }), with(func(o *odd) { o.F = math.Inf(-1) }), with(func(o *odd) { o.S = "a\xff\n" }),
		with(func(o *odd) { o.D = math.MaxInt32 }), with(func(o *odd) { o.T = math.MinInt64 }), with(func(o *odd) { o.J = "{" }),
		with(func(o *odd) { o.J = `{"a":1,"a":1}` }), with(func(o *odd) { o.S = string(make([]byte, 1<<20)) }), good,
	}), observed), plugin.Cursor{}, chunkLimits)
	require.NoError(t, err)
	require.Equal(t, map[int]string{
		1: "NUMBER_RANGE", 2: "NUMBER_RANGE", 3: "INVALID_UTF8", 4: "TIME_RANGE", 5: "TIME_RANGE", 6: "SYNTAX", 7: "DUPLICATE_KEY", 8: "ROW_TOO_LARGE",
	}, out.bad)
	require.Equal(t, `{"f":NaN,"s":"","d":"1970-01-01","t":"1970-01-01T00:00:00Z","j":1}`, out.records[1])
	require.Equal(t, `{"f":-Inf,"s":"","d":"1970-01-01","t":"1970-01-01T00:00:00Z","j":1}`, out.records[2])
	require.Contains(t, out.records[3], "\"a\xff\\n\"")
	require.Contains(t, out.records[4], `"d":date("2147483647")`)
	require.Contains(t, out.records[5], `"t":timestamp("-9223372036854776")`)
	require.Contains(t, out.records[6], `"j":json("{")`)
	require.Len(t, out.records[8], keptBytes)
	require.Equal(t, out.records[0], out.records[9])
	source := written(t, fileWith(t, []odd{good}), observed)
	parser, err := source.Parser(nil)
	require.NoError(t, err)
	for i := range out.records {
		if _, bad := out.bad[i]; bad {
			_, err := parser.Parse(out.records[i], nil)
			require.Error(t, err, "fed again, the record must not become another row: %.200s", out.records[i])
		}
	}
}

// event is a row with a bit of everything.
type event struct {
	ID   int64    `parquet:"id"`
	Name *string  `parquet:"name,optional"`
	Flag bool     `parquet:"flag"`
	Cost float64  `parquet:"cost"`
	Tags []string `parquet:"tags,list"`
	Kind string   `parquet:"kind,dict"`
}

func events(n int) []event {
	rows := make([]event, n)
	for i := range rows {
		name := fmt.Sprintf("name %d", i)
		rows[i] = event{ID: int64(i), Flag: i%3 == 0, Cost: float64(i) / 8, Kind: []string{"a", "b", "c"}[i%3]}
		if i%5 != 0 {
			rows[i].Name = &name
		}
		for k := range i % 4 {
			rows[i].Tags = append(rows[i].Tags, fmt.Sprintf("t%d", k))
		}
	}
	return rows
}

// TestLayouts writes the same rows in all ways that others have: they are the same records.
func TestLayouts(t *testing.T) {
	rows := events(3000)
	want := mustRead(t, written(t, fileWith(t, rows), observed))
	require.Len(t, want, len(rows))
	require.Equal(t, `{"id":7,"name":"name 7","flag":false,"cost":0.875,"tags":["t0","t1","t2"],"kind":"b"}`, want[7])
	for name, codec := range map[string]compress.Codec{
		"none": &parquet.Uncompressed, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip, "brotli": &parquet.Brotli, "zstd": &parquet.Zstd, "lz4_raw": &parquet.Lz4Raw,
	} {
		for _, version := range []int{1, 2} {
			for _, page := range []int{256, 1 << 20} {
				t.Run(fmt.Sprintf("%s, pages of version %d and %d bytes", name, version, page), func(t *testing.T) {
					file := fileWith(t, rows, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(page), parquet.MaxRowsPerRowGroup(700))
					require.Equal(t, want, mustRead(t, written(t, file, observed)))
				})
			}
		}
	}
}

// TestEncodings has the encodings of values that others choose.
func TestEncodings(t *testing.T) {
	type delta struct {
		A int32    `parquet:"a,delta"`
		B int64    `parquet:"b,delta"`
		C string   `parquet:"c,delta"`
		D [4]byte  `parquet:"d,delta"`
		E float32  `parquet:"e,split"`
		F float64  `parquet:"f,split"`
		G string   `parquet:"g,optional,delta"`
		H int64    `parquet:"h,optional,dict"`
		I []string `parquet:"i,list"`
	}
	var rows []delta
	var want []string
	for i := range 2000 {
		rows = append(rows, delta{A: int32(i * i), B: int64(-i), C: fmt.Sprintf("text %d", i), D: [4]byte{byte(i)}, E: float32(i), F: float64(i) / 4})
		want = append(want, fmt.Sprintf(`"a":%d,"b":%d,"c":"text %d"`, i*i, -i, i))
	}
	for _, version := range []int{1, 2} {
		records := mustRead(t, written(t, fileWith(t, rows, parquet.DataPageVersion(version)), observed))
		require.Len(t, records, len(rows))
		for i, record := range records {
			require.Contains(t, record, want[i])
			require.Contains(t, record, fmt.Sprintf(`"f":%v`, map[bool]string{true: fmt.Sprintf("%d.0", i/4), false: fmt.Sprint(float64(i) / 4)}[i%4 == 0]))
			require.Contains(t, record, `"g":null,"h":null,"i":[]`)
		}
	}
}

// TestBooleansInRuns shows booleans as other writers encode them in pages of version 2.
func TestBooleansInRuns(t *testing.T) {
	for _, c := range []struct {
		name    string
		encoded []byte
		values  int
		want    []byte
	}{
		{"a run of true", []byte{2, 0, 0, 0, 20 << 1, 1}, 20, []byte{0xff, 0xff, 0x0f}},
		{"a run that is not whole bytes, and packed ones", []byte{4, 0, 0, 0, 3 << 1, 1, 1<<1 | 1, 0b10101010}, 11, []byte{0b01010111, 0b00000101}},
		{"nothing", []byte{0, 0, 0, 0}, 0, []byte{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := plainBooleans(c.encoded, c.values)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	for _, bad := range [][]byte{{}, {9, 0, 0, 0, 1}, {1, 0, 0, 0, 0x80}, {2, 0, 0, 0, 2 << 1, 1}} {
		_, err := plainBooleans(bad, 20)
		require.Error(t, err)
	}
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

func TestPresentValuesAreCounted(t *testing.T) {
	header := &format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 10})}
	for _, c := range []struct {
		name   string
		leaf   node
		levels []byte
		want   int
	}{
		{"of a column that is never null", node{}, nil, 10},
		{"in packed levels", node{def: 1}, []byte{3, 0, 0, 0, 2<<1 | 1, 0b10110101, 0b00000010}, 6},
		{"in a run", node{def: 1}, []byte{2, 0, 0, 0, 10 << 1, 1}, 10},
		{"in levels of two bits, of which the greatest counts", node{def: 2}, []byte{5, 0, 0, 0, 2<<1 | 1, 0b10_01_00_10, 0b10_10_10_10, 0b10_01, 0}, 7},
		{"behind levels of repetition", node{def: 1, rep: 1}, []byte{2, 0, 0, 0, 10 << 1, 0, 2, 0, 0, 0, 10 << 1, 0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := (&pageStream{leaf: &c.leaf}).present(header, c.levels)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
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
		value := parquet.FixedLenByteArrayValue(encoded[1:])
		back, why := l.appendValue(nil, &value)
		require.Zero(t, why)
		require.Equal(t, want, string(back))
	}
	for text, code := range map[string]string{
		"0.001": "INEXACT", "1234567890123456789012345678901234567.5": "NUMBER_RANGE", "-1000000000000000000000000000000000000": "NUMBER_RANGE",
	} {
		dst, refused := appendFixed([]byte("before"), column, text)
		require.NotNil(t, refused, text)
		require.Equal(t, code, refused.Code)
		require.Equal(t, "before", string(dst))
	}
}
