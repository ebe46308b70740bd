package pg

import (
	"bytes"
	"encoding/binary"
)

// Commit matches the end of a transaction in a request to Postgres: a simple query that says commit, as pgx and psql
// send it.
func Commit(request []byte) bool {
	const kind, length = 1, 4
	for at := range request {
		if request[at] != 'Q' || len(request) < at+kind+length {
			continue
		}
		text := request[at+kind+length:]
		end := bytes.IndexByte(text, 0)
		announced := int(request[at+1])<<24 | int(request[at+2])<<16 | int(request[at+3])<<8 | int(request[at+4])
		if end < 0 || announced != length+end+1 {
			continue
		}
		word := bytes.ToLower(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(text[:end]), []byte(";"))))
		if string(word) == "commit" || string(word) == "end" {
			return true
		}
	}
	return false
}

// Batch matches a request that executes several prepared statements as one: without a transaction around them they are
// one, which ends with the request.
func Batch(request []byte) bool {
	const kind, length, few = 1, 4, 2
	executed := 0
	for len(request) >= kind+length {
		switch request[0] {
		case 'E':
			executed++
		case 'S':
			return executed >= few
		}
		size := kind + int(binary.BigEndian.Uint32(request[kind:]))
		if size > len(request) {
			return false
		}
		request = request[size:]
	}
	return false
}
