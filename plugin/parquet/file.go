package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/parquet/page"
)

const magic = "PAR1"

// contents is what a file's footer says, checked as far as that can be done without reading the pages.
type contents struct {
	meta   fileMeta
	end    int64 // where the footer begins and the pages end
	root   *node
	leaves []*node
	names  []string   // of the columns of the rows
	kinds  []row.Kind // that they are declared to have; nil if one of them is not declared

	context []byte // of chunks
}

// readContents reads the footer of a file of this size. Its errors are faults without the file's name, and those of r.
func readContents(r io.ReaderAt, size int64) (c *contents, err error) {
	defer confine(&err)
	footer, end, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	c = &contents{end: end}
	if err := decodeFooter(footer, &c.meta); err != nil {
		return nil, err
	}
	if c.root, c.leaves, err = newTree(c.meta.Schema); err != nil {
		return nil, err
	}
	c.names = c.root.names()
	return c, c.check(size)
}

func readFooter(r io.ReaderAt, size int64) (footer []byte, begin int64, err error) {
	const tailBytes = 8
	if size < int64(len(magic))+tailBytes {
		return nil, 0, fault(codeCorrupt, "it has %d bytes, too few for a Parquet file", size)
	}
	head, tail := make([]byte, len(magic)), make([]byte, tailBytes)
	if err := readAt(r, head, 0); err != nil {
		return nil, 0, err
	}
	if err := readAt(r, tail, size-tailBytes); err != nil {
		return nil, 0, err
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	switch begin = size - tailBytes - length; {
	case string(tail[4:]) == "PARE" || string(head) == "PARE":
		return nil, 0, fault(codeUnsupported, "it is encrypted; decrypt it before")
	case string(head) != magic:
		return nil, 0, fault(codeCorrupt, "it does not begin as a Parquet file does")
	case string(tail[4:]) != magic:
		return nil, 0, fault(codeCorrupt, "it does not end as a Parquet file does: it was cut off, or is still being written")
	case begin < int64(len(magic)):
		return nil, 0, fault(codeCorrupt, "its footer claims to have %d bytes; the file has %d", length, size)
	case length > maxFooterBytes:
		return nil, 0, fault(codeTooLarge, "its footer has %d bytes; at most %d are read: write larger row groups", length, maxFooterBytes)
	}
	footer = make([]byte, length)
	return footer, begin, readAt(r, footer, begin)
}

// readAt fills p.
func readAt(r io.ReaderAt, p []byte, offset int64) error {
	if n, err := r.ReadAt(p, offset); n < len(p) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}

func decodeFooter(footer []byte, meta *fileMeta) error {
	size, err := thriftSize(footer, len(footer))
	if err == nil && size < len(footer) {
		return fault(codeCorrupt, "its footer declares %d bytes and ends after %d", len(footer), size)
	}
	if err == nil {
		err = thrift.Unmarshal(new(thrift.CompactProtocol), footer[:size], meta)
	}
	if errors.Is(err, errThriftLarge) {
		return fault(codeTooLarge, "its footer %s: write fewer columns or row groups", err)
	}
	if err != nil {
		return fault(codeCorrupt, "its footer %s", footerTrouble(err))
	}
	if meta.EncryptionAlgorithm.Value != nil {
		return fault(codeUnsupported, "it is encrypted; decrypt it before")
	}
	return knowsTypes(footer[:size], meta)
}

// knowsTypes refuses a logical type that the library does not know, and leaves out: nobody knows what the values mean.
func knowsTypes(footer []byte, meta *fileMeta) error {
	var typed typedMeta
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &typed); err != nil {
		return fault(codeCorrupt, "its footer %s", footerTrouble(err))
	}
	for i := range typed.Schema {
		if typed.Schema[i].LogicalType.Valid && meta.Schema[i].LogicalType.Value == nil {
			return fault(codeUnsupported, "the column %q has a logical type that is not known here: when you write the file, cast it to another one", meta.Schema[i].Name)
		}
	}
	return nil
}

func footerTrouble(err error) string {
	if errors.Is(err, errThriftBad) || errors.Is(err, errThriftShort) {
		return err.Error()
	}
	return "cannot be decoded: " + err.Error()
}

