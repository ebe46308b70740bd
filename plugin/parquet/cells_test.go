package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/jsonl"
)

// schemaFor declares the columns of a file, each by what declare says of it, or not at all if that says nothing.
func schemaFor(t testing.TB, content []byte, declare func(i int, n *node) pipeline.Field) pipeline.Schema {
	t.Helper()
	file, err := readContents(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	schema := pipeline.Schema{Mode: pipeline.ModeFlexible}
	for i, child := range file.root.children {
		if field := declare(i, child); field.Type != "" {
			schema.Fields = append(schema.Fields, pipeline.Named[pipeline.Field]{Name: child.name, Value: field})
		}
	}
	return schema
}

// natural declares a column as the kind of its cells.
func natural(optional bool) func(int, *node) pipeline.Field {
	return func(_ int, n *node) pipeline.Field {
		kind := row.JSON
		if n.shape == leafShape && !n.repeated && naturalKinds[n.leaf.form] != plugin.CellText {
			kind = naturalKinds[n.leaf.form]
		}
		return pipeline.Field{Type: kind.String(), Optional: optional}
	}
}

// requireSameCells parses all records of a file twice, by their cells and by their text, and returns how many cells needed no parsing.
func requireSameCells(t testing.TB, content []byte, schema pipeline.Schema) (typed int) {
	t.Helper()
	records, err := jsonl.NewRecords(schema)
	require.NoError(t, err)
	source := &source{name: "in", store: memory{content}, records: records, schema: schema}
	pin, err := source.Stat(t.Context())
	require.NoError(t, err)
	r, err := source.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	byCells, byText := records.Parser().(plugin.CellParser), records.Parser()
	var c plugin.Chunk
	for {
		if err := r.Next(t.Context(), plugin.Limits{Rows: 37, Bytes: 1 << 20}, &c); errors.Is(err, io.EOF) {
			return typed
		} else if err != nil {
			require.NoError(t, err)
		}
		if c.Cells.Columns == nil {
			continue
		}
		require.Len(t, c.Cells.Kinds, c.Len()*len(c.Cells.Columns))
		require.Len(t, c.Cells.Values, len(c.Cells.Kinds))
		bad := c.Bad
		for i := range c.Len() {
			if len(bad) > 0 && bad[0].Index == i {
				bad = bad[1:]
				continue
			}
			text := string(c.Record(i))
			want, refused := byText.Parse(text, nil)
			got, err := byCells.ParseCells(&c.Cells, i, text, nil)
			require.Equal(t, refused, err, text)
			require.Equal(t, want.Values, got.Values, text)
			if refused == nil {
				require.Equal(t, want.Shape.Fields(), got.Shape.Fields())
			}
		}
		for _, kind := range c.Cells.Kinds {
			if kind != plugin.CellText {
				typed++
			}
		}
	}
}

// extreme is a row of every type whose values are not nested.
type extreme struct {
	I8   int8             `parquet:"i8"`
	U32  uint32           `parquet:"u32"`
	I64  *int64           `parquet:"i64,optional"`
	U64  uint64           `parquet:"u64"`
	F32  float32          `parquet:"f32"`
	F64  float64          `parquet:"f64"`
	B    *bool            `parquet:"b,optional"`
	S    string           `parquet:"s"`
	N    *string          `parquet:"n,optional"`
	Day  int32            `parquet:"day,date"`
	Ms   int64            `parquet:"ms,timestamp(millisecond)"`
	Us   int64            `parquet:"us,timestamp(microsecond)"`
	Ns   *int64           `parquet:"ns,optional,timestamp(nanosecond)"`
	TUs  int64            `parquet:"tus,time(microsecond)"`
	Old  deprecated.Int96 `parquet:"old"`
	U    [16]byte         `parquet:"u,uuid"`
	Cost int64            `parquet:"cost,decimal(2:18)"`
	J    string           `parquet:"j,json"`
	Raw  []byte           `parquet:"raw"`
}

// extremes are rows of values that are not usual, some of which no row can hold.
func extremes() []extreme {
	r := rand.New(rand.NewPCG(1, 2))
	times := []int64{0, 1, -1, 999, -999, 1000, -1000, 1_700_000_000_123, -62135596800000, 253402300799999, 1_700_000_000_123_456, -1_700_000_000_123_456_789, math.MaxInt64, math.MinInt64}
	texts := []string{"", "a", "zurich", "a\"b", "\\", "\n", "ü", "\u2028", "null", "0", "\x7f", "2026-11-20", "true", "a\xff", "\ufeffx"}
	numbers := []float64{0, math.Copysign(0, -1), 1, -1.5, 1e15, 1e16, 1e17, 123456789012345678, 5e-324, math.MaxFloat64, 1e-4, 9e-5, 0.1, math.NaN(), math.Inf(1)}
	var rows []extreme
	for range 400 {
		n, b, s, ns := int64(r.Uint64()>>r.IntN(64)), r.IntN(2) == 0, texts[r.IntN(len(texts))], times[r.IntN(len(times))]
		clock := uint64(r.Int64N(86400)) * 1e9
		if r.IntN(2) == 0 {
			clock += uint64(r.IntN(1000)) * 1000
		}
		row := extreme{
			I8: int8(n), U32: uint32(n), U64: uint64(n), F32: float32(numbers[r.IntN(len(numbers)-3)] / 3), F64: numbers[r.IntN(len(numbers)-2)],
			S: texts[r.IntN(len(texts)-2)], Day: int32(r.IntN(100_000) - 50_000), Ms: times[r.IntN(10)], Us: times[r.IntN(11)], TUs: r.Int64N(86400e6),
			Old: deprecated.Int96{uint32(clock), uint32(clock >> 32), uint32(2440588 + r.IntN(20000) - 10000)}, Cost: n >> 8, J: `{"b":[1,"x"],"a":null}`, Raw: []byte(s),
		}
		r2 := r.Uint64()
		binary.LittleEndian.PutUint64(row.U[r.IntN(8):], r2)
		if r.IntN(3) > 0 {
			row.I64, row.B, row.N, row.Ns = &n, &b, &s, &ns
		}
		if r.IntN(20) == 0 {
			row.F64, row.Day = numbers[r.IntN(len(numbers))], int32(times[r.IntN(len(times))])
		}
		rows = append(rows, row)
	}
	return rows
}

// TestCellsSayWhatTheTextSays has files of every type, with their columns declared in many ways.
func TestCellsSayWhatTheTextSays(t *testing.T) {
	fields, rows := allKinds(t)
	limit, pattern := "1", "[a-y ]*[0-9]*"
	ruled := func(i int, n *node) pipeline.Field {
		field := natural(true)(i, n)
		switch field.Type {
		case "int", "float":
			field.Min = &limit
		case "string":
			field.Pattern = pattern
		case "bool":
			field.Enum = []string{"true"}
		case "date":
			day := "1970-01-02"
			field.Max = &day
		}
		return field
	}
	files := specimens(t)
	files["all kinds"] = fileOf(t, encoderOf(t, pipeline.ParquetSink{}, fields), rows)
	files["events"] = fileWith(t, events(200))
	files["extremes"] = fileWith(t, extremes())
	files["extremes by dictionary"] = fileWith(t, extremes(), parquet.DefaultEncoding(&parquet.RLEDictionary))
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			require.Positive(t, requireSameCells(t, content, schemaFor(t, content, natural(true))))
			requireSameCells(t, content, schemaFor(t, content, natural(false)))
			requireSameCells(t, content, schemaFor(t, content, ruled))
			for _, kind := range []row.Kind{row.String, row.Int, row.Float, row.Bool, row.Date, row.Timestamp, row.Decimal, row.JSON} {
				requireSameCells(t, content, schemaFor(t, content, func(int, *node) pipeline.Field {
					return pipeline.Field{Type: kind.String(), Optional: true}
				}))
			}
			require.Zero(t, requireSameCells(t, content, schemaFor(t, content, func(i int, n *node) pipeline.Field {
				if i == 0 {
					return pipeline.Field{}
				}
				return natural(true)(i, n)
			})), "a column is not declared")
		})
	}
}
