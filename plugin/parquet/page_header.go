package parquet

import (
	"bufio"
	"errors"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"waymark/plugin/parquet/page"
)

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
		if errors.Is(trouble, errThriftLarge) {
			return nil, s.fault(codeTooLarge, "its header %s", trouble)
		}
		if trouble != nil {
			return nil, s.corrupt("its header %s", trouble)
		}
		header := new(format.PageHeader)
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[:size], header); err != nil {
			return nil, s.corrupt("its header cannot be decoded: %s", err)
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

// fault says what is wrong where the stream is. Row groups and pages are counted from 0, as tools for Parquet files do.
func (s *pageStream) fault(code, text string, args ...any) error {
	return fault(code, "row group %d, column %q, %s: "+text, append([]any{s.group, s.leaf.path, s.where}, args...)...)
}

func (s *pageStream) corrupt(text string, args ...any) error {
	return s.fault(codeCorrupt, text, args...)
}

func (s *pageStream) tooLarge(bytes int64) error {
	return s.fault(codeTooLarge, "it has %d bytes; at most %d are read: write smaller pages", bytes, maxPageBytes)
}

func pageName(ordinal int) string { return "page " + strconv.Itoa(ordinal) }

func (s *pageStream) check(header *format.PageHeader) error {
	v1, v2 := header.Type == format.DataPage, header.Type == format.DataPageV2
	dictionary := header.Type == format.DictionaryPage
	entries := page.Entries(header)
	switch {
	case header.CompressedPageSize < 0 || header.UncompressedPageSize < 0 || entries < 0:
		return s.corrupt("its header declares %d values in %d bytes, which expand to %d", entries, header.CompressedPageSize, header.UncompressedPageSize)
	case header.CompressedPageSize > maxPageBytes || header.UncompressedPageSize > maxPageBytes:
		return s.tooLarge(int64(max(header.CompressedPageSize, header.UncompressedPageSize)))
	case v1 && !header.DataPageHeader.Valid, v2 && !header.DataPageHeaderV2.Valid, dictionary && !header.DictionaryPageHeader.Valid:
		return s.corrupt("its header is not whole")
	case (v1 || v2) && entries > s.left:
		return s.corrupt("it declares %d values, and %d are left of those that the column declares", entries, s.left)
	case dictionary && s.ordinal >= 0:
		return s.corrupt("there is a dictionary behind the values")
	case !v1 && !v2 && !dictionary && header.Type != format.IndexPage:
		return s.fault(codeUnsupported, "it has the unknown type %d", header.Type)
	}
	if v2 {
		return s.checkV2(header)
	}
	return nil
}

// checkV2 rejects what would lead astray before the page is decoded: the levels of a page of version 2 are not compressed, and
// its rows may be passed over by what their number is said to be.
func (s *pageStream) checkV2(header *format.PageHeader) error {
	h := &header.DataPageHeaderV2.V
	levels := int64(h.RepetitionLevelsByteLength) + int64(h.DefinitionLevelsByteLength)
	switch {
	case h.RepetitionLevelsByteLength < 0 || h.DefinitionLevelsByteLength < 0,
		levels > int64(min(header.CompressedPageSize, header.UncompressedPageSize)):
		return s.corrupt("its header declares levels of %d and %d bytes in %d, which expand to %d",
			h.RepetitionLevelsByteLength, h.DefinitionLevelsByteLength, header.CompressedPageSize, header.UncompressedPageSize)
	case h.NumNulls < 0 || h.NumNulls > h.NumValues || h.NumRows < 0 || h.NumRows > h.NumValues || s.leaf.rep == 0 && h.NumRows != h.NumValues:
		return s.corrupt("its header declares %d values, %d nulls and %d rows", h.NumValues, h.NumNulls, h.NumRows)
	}
	return nil
}
