package parquet

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/format"
)

// oldDictionary is by what encoding old writers say that values are in a dictionary, and that the dictionary is plain.
const oldDictionary format.Encoding = 2

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
