package parquet

import (
	"encoding/binary"
	"errors"
)

// The library makes memory for as many values as an encoded run claims to have. So runs are counted before they are decoded.

var errRuns = errors.New("its encoded values contradict its header")

// runPadding is how many values more than it needs an encoded run may hold: runs are packed in groups.
const runPadding = 512

// walkRuns goes over values in the hybrid of run lengths and bit packing, and calls each with the number of values in
// every run and its bytes: one value, if it is not packed. It stops at the end of b.
func walkRuns(b []byte, width, most int, each func(count int, run []byte, packed bool)) error {
	valueBytes := (width + 7) / 8
	for count := 0; len(b) > 0; {
		head, n := binary.Uvarint(b)
		if n <= 0 || head>>1 > uint64(most+runPadding) || width > 32 {
			return errRuns
		}
		values, bytes, packed := int(head>>1), valueBytes, head&1 == 1
		if packed {
			values, bytes = 8*values, width*values
		}
		if b = b[n:]; bytes > len(b) {
			return errRuns
		}
		if count += values; count > most+runPadding {
			return errRuns
		}
		if each != nil {
			each(values, b[:bytes], packed)
		}
		b = b[bytes:]
	}
	return nil
}

// deltaSize returns the number of values that are encoded as deltas at the beginning of b, and how many bytes they have.
// Source: the Parquet format's Encodings.md, "Delta Encoding".
func deltaSize(b []byte, most int) (values, size int, err error) {
	d := deltaWalk{b: b}
	block, mini, total := d.uvarint(), d.uvarint(), d.uvarint()
	d.uvarint() // the first value
	switch {
	case d.err != nil:
		return 0, 0, d.err
	case total > uint64(most), mini == 0, block == 0, block > 1<<16, block%128 != 0, block%mini != 0, block/mini%32 != 0:
		return 0, 0, errRuns
	}
	for left := int(total) - 1; left > 0 && d.err == nil; {
		left -= d.block(int(mini), int(block/mini), left)
	}
	return int(total), d.at, d.err
}

type deltaWalk struct {
	b   []byte
	at  int
	err error
}

func (d *deltaWalk) uvarint() uint64 {
	n, size := binary.Uvarint(d.b[d.at:])
	if size <= 0 {
		d.err = errRuns
		return 0
	}
	d.at += size
	return n
}

// block goes over one block of mini blocks of so many values, and returns how many of the left values it has.
func (d *deltaWalk) block(mini, valuesOfMini, left int) int {
	d.uvarint() // the least delta
	if d.err != nil || len(d.b)-d.at < mini {
		d.err = errRuns
		return 0
	}
	widths := d.b[d.at : d.at+mini]
	d.at += mini
	values := 0
	for _, width := range widths {
		bytes := valuesOfMini / 8 * int(width)
		if width > 64 || bytes > len(d.b)-d.at {
			d.err = errRuns
			return 0
		}
		d.at += bytes
		if values += valuesOfMini; values >= left {
			return left
		}
	}
	return values
}
