package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// oldDictionary is by what encoding old writers say that values are in a dictionary, and that the dictionary is plain.
const oldDictionary format.Encoding = 2

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

// header reads the header of the next page.
func (s *pageStream) header() (*format.PageHeader, error) {
	for peek := 512; ; peek = min(16*peek, maxHeaderBytes) {
		if peek > s.in.Size() {
			s.in = bufio.NewReaderSize(s.in, maxHeaderBytes)
		}
		b, err := s.in.Peek(peek)
		if err != nil && err != io.EOF {
			return nil, err
		}
		size, trouble := thriftSize(b, maxHeaderBytes)
		short := errors.Is(trouble, errThriftShort)
		if short && err == nil && peek < maxHeaderBytes {
			continue
		}
		if short && err == io.EOF {
			return nil, s.cut(err)
		}
		if trouble != nil {
			return nil, s.corrupt(errors.New("its header " + trouble.Error()))
		}
		header := new(format.PageHeader)
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:size], header); err != nil {
			return nil, s.corrupt(err)
		}
		if _, err := s.in.Discard(size); err != nil {
			return nil, err
		}
		if err := s.check(header); err != nil {
			return nil, err
		}
		s.bytes -= int64(size) + int64(header.CompressedPageSize)
		if s.bytes < 0 {
			return nil, s.cut(io.EOF)
		}
		return header, nil
	}
}

func (s *pageStream) tooLarge(bytes int64) error {
	return fault(codeTooLarge, "a page of the column %q has %d bytes; at most %d are read: write smaller pages", s.leaf.name, bytes, maxPageBytes)
}

func (s *pageStream) check(header *format.PageHeader) error {
	v1, v2 := header.Type == format.DataPage, header.Type == format.DataPageV2
	dictionary := header.Type == format.DictionaryPage
	switch {
	case header.CompressedPageSize < 0 || header.UncompressedPageSize < 0 || values(header) < 0:
		return s.corrupt(errors.New("its header has negative numbers"))
	case header.CompressedPageSize > maxPageBytes || header.UncompressedPageSize > maxPageBytes:
		return s.tooLarge(int64(max(header.CompressedPageSize, header.UncompressedPageSize)))
	case v1 && !header.DataPageHeader.Valid, v2 && !header.DataPageHeaderV2.Valid, dictionary && !header.DictionaryPageHeader.Valid:
		return s.corrupt(errors.New("its header is not whole"))
	case (v1 || v2) && values(header) > s.left:
		return s.corrupt(errors.New("the pages hold more values than the column has"))
	case !v1 && !v2 && !dictionary && header.Type != format.IndexPage:
		return fault(codeUnsupported, "the column %q has a page of the unknown type %d", s.leaf.name, header.Type)
	}
	if v2 {
		return s.checkV2(header)
	}
	return nil
}

func (s *pageStream) checkV2(header *format.PageHeader) error {
	h := &header.DataPageHeaderV2.V
	levels := int64(h.RepetitionLevelsByteLength) + int64(h.DefinitionLevelsByteLength)
	switch {
	case h.RepetitionLevelsByteLength < 0 || h.DefinitionLevelsByteLength < 0,
		levels > int64(min(header.CompressedPageSize, header.UncompressedPageSize)),
		h.NumNulls < 0 || h.NumNulls > h.NumValues || h.NumRows < 0 || h.NumRows > h.NumValues,
		s.leaf.rep == 0 && h.NumRows != h.NumValues:
		return s.corrupt(errors.New("its header contradicts itself"))
	}
	return nil
}

