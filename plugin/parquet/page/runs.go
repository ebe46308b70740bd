package page

import (
	"encoding/binary"
	"errors"
)

var errVarint = errors.New("a number in it is not whole")

// maxPadding is how many values may fill up the last run of packed ones, and mean nothing. The format says that values are packed
// in groups of 8; DuckDB packs them in groups of 256.
const maxPadding = 255

// hybrid decodes runs of one value, and runs of packed values, of so many bits, at most 32. They must be as many as dst has
// and take all bytes of b; the last one, if it is packed, may have a rest.
// Source: the Parquet format's Encodings.md, "Run Length Encoding / Bit-Packing Hybrid".
func hybrid[T byte | uint32](dst []T, b []byte, width int) error {
	all, valueBytes := len(dst), (width+7)/8
	for len(b) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return errVarint
		}
		b = b[n:]
		count, size := head>>1, uint64(valueBytes)
		packed := head&1 == 1
		if packed {
			count, size = min(count, 1<<40)*8, min(count, 1<<40)*uint64(width)
		}
		if size > uint64(len(b)) {
			return mismatch("a run declares %d bytes and %d are there", size, len(b))
		}
		surplus := int64(min(count, 1<<62)) - int64(len(dst))
		if surplus > maxPadding || surplus > 0 && !packed {
			return mismatch("it declares %d values and holds %d", all, int64(all)+surplus)
		}
		here := dst[:min(int(count), len(dst))]
		if packed {
			unpack(here, b, width)
		} else if err := fill(here, b[:size], width); err != nil {
			return err
		}
		dst, b = dst[len(here):], b[size:]
	}
	if len(dst) > 0 {
		return mismatch("it declares %d values and holds %d", all, all-len(dst))
	}
	return nil
}

// fill sets all elements to a little-endian value of so many bits.
func fill[T byte | uint32](dst []T, b []byte, width int) error {
	value := uint64(0)
	for i, c := range b {
		value |= uint64(c) << (8 * i)
	}
	if value>>width != 0 {
		return mismatch("it declares values of %d bits and holds a run of %d", width, value)
	}
	for i := range dst {
		dst[i] = T(value)
	}
	return nil
}

// unpack unpacks values of so many bits, at most 32, from the lowest bit to the highest. b must have them.
func unpack[T byte | uint32](dst []T, b []byte, width int) {
	mask := uint64(1)<<width - 1
	for i := range dst {
		at := i * width
		if at/8+8 > len(b) {
			dst[i] = T(bitsAt(b, at, width))
			continue
		}
		dst[i] = T(binary.LittleEndian.Uint64(b[at/8:]) >> (at % 8) & mask)
	}
}

// bitsAt returns the value of so many bits, at most 64, at this bit of b. Bits that b does not have are 0.
func bitsAt(b []byte, at, width int) uint64 {
	var padded [9]byte
	p := b[min(at/8, len(b)):]
	if len(p) < len(padded) {
		copy(padded[:], p)
		p = padded[:]
	}
	value, shift := binary.LittleEndian.Uint64(p)>>(at%8), at%8
	if shift+width > 64 {
		value |= uint64(p[8]) << (64 - shift)
	}
	if width < 64 {
		value &= 1<<width - 1
	}
	return value
}
