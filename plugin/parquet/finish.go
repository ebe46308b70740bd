package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"waymark/pipeline/row"
)

// createdBy stands in every file. It names no version of the program: the same rows give the same bytes.
const createdBy = "waymark version 1 (build 1)"

// How files are laid out. Another value gives other bytes: raise sink.Version with it.
const (
	pageBytes       = 1 << 20
	dictionaryBytes = 1 << 20 // beyond it, texts are written as they are
	pageVersion     = 1       // which everybody reads
)

// compressions are what a document can name.
var compressions = map[string]compress.Codec{
	"": &parquet.Zstd, "zstd": &parquet.Zstd, "snappy": &parquet.Snappy, "none": &parquet.Uncompressed,
}

// Finish makes a file of the gathered rows: one row group, whose bytes depend on nothing but the rows and the columns.
func (e *encoder) Finish(rows []byte) (file []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a Parquet file cannot be made of these rows: %v", cause)
		}
	}()
	values, err := e.split(rows)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := parquet.NewWriter(&out, e.schema(), &parquet.WriterConfig{
		CreatedBy: createdBy, PageBufferSize: pageBytes, DictionaryMaxBytes: dictionaryBytes,
		DataPageVersion: pageVersion, Compression: e.compression,
	})
	for i, column := range w.ColumnWriters() {
		if _, err := column.WriteRowValues(values[i]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// split sorts the gathered values by column. The values share the memory of rows.
func (e *encoder) split(rows []byte) ([][]parquet.Value, error) {
	values := make([][]parquet.Value, len(e.columns))
	for len(rows) > 0 {
		for i := range e.columns {
			value, rest, err := e.columns[i].take(rows)
			if err != nil {
				return nil, err
			}
			defined := 0
			if e.columns[i].Optional && !value.IsNull() {
				defined = 1
			}
			values[i], rows = append(values[i], value.Level(0, defined, i)), rest
		}
	}
	return values, nil
}

// take returns the value at the beginning of what Append gathered, and what follows it.
func (t *target) take(b []byte) (parquet.Value, []byte, error) {
	head, n := binary.Uvarint(b)
	if n <= 0 {
		return parquet.Value{}, nil, errGathered
	}
	if b = b[n:]; head == 0 {
		return parquet.NullValue(), b, nil
	}
	size := t.size(int(min(head-1, math.MaxInt32)))
	if size > len(b) {
		return parquet.Value{}, nil, errGathered
	}
	return t.value(head, b[:size:size]), b[size:], nil
}

var errGathered = fmt.Errorf("the rows of a part are not what was gathered")

// size returns how many bytes a value has, of a text as it says.
func (t *target) size(said int) int {
	switch t.Kind {
	case row.Bool:
		return 0
	case row.Int, row.Date, row.Float, row.Timestamp:
		return 8
	case row.Decimal:
		if t.scale != textDecimal {
			return decimalBytes
		}
	}
	return said
}

func (t *target) value(head uint64, b []byte) parquet.Value {
	switch t.Kind {
	case row.Bool:
		return parquet.BooleanValue(head == 2)
	case row.Int, row.Timestamp:
		return parquet.Int64Value(int64(binary.LittleEndian.Uint64(b)))
	case row.Date:
		return parquet.Int32Value(int32(binary.LittleEndian.Uint64(b)))
	case row.Float:
		return parquet.DoubleValue(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case row.Decimal:
		if t.scale != textDecimal {
			return parquet.FixedLenByteArrayValue(b)
		}
	}
	return parquet.ByteArrayValue(b)
}

// schema returns the schema of the files, with the columns in order.
func (e *encoder) schema() *parquet.Schema {
	root := &orderedGroup{Group: parquet.Group{}}
	for i := range e.columns {
		node := e.columns[i].node()
		if e.columns[i].Optional {
			node = parquet.Optional(node)
		}
		root.fields = append(root.fields, &namedField{Node: node, name: e.columns[i].Name})
	}
	return parquet.NewSchema("schema", root)
}

func (t *target) node() parquet.Node {
	switch t.Kind {
	case row.Bool:
		return parquet.Leaf(parquet.BooleanType)
	case row.Int:
		return parquet.Int(64)
	case row.Float:
		return parquet.Leaf(parquet.DoubleType)
	case row.Date:
		return parquet.Date()
	case row.Timestamp:
		return parquet.Timestamp(parquet.Microsecond)
	case row.JSON:
		return parquet.JSON()
	case row.Decimal:
		if t.scale != textDecimal {
			return parquet.Decimal(t.scale, decimalDigits, parquet.FixedLenByteArrayType(decimalBytes))
		}
	}
	return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
}