// values returns the number of values of a page, null or not.
func values(header *format.PageHeader) int64 {
	switch header.Type {
	case format.DataPage:
		return int64(header.DataPageHeader.V.NumValues)
	case format.DataPageV2:
		return int64(header.DataPageHeaderV2.V.NumValues)
	case format.DictionaryPage:
		return int64(header.DictionaryPageHeader.V.NumValues)
	}
	return 0
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

// expand decompresses the body of a page.
func (s *pageStream) expand(header *format.PageHeader, body []byte) ([]byte, error) {
	size, levels := int(header.UncompressedPageSize), 0
	if header.Type == format.DataPageV2 {
		h := &header.DataPageHeaderV2.V
		levels = int(h.RepetitionLevelsByteLength + h.DefinitionLevelsByteLength)
		if h.IsCompressed.Valid && !h.IsCompressed.V || len(body) == levels && size == levels {
			return body, sameSize(body, size)
		}
	}
	if size == 0 && len(body) == 0 {
		return body, nil
	}
	data, err := s.unpack(body[levels:], size-levels)
	if err != nil {
		return nil, err
	}
	if levels > 0 {
		data = append(body[:levels:levels], data...)
	}
	return data, sameSize(data, size)
}

func sameSize(body []byte, size int) error {
	if len(body) != size {
		return errSize
	}
	return nil
}

// guard makes sure that the page decodes to no more than its header says, and turns encodings that the library does not
// read right into others.
func (s *pageStream) guard(header *format.PageHeader, body []byte) ([]byte, error) {
	encoding := &header.DictionaryPageHeader.V.Encoding
	data, count := body, int(values(header))
	var err error
	switch header.Type {
	case format.DataPage:
		h := &header.DataPageHeader.V
		encoding = &h.Encoding
		data, err = s.levelsV1(h, body)
	case format.DataPageV2:
		encoding = &header.DataPageHeaderV2.V.Encoding
		data, err = s.levelsV2(&header.DataPageHeaderV2.V, body)
	}
	if err != nil {
		return nil, err
	}
	if header.Type == format.DictionaryPage {
		if *encoding != format.Plain && *encoding != oldDictionary {
			return nil, fault(codeUnsupported, "the column %q has a dictionary in the encoding %s, which is not read", s.leaf.name, *encoding)
		}
		*encoding = format.Plain // the other is an old name for it
	}
	width, err := s.width(*encoding, data, count)
	if err != nil {
		return nil, err
	}
	if err := s.reserve(header, int64(len(body))+width+2*int64(count)); err != nil {
		return nil, err
	}
	if *encoding == format.RLE && s.leaf.leaf.physical == format.Boolean {
		return s.booleans(header, encoding, body, data)
	}
	return body, nil
}

// levelsV1 counts the levels at the beginning of a page, each after its length, and returns what follows.
func (s *pageStream) levelsV1(h *format.DataPageHeader, body []byte) ([]byte, error) {
	for _, levels := range []struct {
		most     int
		encoding format.Encoding
	}{{s.leaf.rep, h.RepetitionLevelEncoding}, {s.leaf.def, h.DefinitionLevelEncoding}} {
		if levels.most == 0 {
			continue
		}
		if levels.encoding != format.RLE {
			return nil, fault(codeUnsupported, "the column %q has levels in the outdated encoding %s", s.leaf.name, levels.encoding)
		}
		if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
			return nil, errRuns
		}
		end := 4 + int(binary.LittleEndian.Uint32(body))
		if err := walkRuns(body[4:end], bitsFor(levels.most), int(h.NumValues), nil); err != nil {
			return nil, err
		}
		body = body[end:]
	}
	return body, nil
}

func (s *pageStream) levelsV2(h *format.DataPageHeaderV2, body []byte) ([]byte, error) {
	for _, levels := range []struct {
		most int
		size int32
	}{{s.leaf.rep, h.RepetitionLevelsByteLength}, {s.leaf.def, h.DefinitionLevelsByteLength}} {
		if levels.most > 0 {
			if err := walkRuns(body[:levels.size], bitsFor(levels.most), int(h.NumValues), nil); err != nil {
				return nil, err
			}
		}
		body = body[levels.size:]
	}
	return body, nil
}

