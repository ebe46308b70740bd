package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"waymark/plugin"
)

// space is the white space of JSON.
const space = " \t\r\n"

// split returns where the records are in a body. One that is no JSON, or holds no objects where they should be, is a record that is rejected: whatever was delivered is in
// the balance of a run.
func split(body []byte, path []string) []span {
	if rest, marked := bytes.CutPrefix(body, []byte("\xef\xbb\xbf")); marked { // a byte order mark
		found := split(rest, path)
		for i := range found {
			found[i].from, found[i].to = found[i].from+len(body)-len(rest), found[i].to+len(body)-len(rest)
		}
		return found
	}
	whole := trimmed(body, 0, len(body))
	switch {
	case whole.from == whole.to:
		return nil
	case !json.Valid(body) && len(path) == 0:
		return lines(body)
	case !json.Valid(body):
		return []span{whole} // its parser says what is wrong
	}
	at, found := follow(body, whole, path)
	if !found {
		whole.defect = &plugin.Rejection{Code: codeNoRecords, Message: fmt.Sprintf("there is neither an object nor an array of objects at %s", strings.Join(path, "."))}
		return []span{whole}
	}
	if body[at.from] == '[' {
		return elements(body, at)
	}
	return []span{at}
}

// trimmed is a piece of the body without white space around it.
func trimmed(body []byte, from, to int) span {
	piece := body[from:to]
	from += len(piece) - len(bytes.TrimLeft(piece, space))
	return span{from: from, to: max(from, to-len(piece)+len(bytes.TrimRight(piece, space)))}
}

// lines returns the lines that are not blank.
func lines(body []byte) (found []span) {
	for from := 0; from < len(body); {
		to := len(body)
		if end := bytes.IndexByte(body[from:], '\n'); end >= 0 {
			to = from + end
		}
		if line := trimmed(body, from, to); line.from < line.to {
			found = append(found, line)
		}
		from = to + 1
	}
	return found
}

// follow returns the value to which the keys lead in a value that is valid JSON; false if it is neither an object nor an array. Of a key that is there twice the first counts.
func follow(body []byte, value span, path []string) (span, bool) {
	for _, key := range path {
		if body[value.from] != '{' {
			return span{}, false
		}
		members := inside(body, value)
		at := slices.IndexFunc(members, func(m member) bool { return m.key == key })
		if at < 0 {
			return span{}, false
		}
		value = members[at].value
	}
	return value, body[value.from] == '{' || body[value.from] == '[' || len(path) == 0
}

// elements returns the elements of an array.
func elements(body []byte, array span) (found []span) {
	for _, m := range inside(body, array) {
		found = append(found, m.value)
	}
	return found
}

// member is a value in an object or an array.
type member struct {
	key   string // of an object
	value span
}

// inside returns what an object or array holds, in its order. It is valid JSON.
func inside(body []byte, value span) (members []member) {
	decoder := json.NewDecoder(bytes.NewReader(body[value.from:value.to]))
	open, err := decoder.Token()
	for err == nil && decoder.More() {
		var m member
		if open == json.Delim('{') {
			var key json.Token
			key, err = decoder.Token()
			m.key, _ = key.(string)
		}
		var raw json.RawMessage
		if err == nil {
			err = decoder.Decode(&raw)
		}
		end := value.from + int(decoder.InputOffset())
		m.value = span{from: end - len(raw), to: end}
		members = append(members, m)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		panic(fmt.Sprintf("webhook: valid JSON could not be read: %v", err))
	}
	return members
}
