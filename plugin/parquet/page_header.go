package parquet

import (
	"bufio"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
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
