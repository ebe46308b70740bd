package parquet

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
)

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

// plainBooleans returns booleans that are encoded in runs with 8 values in each byte, as they are without an encoding.
func plainBooleans(b []byte, values int) ([]byte, error) {
	const prefix = 4
	if len(b) < prefix || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-prefix) {
		return nil, errRuns
	}
	plain, at := make([]byte, (values+7)/8), 0
	err := walkRuns(b[prefix:prefix+int(binary.LittleEndian.Uint32(b))], 1, values, func(count int, run []byte, packed bool) {
		for i := 0; i < count && at < values; i++ {
			if !packed && run[0] != 0 || packed && run[i/8]>>(i%8)&1 == 1 {
				plain[at/8] |= 1 << (at % 8)
			}
			at++
		}
	})
	if err == nil && at < values {
		err = errRuns
	}
	return plain, err
}
