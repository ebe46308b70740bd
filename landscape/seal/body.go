package seal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Body is what the body of a row says.
type Body struct {
	Row    int64     // number of the row of its origin
	SHA256 Hash      // of the record as read
	Ways   []WayID   // by lane
	Errors []Refusal // by lane and node
}

// WayID is the way that a row took in a lane.
type WayID struct {
	Lane uint16
	ID   string // 16 hex digits: way in ways
}

// Refusal has the SHA-256 of the line of an error.
type Refusal struct {
	Lane, Node uint16
	SHA256     Hash
}

// sizes of the parts of a body behind their first byte: of what says which one it is, and of its value.
var sizes = map[byte][2]int{
	recordPart: {0, 44}, wayPart: {2, 8}, hashPart: {4, 32}, keyPart: {2, 4}, firstPart: {4, 8}, errorPart: {4, 32}, joinPart: {2, 8}, parentPart: {0, 12},
}

const bodyHead = 3 + 8

// ParseBody reads the body of a row, and refuses one that is not in the form that docs/seal.md describes: parts of which it does not know the length,
// or in another order.
func ParseBody(body []byte) (*Body, error) {
	if len(body) < bodyHead || !bytes.Equal(body[:3], []byte{rowPart, 'm', bodyVersion}) {
		return nil, errors.New("it is not the body of a row, or of another version")
	}
	b := &Body{Row: int64(binary.BigEndian.Uint64(body[3:bodyHead]))}
	var last []byte
	for rest := body[bodyHead:]; len(rest) > 0; {
		size, ok := sizes[rest[0]]
		whole := 1 + size[0] + size[1]
		if !ok || len(rest) < whole {
			return nil, fmt.Errorf("the body of a row has a part %02x that is not whole", rest[0])
		}
		name, value := rest[:1+size[0]], rest[1+size[0]:whole]
		if bytes.Compare(name, last) <= 0 {
			return nil, errors.New("the parts of the body of a row are not sorted")
		}
		b.take(name, value)
		last, rest = name, rest[whole:]
	}
	return b, nil
}

func (b *Body) take(name, value []byte) {
	switch name[0] {
	case recordPart:
		b.SHA256 = Hash(value[:32])
	case wayPart:
		b.Ways = append(b.Ways, WayID{binary.BigEndian.Uint16(name[1:]), hex.EncodeToString(value)})
	case errorPart:
		b.Errors = append(b.Errors, Refusal{binary.BigEndian.Uint16(name[1:]), binary.BigEndian.Uint16(name[3:]), Hash(value)})
	}
}
