package parquet

import (
	"bufio"
	"errors"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"waymark/plugin/parquet/page"
)

// pageStream reads the pages of a column in a row group from the front to the back: checked, decompressed and decoded, as many
// as the column says that it has values, and no byte of them left over.
type pageStream struct {
	leaf     *node
	group    int
	in       *bufio.Reader // the file's own pages
	unpack   decompressor
	decoder  *page.Decoder
	bytes    int64  // of the pages that are not read yet, headers included
	needless int64  // of these, how many the column may lack
	left     int64  // values of pages that are not read yet
	skip     int64  // rows at the beginning that are not wanted: pages that hold nothing else are passed over
	rest     int64  // those of them that are in the pages it gives
	open     *int64 // bytes of the pages of all columns that are in memory
	ordinal  int    // of the data page at hand, from 0; -1 before the first
	begun    bool   // a page with entries came: in the next one of version 1 its last row may go on
	where    string // what is read at the moment, for people: "page 3"

	packed, body []byte // memory of the data page at hand
	dict         int64  // bytes of the dictionary in memory
	data         int64  // bytes of the page in memory
}

// newPageStream returns the stream of a column. rows are those at its beginning that are not wanted.
func (c *contents) newPageStream(r io.ReaderAt, group, column int, rows int64, open *int64) *pageStream {
	meta, leaf := &c.meta.RowGroups[group].Columns[column].MetaData, c.leaves[column]
	const missingBytes = 100 // old writers did not count the header of a dictionary; Source: PARQUET-816
	begin, declared := chunkRange(meta)
	length := min(declared+missingBytes, c.end-begin)
	shape := page.Column{Type: leaf.leaf.physical, Length: leaf.leaf.length, MaxDef: leaf.def, MaxRep: leaf.rep}
	return &pageStream{
		leaf: leaf, group: group, in: bufio.NewReaderSize(io.NewSectionReader(r, begin, length), 16<<10), unpack: codecs[meta.Codec],
		decoder: page.NewDecoder(shape, maxPageBytes), bytes: length, needless: length - declared, left: meta.NumValues,
		skip: rows, open: open, ordinal: -1,
	}
}

// next returns the next data page, which is good until the next call, and io.EOF after the last one.
func (s *pageStream) next() (*page.Page, error) {
	for s.left > 0 {
		s.where = pageName(s.ordinal + 1)
		header, err := s.header()
		if err != nil {
			return nil, err
		}
		data, err := s.take(header)
		if data != nil || err != nil {
			return data, err
		}
	}
	if s.bytes > s.needless {
		return nil, s.corrupt("the pages with its values end %d bytes before its end", s.bytes-s.needless)
	}
	return nil, io.EOF
}

// take reads a page of any kind. It returns nil if that is no data page with wanted rows.
func (s *pageStream) take(header *format.PageHeader) (*page.Page, error) {
	switch header.Type {
	case format.IndexPage:
		return nil, s.discard(header)
	case format.DictionaryPage:
		return nil, s.dictionary(header)
	}
	s.ordinal++
	if passed, err := s.pass(header); passed || err != nil {
		return nil, err
	}
	return s.decode(header)
}

// cut says what it means that the column's pages ended too early. Other errors are those of the file system.
func (s *pageStream) cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return s.corrupt("it ends before its last value: %d of its values are missing", s.left)
	}
	return err
}

// rows returns the number of rows that begin in a page; false if that is not known before it is decoded.
func (s *pageStream) rows(header *format.PageHeader) (int64, bool) {
	switch {
	case header.Type == format.DataPageV2:
		return int64(header.DataPageHeaderV2.V.NumRows), true
	case header.Type == format.DataPage && s.leaf.rep == 0:
		return page.Entries(header), true
	}
	return 0, false
}

// pass passes over a page of which no row is wanted, and reports whether it did.
func (s *pageStream) pass(header *format.PageHeader) (bool, error) {
	rows, known := s.rows(header)
	if !known || rows > s.skip || s.skip == 0 {
		return false, nil
	}
	s.skip -= rows
	s.left -= page.Entries(header)
	return true, s.discard(header)
}

func (s *pageStream) discard(header *format.PageHeader) error {
	if _, err := s.in.Discard(int(header.CompressedPageSize)); err != nil {
		return s.cut(err)
	}
	return nil
}

