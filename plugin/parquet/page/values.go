package page

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/format"
)

// Values are decoded values. Their memory is that of the page they were decoded from, or of the decoder.
type Values struct {
	n     int
	width int // of each value; 0: they are where spans says
	data  []byte
	spans []span

	buffer []byte // for values that are not in a page as they are
}

// span says where a value is in data.
type span struct{ start, end uint32 }

// Len returns the number of values.
func (v *Values) Len() int { return v.n }

// At returns value i as PLAIN has it, without the length of a text: numbers are little-endian, booleans one byte of 0 or 1.
func (v *Values) At(i int) []byte {
	if v.width > 0 {
		return v.data[i*v.width : i*v.width+v.width]
	}
	s := v.spans[i]
	return v.data[s.start:s.end]
}

// fixed takes values of one width.
func (v *Values) fixed(data []byte, width, count int) {
	v.n, v.width, v.data = count, width, data
}

// plain decodes so many values that are written one after the other.
func (v *Values) plain(c *Column, b []byte, count int) error {
	switch width := c.width(); {
	case count < 0:
		return mismatch("it declares %d values", count)
	case c.Type == format.Boolean:
		return v.bits(b, count)
	case c.Type == format.ByteArray:
		return v.texts(b, count)
	case len(b) != count*width:
		return mismatch("it declares %d values and holds %d bytes of %d for each", count, len(b), width)
	default:
		v.fixed(b, width, count)
		return nil
	}
}

// bits decodes booleans, 8 in each byte.
func (v *Values) bits(b []byte, count int) error {
	if len(b) != (count+7)/8 {
		return mismatch("it declares %d values and holds %d bytes of 8 booleans", count, len(b))
	}
	v.buffer = grown(v.buffer, count)
	unpack(v.buffer, b, 1)
	v.fixed(v.buffer, 1, count)
	return nil
}

// runs decodes booleans in runs, after their length.
func (v *Values) runs(b []byte, count int) error {
	runs, rest, err := prefixed(b)
	if err != nil {
		return fmt.Errorf("its runs: %w", err)
	}
	if len(rest) > 0 {
		return mismatch("it holds %d bytes behind the runs that it declares", len(rest))
	}
	v.buffer = grown(v.buffer, count)
	v.fixed(v.buffer, 1, count)
	return hybrid(v.buffer, runs, 1)
}

// texts decodes texts, each after its length.
func (v *Values) texts(b []byte, count int) error {
	const prefix = 4
	if count > len(b)/prefix {
		return mismatch("it declares %d values and holds %d bytes", count, len(b))
	}
	v.n, v.width, v.data, v.spans = count, 0, b, grown(v.spans, count)
	at := 0
	for i := range v.spans {
		if len(b)-at < prefix {
			return mismatch("it declares %d values and holds %d, and %d bytes", count, i, len(b)-at)
		}
		length := uint64(binary.LittleEndian.Uint32(b[at:]))
		at += prefix
		if length > uint64(len(b)-at) {
			return mismatch("value %d of %d declares %d bytes and %d are there", i+1, count, length, len(b)-at)
		}
		v.spans[i] = span{uint32(at), uint32(at) + uint32(length)}
		at += int(length)
	}
	return v.ends(at, len(b))
}

// ends rejects bytes behind the last value.
func (v *Values) ends(at, size int) error {
	if at != size {
		return mismatch("it declares %d values and holds %d bytes more", v.n, size-at)
	}
	return nil
}

// streams decodes numbers of which all first bytes come first, then all second ones, and so on.
func (v *Values) streams(width int, b []byte, count int) error {
	if len(b) != count*width {
		return mismatch("it declares %d values and holds %d bytes of %d for each", count, len(b), width)
	}
	v.buffer = grown(v.buffer, len(b))
	for k := range width {
		for i, c := range b[k*count : (k+1)*count] {
			v.buffer[i*width+k] = c
		}
	}
	v.fixed(v.buffer, width, count)
	return nil
}
