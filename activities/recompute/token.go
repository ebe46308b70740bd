package recompute

import (
	"encoding/binary"

	"waymark/engine/barrier"
)

// rowBits is how many bits of a packed token hold the row.
const rowBits = 48

// packToken puts a token into 8 bytes, as it is stored: the lane in the upper 16 bits, the row in the others.
func packToken(token barrier.Token) uint64 {
	return uint64(token.Lane)<<rowBits | uint64(token.Row)
}

func unpackToken(packed uint64) barrier.Token {
	return barrier.Token{Lane: int(packed >> rowBits), Row: int64(packed & (1<<rowBits - 1))}
}

// packTokens puts tokens into 8 big-endian bytes each.
func packTokens(tokens []barrier.Token) []byte {
	var packed []byte
	for _, token := range tokens {
		packed = binary.BigEndian.AppendUint64(packed, packToken(token))
	}
	return packed
}

func unpackTokens(packed []byte) []barrier.Token {
	var tokens []barrier.Token
	for ; len(packed) >= 8; packed = packed[8:] {
		tokens = append(tokens, unpackToken(binary.BigEndian.Uint64(packed)))
	}
	return tokens
}