// check holds the row groups against the schema and the file's size.
func (c *contents) check(size int64) error {
	rows := int64(0)
	for i := range c.meta.RowGroups {
		group := &c.meta.RowGroups[i]
		if len(group.Columns) != len(c.leaves) {
			return fault(codeCorrupt, "row group %d declares %d columns, its schema %d", i, len(group.Columns), len(c.leaves))
		}
		if group.NumRows < 0 {
			return fault(codeCorrupt, "row group %d declares %d rows", i, group.NumRows)
		}
		if err := plausible(group.NumRows, size); err != nil {
			return err
		}
		rows += group.NumRows
		for j := range group.Columns {
			if err := c.checkChunk(&group.Columns[j], c.leaves[j], group.NumRows, size); err != nil {
				return inGroup(i, err)
			}
		}
	}
	if c.meta.NumRows != 0 && c.meta.NumRows != rows { // some writers leave it out
		return fault(codeCorrupt, "it declares %d rows, and its row groups declare %d", c.meta.NumRows, rows)
	}
	return plausible(rows, size)
}

// plausible rejects a number of rows or values that no honest file of this size has.
func plausible(count, size int64) error {
	const free, perByte = 4 << 20, 1000
	if count > free+perByte*size {
		return fault(codeRatio, "it claims to have %d rows or values in %d bytes", count, size)
	}
	return nil
}

func (c *contents) checkChunk(chunk *chunkMeta, leaf *node, rows, size int64) error {
	meta := &chunk.MetaData
	begin, length := chunkRange(meta)
	switch {
	case chunk.CryptoMetadata.Value != nil || len(chunk.EncryptedColumnMetadata) > 0:
		return fault(codeUnsupported, "the column %q is encrypted; decrypt it before", leaf.path)
	case chunk.FilePath != "":
		return fault(codeUnsupported, "the column %q is in another file", leaf.path)
	case meta.Type != leaf.leaf.physical:
		return fault(codeCorrupt, "the column %q has another type than its schema says", leaf.path)
	case meta.NumValues < 0 || leaf.rep == 0 && meta.NumValues != rows:
		return fault(codeCorrupt, "the column %q declares %d values in %d rows", leaf.path, meta.NumValues, rows)
	case begin == 0 && length == 0 && meta.NumValues == 0: // it has no pages
	case begin < int64(len(magic)) || length < 0 || begin > c.end || length > c.end-begin:
		return fault(codeCorrupt, "the column %q declares %d bytes from byte %d on; the pages end at byte %d", leaf.path, length, begin, c.end)
	}
	if _, known := codecs[meta.Codec]; !known {
		return fault(codeUnsupported, "the column %q is compressed by %s; what is read is %s", leaf.path, meta.Codec, codecNames)
	}
	for _, encoding := range meta.Encoding {
		if !page.KnownEncoding(encoding) {
			return fault(codeUnsupported, "the column %q has the encoding %d, which nobody knows", leaf.path, encoding)
		}
	}
	for _, stats := range meta.EncodingStats {
		if !page.KnownEncoding(stats.Encoding) || stats.PageType < format.DataPage || stats.PageType > format.DataPageV2 {
			return fault(codeUnsupported, "the column %q has pages of the type %d in the encoding %d, which nobody knows", leaf.path, stats.PageType, stats.Encoding)
		}
	}
	return plausible(meta.NumValues, size)
}

// inGroup says in which row group a fault is.
func inGroup(group int, err error) error {
	var f *plugin.SourceError
	if !errors.As(err, &f) {
		return err
	}
	return fault(f.Code, "row group %d: %s", group, f.Message)
}

// chunkRange returns where the pages of a column are, the dictionary included. A column without values may have no
// data page, and then says that it begins at byte 0.
func chunkRange(meta *columnMeta) (begin, length int64) {
	begin = meta.DataPageOffset
	if dictionary := meta.DictionaryPageOffset; dictionary > 0 && (dictionary < begin || begin == 0) {
		begin = dictionary
	}
	return begin, meta.TotalCompressedSize
}
