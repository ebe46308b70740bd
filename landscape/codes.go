package landscape

import "encoding/binary"

// numbered is a column of codes in canonical form: the things that they name are in the order in which they first occur,
// so that the caller's numbering does not matter.
type numbered struct {
	order []int    // the caller's number of each thing
	rows  []int64  // how many rows name it
	codes []uint16 // per row: index into order, or NoToken
}

// numberCodes puts codes below n into canonical form. It returns the first row whose code is none of these, or -1.
func numberCodes(codes []uint16, n int, mayLack bool) (numbered, int) {
	c := numbered{codes: make([]uint16, len(codes))}
	canonical := make([]int, n) // plus 1
	for i, code := range codes {
		if code == NoToken && mayLack {
			c.codes[i] = NoToken
			continue
		}
		if int(code) >= n {
			return numbered{}, i
		}
		if canonical[code] == 0 {
			c.order, c.rows = append(c.order, int(code)), append(c.rows, 0)
			canonical[code] = len(c.order)
		}
		c.codes[i] = uint16(canonical[code] - 1)
		c.rows[c.codes[i]]++
	}
	return c, -1
}

// width returns how many bytes a code takes: all ones must be free where rows may lack a code.
func (c numbered) width(mayLack bool) int64 {
	free := 256
	if mayLack {
		free = 255
	}
	if len(c.order) > free {
		return 2
	}
	return 1
}

// pack returns the codes in width bytes each, big-endian.
func (c numbered) pack(width int64) []byte {
	packed := make([]byte, 0, len(c.codes)*int(width))
	for _, code := range c.codes {
		if width == 2 {
			packed = append(packed, byte(code>>8))
		}
		packed = append(packed, byte(code))
	}
	return packed
}

// unpackCodes returns the codes that pack was given; with mayLack, all ones are NoToken. The error wraps
// ErrIncomplete if pack never gave such a width.
func unpackCodes(packed []byte, width int64, mayLack bool) ([]uint16, error) {
	if width != 1 && width != 2 {
		return nil, incomplete("way codes of %d bytes each mean nothing", width)
	}
	codes := make([]uint16, int64(len(packed))/width)
	for i := range codes {
		if width == 2 {
			codes[i] = binary.BigEndian.Uint16(packed[2*i:])
			continue
		}
		codes[i] = uint16(packed[i])
		if mayLack && packed[i] == 0xFF {
			codes[i] = NoToken
		}
	}
	return codes, nil
}

// packTokens returns tokens as 8 big-endian bytes each: lane<<48 | row. The lane says the source.
func packTokens(tokens []Token) []byte {
	packed := make([]byte, 0, 8*len(tokens))
	for _, t := range tokens {
		packed = binary.BigEndian.AppendUint64(packed, packedToken(t))
	}
	return packed
}

func packedToken(t Token) uint64 { return uint64(t.Lane)<<rowBits | uint64(t.Row) }

// rowBits is how many bits of a packed token are the row.
const rowBits = 48

// unpackToken returns token number i of a packed column.
func unpackToken(packed []byte, i int) (lane, row int64) {
	word := binary.BigEndian.Uint64(packed[8*i:])
	return int64(word >> rowBits), int64(word & (1<<rowBits - 1))
}
