package page

import (
	"encoding/binary"
	"fmt"
)

// deltas decodes integers of 4 or 8 bytes, each of which is given as its difference from the one before.
func (v *Values) deltas(width int, b []byte, count int) error {
	v.buffer = grown(v.buffer, count*width)
	size, err := eachDelta(b, count, func(i int, n int64) {
		if width == 4 {
			binary.LittleEndian.PutUint32(v.buffer[4*i:], uint32(n))
		} else {
			binary.LittleEndian.PutUint64(v.buffer[8*i:], uint64(n))
		}
	})
	v.fixed(v.buffer, width, count)
	if err != nil {
		return err
	}
	return v.ends(size, len(b))
}

// eachDelta decodes so many integers at the beginning of b, calls each for every one, and returns how many bytes they have.
// Source: the Parquet format's Encodings.md, "Delta Encoding".
func eachDelta(b []byte, count int, each func(i int, n int64)) (size int, err error) {
	d := deltaReader{b: b}
	block, minis, total := d.uvarint(), d.uvarint(), d.uvarint()
	value := d.varint()
	switch {
	case d.err != nil:
		return 0, d.err
	case total != uint64(count):
		return 0, mismatch("it declares %d values and holds %d", count, total)
	case block == 0 || block > 1<<20 || block%128 != 0 || minis == 0 || block%minis != 0 || block/minis%32 != 0:
		return 0, mismatch("it declares blocks of %d deltas in %d parts", block, minis)
	}
	if count > 0 {
		each(0, value)
	}
	for i := 1; i < count && d.err == nil; {
		least := d.varint()
		widths := d.bytes(minis)
		for _, width := range widths {
			if i == count {
				break // parts that are not needed have a width, which may be any, and nothing more
			}
			packed := d.mini(int(width), int(block/minis))
			for k := 0; k < int(block/minis) && i < count && d.err == nil; k++ {
				value += least + int64(bitsAt(packed, k*int(width), int(width)))
				each(i, value)
				i++
			}
		}
	}
	return d.at, d.err
}

// deltaReader reads the parts of an encoding by deltas. After an error it gives zeros.
type deltaReader struct {
	b   []byte
	at  int
	err error
}

func (d *deltaReader) uvarint() uint64 {
	n, size := binary.Uvarint(d.b[d.at:])
	return uint64(d.took(int64(n), size))
}

func (d *deltaReader) varint() int64 {
	n, size := binary.Varint(d.b[d.at:])
	return d.took(n, size)
}

func (d *deltaReader) took(n int64, size int) int64 {
	if d.err == nil && size <= 0 {
		d.err = errVarint
	}
	if d.err != nil {
		return 0
	}
	d.at += size
	return n
}

func (d *deltaReader) bytes(n uint64) []byte {
	if d.err == nil && n > uint64(len(d.b)-d.at) {
		d.err = mismatch("a block of deltas declares %d bytes and %d are there", n, len(d.b)-d.at)
	}
	if d.err != nil {
		return nil
	}
	d.at += int(n)
	return d.b[d.at-int(n) : d.at]
}

// mini returns the bytes of so many deltas of so many bits.
func (d *deltaReader) mini(width, deltas int) []byte {
	if d.err == nil && width > 64 {
		d.err = mismatch("a block declares deltas of %d bits", width)
	}
	return d.bytes(uint64(width) * uint64(deltas) / 8)
}

// lengthsOf decodes lengths at the beginning of b, each at least 0, and returns how many bytes they have, and their sum.
func lengthsOf(dst []int32, b []byte) (size int, sum int64, err error) {
	negative := false
	size, err = eachDelta(b, len(dst), func(i int, n int64) {
		dst[i] = int32(n)
		sum += int64(dst[i])
		negative = negative || dst[i] < 0
	})
	if err == nil && negative {
		err = mismatch("it declares lengths that are negative")
	}
	return size, sum, err
}

// deltaLengths decodes texts whose lengths come first, by deltas, and then the bytes of all.
func (d *Decoder) deltaLengths(b []byte, count int) error {
	v := &d.page.Values
	d.lengths = grown(d.lengths, count)
	size, sum, err := lengthsOf(d.lengths, b)
	if err != nil {
		return fmt.Errorf("lengths: %w", err)
	}
	if b = b[size:]; sum != int64(len(b)) {
		return mismatch("its %d values declare %d bytes, and %d are there", count, sum, len(b))
	}
	v.n, v.width, v.data, v.spans = count, 0, b, grown(v.spans, count)
	at := uint32(0)
	for i, length := range d.lengths {
		v.spans[i] = span{at, at + uint32(length)}
		at += uint32(length)
	}
	return nil
}

// deltaTexts decodes texts each of which is given as the number of bytes that it has in common with the one before, and
// the rest: first all these numbers, then the rests as deltaLengths has them.
func (d *Decoder) deltaTexts(b []byte, count int) error {
	prefixes := make([]int32, count)
	size, sum, err := lengthsOf(prefixes, b)
	if err != nil {
		return fmt.Errorf("prefixes: %w", err)
	}
	if err := d.deltaLengths(b[size:], count); err != nil {
		return fmt.Errorf("suffixes: %w", err)
	}
	v := &d.page.Values
	if sum += int64(len(v.data)); sum > int64(d.most) {
		return ErrTooLarge
	}
	out, before := grown(v.buffer, int(sum))[:0], []byte(nil)
	for i, prefix := range prefixes {
		if int(prefix) > len(before) {
			return mismatch("value %d of %d declares %d bytes of the one before it, which has %d", i+1, count, prefix, len(before))
		}
		start := len(out)
		out = append(append(out, before[:prefix]...), v.At(i)...)
		v.spans[i] = span{uint32(start), uint32(len(out))}
		before = out[start:]
		if width := d.column.width(); width > 0 && len(before) != width {
			return mismatch("value %d of %d has %d bytes, and the schema says %d", i+1, count, len(before), width)
		}
	}
	v.data, v.buffer = out, out
	return nil
}
