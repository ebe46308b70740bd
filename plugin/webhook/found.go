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

// PackFound returns what is stored of rows that a trigger found, and the body in it: a line of JSON with the records that are rejected, and then each record on a line of its own.
func PackFound(path string, found *plugin.Chunk) (packed, body []byte) {
	bad := make([]rejected, len(found.Bad))
	for i, b := range found.Bad {
		bad[i] = rejected{b.Index, b.Code, b.Field, b.Message}
	}
	line, err := json.Marshal(bad)
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

// rejected is a plugin.BadRecord as it is stored; never rename its keys.
type rejected struct {
	Index   int    `json:"index"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// FoundRows describes rows that a trigger found, and that a payload holds.
func FoundRows(path, payload string, body []byte) plugin.FileInfo { return stored(path, payload, body) }

// splitFound returns where the records are in the body of rows that a trigger found.
func splitFound(body []byte) ([]span, error) {
	line, _, _ := bytes.Cut(body, []byte{'\n'})
	var bad []rejected
	if err := json.Unmarshal(line, &bad); err != nil {
		return nil, fmt.Errorf("the first line of stored rows: %w", err)
	}
	var found []span
	for from := len(line) + 1; from < len(body); {
		to := from + bytes.IndexByte(body[from:], '\n')
		if to < from {
			to = len(body)
		}
		found = append(found, span{from: from, to: to})
		from = to + 1
	}
	for _, b := range bad {
		if b.Index < 0 || b.Index >= len(found) {
			return nil, fmt.Errorf("the first line of stored rows: there is no record %d of %d", b.Index, len(found))
		}
		found[b.Index].defect = &plugin.Rejection{Code: b.Code, Field: b.Field, Message: b.Message}
	}
	return found, nil
}