// bitsFor returns how many bits a level of at most so much has.
func bitsFor(most int) int {
	bits := 0
	for ; most > 0; most >>= 1 {
		bits++
	}
	return bits
}

// width returns how many bytes the library needs for decoded values beside the encoded ones.
func (s *pageStream) width(encoding format.Encoding, data []byte, count int) (int64, error) {
	leaf := &s.leaf.leaf
	fixed := int64(max(leaf.length, 12))
	switch encoding {
	case format.Plain:
		return 4 * int64(count), nil
	case oldDictionary, format.RLEDictionary:
		if len(data) == 0 {
			return 0, nil // all are null
		}
		return 4 * int64(count), walkRuns(data[1:], int(data[0]), count, nil)
	case format.DeltaBinaryPacked:
		if len(data) == 0 {
			return 0, nil
		}
		_, _, err := deltaSize(data, count)
		return 8 * int64(count), err
	case format.DeltaLengthByteArray:
		if len(data) == 0 {
			return 0, nil
		}
		_, _, err := deltaSize(data, count)
		return 8 * int64(count), err
	case format.DeltaByteArray:
		if len(data) == 0 {
			return 0, nil
		}
		width, err := prefixedWidth(data, count)
		if err == nil && width > maxPageBytes {
			err = s.tooLarge(width)
		}
		return width, err
	case format.RLE:
		return int64(count), nil
	case format.ByteStreamSplit:
		return fixed * int64(count), nil
	}
	return 0, fault(codeUnsupported, "the column %q has values in the encoding %s, which is not read", s.leaf.name, encoding)
}

// prefixedWidth returns how large texts become of which each is given as what it has in common with the one before, and the
// rest.
func prefixedWidth(data []byte, count int) (int64, error) {
	prefixes, size, err := deltaSize(data, count)
	if err != nil {
		return 0, err
	}
	if suffixes, _, err := deltaSize(data[size:], count); err != nil || suffixes != prefixes {
		return 0, errRuns
	}
	lengths, err := new(delta.BinaryPackedEncoding).DecodeInt32(make([]int32, 0, prefixes), data[:size:size])
	if err != nil {
		return 0, err
	}
	total := int64(len(data)) + 12*int64(count)
	for _, length := range lengths {
		total += max(int64(length), 0)
	}
	return total, nil
}

// booleans turns runs of booleans into plain ones.
func (s *pageStream) booleans(header *format.PageHeader, encoding *format.Encoding, body, data []byte) ([]byte, error) {
	levels := body[:len(body)-len(data)]
	count, err := s.present(header, levels)
	if err != nil {
		return nil, err
	}
	plain, err := plainBooleans(data, count)
	*encoding = format.Plain
	return append(levels[:len(levels):len(levels)], plain...), err
}

// present counts the values of a data page that are not null.
func (s *pageStream) present(header *format.PageHeader, levels []byte) (int, error) {
	count := int(values(header))
	if s.leaf.def == 0 {
		return count, nil
	}
	if header.Type == format.DataPageV2 {
		return count - int(header.DataPageHeaderV2.V.NumNulls), nil
	}
	if s.leaf.rep > 0 {
		levels = levels[4+binary.LittleEndian.Uint32(levels):]
	}
	width, seen, present := bitsFor(s.leaf.def), 0, 0
	err := walkRuns(levels[4:], width, count, func(n int, run []byte, packed bool) {
		for i := 0; i < n && seen < count; i++ {
			level := int(run[0])
			if packed {
				level = packedLevel(run, i, width)
			}
			if level == s.leaf.def {
				present++
			}
			seen++
		}
	})
	return present, err
}

// packedLevel returns number i of values of so many bits, at most 8.
func packedLevel(run []byte, i, width int) int {
	bit := i * width
	word := int(run[bit/8])
	if bit/8+1 < len(run) {
		word |= int(run[bit/8+1]) << 8
	}
	return word >> (bit % 8) & (1<<width - 1)
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
