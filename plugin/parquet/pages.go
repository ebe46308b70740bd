package parquet

import (
	"bufio"
	"errors"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// pageStream gives the library the pages of a column in a row group: checked, decompressed, and no more of them than the
// column has values. It is read as a file is, but only from the front to the back.
type pageStream struct {
	leaf   *node
	in     *bufio.Reader // the file's own pages
	unpack decompressor
	bytes  int64  // of the pages that are not read yet, headers included
	left   int64  // values of pages that are not read yet
	skip   int64  // rows at the beginning that are not wanted: pages that hold nothing else are passed over
	rest   int64  // those of them that are in the pages it gives
	open   *int64 // bytes of the pages of all columns that are in memory
	fault  error  // why the stream ended

	out  []byte // of the page at hand, as the library has not read it yet
	at   int64  // of out in the stream
	page format.PageHeader
	dict int64 // bytes of the dictionary in memory
	data int64 // bytes of the page in memory
}

// newPageStream returns the stream of a column. rows are those at its beginning that are not wanted.
func (c *contents) newPageStream(r io.ReaderAt, group, column int, rows int64, open *int64) *pageStream {
	meta := &c.meta.RowGroups[group].Columns[column].MetaData
	const missingBytes = 100 // old writers did not count the header of a dictionary; Source: PARQUET-816
	begin, length := chunkRange(meta)
	length = min(length+missingBytes, c.end-begin)
	section := io.NewSectionReader(r, begin, length)
	return &pageStream{
		leaf: c.leaves[column], in: bufio.NewReaderSize(section, 16<<10), unpack: codecs[meta.Codec],
		bytes: length, left: meta.NumValues, skip: rows, open: open,
	}
}

// ReadAt gives what comes next, up to the end of a page: the library reads from the front to the back and takes less than it
// asked for.
func (s *pageStream) ReadAt(p []byte, offset int64) (int, error) {
	if offset != s.at {
		return 0, errors.New("the pages of a column are read from the front to the back")
	}
	if len(s.out) == 0 {
		if s.fault == nil {
			s.fault = s.next()
		}
		if s.fault != nil {
			return 0, s.fault
		}
	}
	n := copy(p, s.out)
	s.out, s.at = s.out[n:], s.at+int64(n)
	return n, nil
}

// next makes the next page ready. It returns io.EOF after the last one.
func (s *pageStream) next() error {
	for s.left > 0 {
		header, err := s.header()
		if err != nil {
			return err
		}
		if header.Type == format.IndexPage {
			if _, err := s.in.Discard(int(header.CompressedPageSize)); err != nil {
				return s.cut(err)
			}
			continue
		}
		passed, err := s.pass(header)
		if err == nil && !passed {
			err = s.take(header)
		}
		if err != nil || !passed {
			return err
		}
	}
	return io.EOF
}

// cut says what it means that the column's pages ended too early. Other errors are those of the file system.
func (s *pageStream) cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fault(codeCorrupt, "the column %q ends before its last value", s.leaf.name)
	}
	return err
}

func (s *pageStream) corrupt(err error) error {
	return fault(codeCorrupt, "a page of the column %q cannot be read: %s", s.leaf.name, err)
}

// rows returns the number of rows that begin in a page; false if that is not known before it is decoded.
func (s *pageStream) rows(header *format.PageHeader) (int64, bool) {
	switch {
	case header.Type == format.DataPageV2:
		return int64(header.DataPageHeaderV2.V.NumRows), true
	case header.Type == format.DataPage && s.leaf.rep == 0:
		return values(header), true
	}
	return 0, false
}

// pass passes over a page of which no row is wanted, and reports whether it did.
func (s *pageStream) pass(header *format.PageHeader) (bool, error) {
	rows, known := s.rows(header)
	if !known || rows > s.skip || s.skip == 0 {
		return false, nil
	}
	if _, err := s.in.Discard(int(header.CompressedPageSize)); err != nil {
		return false, s.cut(err)
	}
	s.skip -= rows
	s.left -= values(header)
	return true, nil
}

// take reads a page and puts it into out as the library gets it.
func (s *pageStream) take(header *format.PageHeader) error {
	if err := s.reserve(header, int64(header.UncompressedPageSize)); err != nil {
		return err
	}
	body := make([]byte, header.CompressedPageSize)
	if _, err := io.ReadFull(s.in, body); err != nil {
		return s.cut(err)
	}
	if header.CRC != 0 && crc32.ChecksumIEEE(body) != uint32(header.CRC) {
		return s.corrupt(errors.New("its checksum is wrong"))
	}
	body, err := s.expand(header, body)
	if err == nil {
		body, err = s.guard(header, body)
	}
	if err != nil {
		return s.blame(err)
	}
	if header.Type != format.DictionaryPage {
		s.left -= values(header)
		s.rest, s.skip = s.rest+s.skip, 0
		s.page = *header
	}
	return s.give(header, body)
}

func (s *pageStream) blame(err error) error {
	if isFault(err) {
		return err
	}
	return s.corrupt(err)
}

// reserve takes note of the memory that the page needs.
func (s *pageStream) reserve(header *format.PageHeader, bytes int64) error {
	held := &s.data
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

// give puts the page into out, as one that is not compressed.
func (s *pageStream) give(header *format.PageHeader, body []byte) error {
	plain := format.PageHeader{Type: header.Type, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body))}
	switch header.Type {
	case format.DataPage:
		h := header.DataPageHeader
		h.V.Statistics = format.Statistics{}
		plain.DataPageHeader = h
	case format.DataPageV2:
		h := header.DataPageHeaderV2
		h.V.Statistics, h.V.IsCompressed = format.Statistics{}, thrift.New(false)
		plain.DataPageHeaderV2 = h
	case format.DictionaryPage:
		plain.DictionaryPageHeader = header.DictionaryPageHeader
	}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &plain)
	s.out = append(text, body...)
	return err
}
