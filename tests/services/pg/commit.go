package pg

import "bytes"

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
