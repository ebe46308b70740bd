package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"waymark/plugin"
)

// FoundPath returns the path of the nth rows that a trigger found. In the order of bytes, that of later rows comes later.
func FoundPath(trigger string, n int64) string {
	return fmt.Sprintf("%s%s/%012d", plugin.RowsScheme, trigger, n)
}

// isFound reports whether a file is rows that a trigger found.
func isFound(info plugin.FileInfo) bool { return strings.HasPrefix(info.Path, plugin.RowsScheme) }

// foundHead begins the payload of such rows. With their path no two are the same payload, whatever they hold. Stored; never change it.
func foundHead(path string) []byte {
	return []byte("waymark-rows-found-v1 " + strings.TrimPrefix(path, plugin.RowsScheme) + "\n")
}

// PackFound returns what is stored of rows that a trigger found, and the body in it: a line of JSON that is about all of them, and then each record on a line of its own.
func PackFound(path string, found *plugin.Chunk) (packed, body []byte) {
	about := aboutFound{Context: string(found.Context), Rejected: make([]rejected, len(found.Bad))}
	for i, b := range found.Bad {
		about.Rejected[i] = rejected{b.Index, b.Code, b.Field, b.Message}
	}
	line, err := json.Marshal(about)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	head := foundHead(path)
	packed = append(append(head, line...), '\n')
	for i := range found.Len() {
		packed = append(append(packed, found.Record(i)...), '\n')
	}
	return packed, packed[len(head):]
}

// aboutFound is the first line of such rows; never rename its keys.
type aboutFound struct {
	Context  string     `json:"context,omitempty"` // of their chunks
	Rejected []rejected `json:"rejected"`
}

// rejected is a plugin.BadRecord as it is stored; never rename its keys.
type rejected struct {
	Index   int    `json:"index"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// FoundRows describes rows that a trigger found, and that a payload holds.
func FoundRows(path, payload string, body []byte) plugin.FileInfo { return stored(path, payload, body) }

// splitFound returns where the records are in the body of rows that a trigger found, and the context of their chunks.
func splitFound(body []byte) (found []span, contextOf []byte, err error) {
	line, _, _ := bytes.Cut(body, []byte{'\n'})
	var about aboutFound
	if err := json.Unmarshal(line, &about); err != nil {
		return nil, nil, fmt.Errorf("the first line of stored rows: %w", err)
	}
	for from := len(line) + 1; from < len(body); {
		to := from + bytes.IndexByte(body[from:], '\n')
		if to < from {
			to = len(body)
		}
		found = append(found, span{from: from, to: to})
		from = to + 1
	}
	for _, b := range about.Rejected {
		if b.Index < 0 || b.Index >= len(found) {
			return nil, nil, fmt.Errorf("the first line of stored rows: there is no record %d of %d", b.Index, len(found))
		}
		found[b.Index].defect = &plugin.Rejection{Code: b.Code, Field: b.Field, Message: b.Message}
	}
	return found, []byte(about.Context), nil
}
