package page

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

// levelsV1 decodes the levels at the beginning of a page of version 1. It returns what follows, and the number of values.
func (d *Decoder) levelsV1(h *format.DataPageHeader, body []byte) (rest []byte, present int, err error) {
	p := &d.page
	p.Entries = int(h.NumValues)
	if p.Rep, body, err = levelV1(p.Rep, h.RepetitionLevelEncoding, body, p.Entries, d.column.MaxRep); err != nil {
		return nil, 0, fmt.Errorf("repetition levels: %w", err)
	}
	if p.Def, body, err = levelV1(p.Def, h.DefinitionLevelEncoding, body, p.Entries, d.column.MaxDef); err != nil {
		return nil, 0, fmt.Errorf("definition levels: %w", err)
	}
	return body, d.count(), nil
}

// levelV1 decodes levels at the beginning of body, and returns what follows them.
func levelV1(dst []byte, encoding format.Encoding, body []byte, entries, most int) (levels, rest []byte, err error) {
	switch {
	case !KnownEncoding(encoding):
		return nil, nil, fmt.Errorf("they have the encoding %d, %w", encoding, ErrEncoding)
	case most == 0:
		return nil, body, nil
	case encoding == format.BitPacked:
		return bitPacked(dst, body, entries, most)
	case encoding != format.RLE:
		return nil, nil, fmt.Errorf("they have the encoding %s, %w", encoding, ErrEncoding)
	}
	runs, rest, err := prefixed(body)
	if err != nil {
		return nil, nil, err
	}
	levels = grown(dst, entries)
	return levels, rest, leveled(levels, runs, most)
}

// prefixed splits b after the bytes whose number is before them.
func prefixed(b []byte) (head, rest []byte, err error) {
	const prefix = 4
	if len(b) < prefix {
		return nil, nil, mismatch("their length has %d bytes and %d are there", prefix, len(b))
	}
	length := uint64(binary.LittleEndian.Uint32(b))
	if length > uint64(len(b)-prefix) {
		return nil, nil, mismatch("they declare %d bytes and %d are there", length, len(b)-prefix)
	}
	return b[prefix : prefix+length], b[prefix+length:], nil
}

// levelsV2 decodes the levels at the beginning of a page of version 2. It returns what follows, and the number of values.
func (d *Decoder) levelsV2(h *format.DataPageHeaderV2, body []byte) (rest []byte, present int, err error) {
	p := &d.page
	p.Entries = int(h.NumValues)
	if p.Rep, body, err = levelV2(p.Rep, body, int(h.RepetitionLevelsByteLength), p.Entries, d.column.MaxRep); err != nil {
		return nil, 0, fmt.Errorf("repetition levels: %w", err)
	}
	if p.Def, body, err = levelV2(p.Def, body, int(h.DefinitionLevelsByteLength), p.Entries, d.column.MaxDef); err != nil {
		return nil, 0, fmt.Errorf("definition levels: %w", err)
	}
	present = d.count()
	switch nulls := p.Entries - present; {
	case nulls != int(h.NumNulls):
		return nil, 0, mismatch("it declares %d nulls and holds %d", h.NumNulls, nulls)
	case p.Rows != int(h.NumRows):
		return nil, 0, mismatch("it declares %d rows and holds %d", h.NumRows, p.Rows)
	}
	return body, present, nil
}

func levelV2(dst, body []byte, size, entries, most int) (levels, rest []byte, err error) {
	switch {
	case size < 0 || size > len(body):
		return nil, nil, mismatch("they declare %d bytes and %d are there", size, len(body))
	case most == 0 && size == 0:
		return nil, body, nil
	}
	levels, rest = grown(dst, entries), body[size:]
	err = leveled(levels, body[:size], most)
	if most == 0 { // parquet-mr writes runs of levels that have no bits
		levels = nil
	}
	return levels, rest, err
}

// leveled decodes runs of levels of at most so much.
func leveled(levels, runs []byte, most int) error {
	if err := hybrid(levels, runs, bits.Len(uint(most))); err != nil {
		return err
	}
	for _, level := range levels {
		if int(level) > most {
			return mismatch("there is a level of %d; the schema has %d", level, most)
		}
	}
	return nil
}

// bitPacked decodes levels in the outdated encoding, which packs them from the highest bit to the lowest.
func bitPacked(dst, body []byte, entries, most int) (levels, rest []byte, err error) {
	width := bits.Len(uint(most))
	size := (entries*width + 7) / 8
	if size > len(body) {
		return nil, nil, mismatch("they declare %d levels of %d bits and hold %d bytes", entries, width, len(body))
	}
	levels = grown(dst, entries)
	for i := range levels {
		level := 0
		for bit := i * width; bit < (i+1)*width; bit++ {
			level = level<<1 | int(body[bit/8]>>(7-bit%8)&1)
		}
		if level > most {
			return nil, nil, mismatch("there is a level of %d; the schema has %d", level, most)
		}
		levels[i] = byte(level)
	}
	return levels, body[size:], nil
}

// count counts the rows that begin in the page, and its values.
func (d *Decoder) count() (present int) {
	p := &d.page
	p.Rows, present = p.Entries, p.Entries
	if p.Rep != nil {
		p.Rows = bytes.Count(p.Rep, []byte{0})
	}
	if p.Def != nil {
		present = bytes.Count(p.Def, []byte{byte(d.column.MaxDef)})
	}
	return present
}