// dictionary reads the dictionary, which stays in memory as long as the column is read.
func (s *pageStream) dictionary(header *format.PageHeader) error {
	s.where = "dictionary"
	if err := s.reserve(header); err != nil {
		return err
	}
	body, _, err := s.read(header, nil, nil)
	if err != nil {
		return err
	}
	return s.blame(s.decoder.Dictionary(&header.DictionaryPageHeader.V, body))
}

// decode reads a data page.
func (s *pageStream) decode(header *format.PageHeader) (*page.Page, error) {
	err := s.reserve(header)
	if err != nil {
		return nil, err
	}
	if s.body, s.packed, err = s.read(header, s.body, s.packed); err != nil {
		return nil, err
	}
	data, err := s.decoder.Data(header, s.body)
	if err != nil {
		return nil, s.blame(err)
	}
	if len(data.Rep) > 0 && data.Rep[0] > 0 && (!s.begun || header.Type == format.DataPageV2) {
		return nil, s.corrupt("it begins within a row: its first repetition level is %d", data.Rep[0])
	}
	s.begun = s.begun || data.Entries > 0
	s.left -= page.Entries(header)
	s.rest, s.skip = s.rest+s.skip, 0
	return data, nil
}

// read reads the body of a page, and decompresses it. body and packed are memory to do so; it returns them with what they
// hold.
func (s *pageStream) read(header *format.PageHeader, body, packed []byte) (outBody, outPacked []byte, err error) {
	packed = sized(packed, int(header.CompressedPageSize))
	if _, err := io.ReadFull(s.in, packed); err != nil {
		return nil, nil, s.cut(err)
	}
	if header.CRC != 0 && crc32.ChecksumIEEE(packed) != uint32(header.CRC) {
		return nil, nil, s.corrupt("its checksum is %08x and the header declares %08x", crc32.ChecksumIEEE(packed), uint32(header.CRC))
	}
	body, err = s.expand(header, body[:0], packed)
	return body, packed, s.blame(err)
}

// sized returns a slice of n bytes, in b if that is large enough.
func sized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// expand decompresses the body of a page, into dst if it has room.
func (s *pageStream) expand(header *format.PageHeader, dst, body []byte) ([]byte, error) {
	size, levels := int(header.UncompressedPageSize), 0
	packed := true
	if header.Type == format.DataPageV2 {
		h := &header.DataPageHeaderV2.V
		levels = int(h.RepetitionLevelsByteLength + h.DefinitionLevelsByteLength)
		packed = (!h.IsCompressed.Valid || h.IsCompressed.V) && (len(body) > levels || size > levels)
	}
	dst = append(dst, body[:levels]...)
	switch {
	case !packed:
		dst = append(dst, body[levels:]...)
	case size == 0 && len(body) == 0:
	default:
		var err error
		if dst, err = s.unpack(dst, body[levels:], size-levels); err != nil {
			return nil, err
		}
	}
	if len(dst) != size {
		return nil, errSize
	}
	return dst, nil
}

// reserve takes note of the memory that the page needs.
func (s *pageStream) reserve(header *format.PageHeader) error {
	bytes, held := int64(header.CompressedPageSize)+int64(header.UncompressedPageSize)+page.Memory(page.Entries(header)), &s.data
	if header.Type == format.DictionaryPage {
		held = &s.dict
	}
	*s.open += bytes - *held
	*held = bytes
	if *s.open > maxOpenBytes {
		return fault(codeTooLarge, "the pages that are needed at a time, one of each column, have more than %d bytes: write smaller pages", maxOpenBytes)
	}
	return nil
}

// blame turns an error of decoding into a fault with its place.
func (s *pageStream) blame(err error) error {
	switch {
	case err == nil || isFault(err):
		return err
	case errors.Is(err, page.ErrTooLarge):
		return s.tooLarge(maxPageBytes + 1)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return s.fault(codeTooLarge, "its zstd window is larger than is read: write the file without long distance "+
			"matching")
	case errors.Is(err, page.ErrEncoding):
		return s.fault(codeUnsupported, "%s", err)
	}
	return s.corrupt("%s", err)
}
