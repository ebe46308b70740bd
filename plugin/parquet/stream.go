package parquet

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// A Stream writes one Parquet file row by row, in bounded memory. Every column may be null. The same rows give the same bytes.
type Stream struct {
	w     *parquet.GenericWriter[any]
	row   parquet.Row
	rows  int // of the row group
	bytes int // of its texts and bytes
}

// StreamColumn is a column of a Stream.
type StreamColumn struct {
	Name string
	Kind StreamKind
}

// StreamKind says which values a column has, besides nil.
type StreamKind int

// The kinds of columns.
const (
	Texts StreamKind = iota // string, valid UTF-8
	Ints                    // int64
	Bytes                   // []byte
)

// A row group ends with the first of these: a writer keeps it in memory.
const (
	groupRows  = 1 << 17
	groupBytes = 32 << 20
)

// NewStream writes to w, which the caller closes after the stream.
func NewStream(w io.Writer, columns []StreamColumn) *Stream {
	root := &orderedGroup{Group: parquet.Group{}}
	for _, c := range columns {
		root.fields = append(root.fields, &namedField{Node: parquet.Optional(c.Kind.node()), name: c.Name})
	}
	config := &parquet.WriterConfig{
		CreatedBy: createdBy, PageBufferSize: pageBytes, DictionaryMaxBytes: dictionaryBytes,
		DataPageVersion: pageVersion, Compression: &parquet.Zstd,
	}
	return &Stream{w: parquet.NewGenericWriter[any](w, parquet.NewSchema("schema", root), config), row: make(parquet.Row, len(columns))}
}

func (k StreamKind) node() parquet.Node {
	switch k {
	case Ints:
		return parquet.Int(64)
	case Bytes:
		return parquet.Leaf(parquet.ByteArrayType)
	default:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	}
}

// Append writes a row: one value for each column, in order. It does not keep the values.
func (s *Stream) Append(values []any) error {
	for i, value := range values {
		v, err := s.value(value)
		if err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
		defined := 1
		if v.IsNull() {
			defined = 0
		}
		s.row[i] = v.Level(0, defined, i)
	}
	if _, err := s.w.WriteRows([]parquet.Row{s.row}); err != nil {
		return err
	}
	if s.rows++; s.rows < groupRows && s.bytes < groupBytes {
		return nil
	}
	s.rows, s.bytes = 0, 0
	return s.w.Flush()
}

func (s *Stream) value(value any) (parquet.Value, error) {
	switch value := value.(type) {
	case nil:
		return parquet.NullValue(), nil
	case int64:
		return parquet.Int64Value(value), nil
	case string:
		s.bytes += len(value)
		return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(value), len(value))), nil // the writer copies it, and changes nothing
	case []byte:
		s.bytes += len(value)
		return parquet.ByteArrayValue(value), nil
	default:
		return parquet.Value{}, fmt.Errorf("a %T cannot be written", value)
	}
}

// Close writes the end of the file.
func (s *Stream) Close() error { return s.w.Close() }
