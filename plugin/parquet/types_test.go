package parquet

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/tests/sample"
)

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

// TestRowsThatNoRowCanBe shows values for which JSON or a row has no place: they reject their row alone.
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
			require.Error(t, err, "retried, the record must not become another row: %.200s", out.records[i])
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
					if name == "lz4_raw" && page == 256 { // a table of 64 KB is cleared for each page
						sample.Rarely(t)
					}
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

// withLogical returns a file of one column that has the logical type, of each physical type, required and optional.
func withLogical(t testing.TB, logical format.LogicalTypeValue, physical format.Type, optional bool) []byte {
	column := hand{physical: physical, encoding: format.Plain, length: 5, annotation: -1, optional: optional}
	file := dissect(t, declaring(t, column, 0, func(b []byte) []byte { return b }))
	file.meta.Schema[1].LogicalType.Value = logical
	return file.assemble(t)
}

// TestColumnsOfNulls: a column whose logical type is UNKNOWN is null, whatever its pages hold. Source: the Parquet format's
// LogicalTypes.md, "UNKNOWN (always null)".
func TestColumnsOfNulls(t *testing.T) {
	for physical := format.Boolean; physical <= format.FixedLenByteArray; physical++ {
		for _, optional := range []bool{false, true} {
			records := mustRead(t, written(t, withLogical(t, &format.NullType{}, physical, optional), observed))
			require.Len(t, records, handRows)
			for _, record := range records {
				require.Equal(t, `{"a":null}`, record, physical)
			}
		}
	}
}

// TestUnknownLogicalTypesAreRefused changes the number of a logical type, or of its unit, to one that the format does not have.
func TestUnknownLogicalTypesAreRefused(t *testing.T) {
	micros := &format.TimestampType{Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
	for _, c := range []struct {
		logical  format.LogicalTypeValue
		was, is  string
		physical format.Type
		want     string
	}{
		{&format.NullType{}, "\xbc\x00\x00", "\x9c\x00\x00", format.Int32, `UNSUPPORTED_PARQUET: the column "a" has a logical type that is not known here`},
		{micros, "\x1c\x2c\x00\x00", "\x1c\x9c\x00\x00", format.Int64, `UNSUPPORTED_PARQUET: the column "a" counts time in a unit that is not known here`},
	} {
		file := withLogical(t, c.logical, c.physical, false)
		at := bytes.LastIndex(file, []byte(c.was))
		require.Positive(t, at)
		copy(file[at:], c.is)
		_, err := readFrom(t, written(t, file, observed), plugin.Cursor{}, chunkLimits)
		require.ErrorContains(t, err, c.want)
	}
}

// TestColumnsKeepTheirTypes shows the kinds of fields that are not declared.
func TestColumnsKeepTheirTypes(t *testing.T) {
	type typed struct {
		D int64   `parquet:"d,decimal(0:18)"`
		F float64 `parquet:"f"`
		H float32 `parquet:"h"`
		T int64   `parquet:"t,timestamp(millisecond)"`
		A int32   `parquet:"a,date"`
		J string  `parquet:"j,json"`
		L []int64 `parquet:"l,list"`
		N int64   `parquet:"n"`
	}
	source := written(t, fileWith(t, []typed{{D: 100, F: 1, H: 0.5, J: `"x"`, L: []int64{1}}}), observed)
	out, err := readFrom(t, source, plugin.Cursor{}, chunkLimits)
	require.NoError(t, err)
	parser, err := source.Parser(out.chunks[0].Context)
	require.NoError(t, err)
	parsed, err := parser.Parse(out.records[0], nil)
	require.NoError(t, err)
	require.Equal(t, `{"a":{"$date":"1970-01-01"},"d":{"$decimal":"100"},"f":1.0,"h":0.5,"j":{"$json":"x"},"l":[1],"n":0,"t":{"$timestamp":"1970-01-01T00:00:00Z"}}`,
		string(row.AppendCanonical(nil, parsed)))
}
