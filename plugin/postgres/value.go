package postgres

import (
	"bytes"

	"github.com/jackc/pgx/v5/pgtype"

	"waymark/pipeline/row"
)

// A writer appends a value, which Postgres gave as text, to dst as JSON. It returns false, and dst as it was, if the value is none
// that a row can hold as what its column is: NaN and infinities, moments before the year 1 and after 9999.
type writer func(dst, text []byte) ([]byte, bool)

// writers are those of the types that are not simply texts.
var writers = map[uint32]writer{
	pgtype.BoolOID: writeBool, pgtype.Int2OID: writeInt, pgtype.Int4OID: writeInt, pgtype.Int8OID: writeInt, pgtype.OIDOID: writeInt,
	pgtype.NumericOID: writeNumber, pgtype.Float4OID: writeFloat, pgtype.Float8OID: writeFloat,
	pgtype.DateOID: writeDate, pgtype.TimestampOID: writeTimestamp, pgtype.TimestamptzOID: writeTimestamp,
	pgtype.JSONOID: writeJSON, pgtype.JSONBOID: writeJSON,
}

// kinds are those of the types of which a record in JSON does not show it.
var kinds = map[uint32]row.Kind{
	pgtype.NumericOID: row.Decimal, pgtype.Float4OID: row.Float, pgtype.Float8OID: row.Float,
	pgtype.DateOID: row.Date, pgtype.TimestampOID: row.Timestamp, pgtype.TimestamptzOID: row.Timestamp,
	pgtype.JSONOID: row.JSON, pgtype.JSONBOID: row.JSON,
}

// writerOf returns the writer for values of a type. A type without one of its own is written as Postgres' text for it.
func writerOf(oid uint32) writer {
	if w, ok := writers[oid]; ok {
		return w
	}
	return writeText
}

func writeText(dst, text []byte) ([]byte, bool) {
	return row.AppendJSONValue(dst, row.StringValue(string(text))), true
}

// asString returns a writer for a field that is declared as a string: what w writes as a string, or else as its text, so that
// nothing is lost.
func asString(w writer) writer {
	return func(dst, text []byte) ([]byte, bool) {
		start := len(dst)
		dst, ok := w(dst, text)
		if ok && dst[start] == '"' {
			return dst, true
		}
		if ok {
			text = bytes.Clone(dst[start:])
		}
		return writeText(dst[:start], text)
	}
}

func writeBool(dst, text []byte) ([]byte, bool) {
	if len(text) == 1 && text[0] == 't' {
		return append(dst, "true"...), true
	}
	return append(dst, "false"...), true
}

func writeInt(dst, text []byte) ([]byte, bool) { return append(dst, text...), true }

// writeNumber writes the digits as they are.
func writeNumber(dst, text []byte) ([]byte, bool) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' {
		return dst, false
	}
	return append(dst, text...), true
}

// writeFloat writes the shortest digits that read back as the same number, which are what Postgres gives, so that it can be seen
// that they are a float's.
func writeFloat(dst, text []byte) ([]byte, bool) {
	dst, ok := writeNumber(dst, text)
	if ok && !bytes.ContainsAny(text, ".e") {
		dst = append(dst, ".0"...)
	}
	return dst, ok
}

const (
	dateBytes   = len("2001-01-31")
	momentBytes = len("2001-01-31 23:59:59")
)

// isDate reports whether the text begins with a date of the years 1 to 9999, and what follows is none before our era.
func isDate(text []byte) bool {
	return len(text) >= dateBytes && text[4] == '-' && text[7] == '-' && text[0] != '-' && !bytes.HasSuffix(text, []byte(" BC"))
}

func writeDate(dst, text []byte) ([]byte, bool) {
	if !isDate(text) || len(text) != dateBytes {
		return dst, false
	}
	return quote(dst, text), true
}

// writeTimestamp writes a moment in UTC. One of a column without a time zone is taken for one in UTC.
func writeTimestamp(dst, text []byte) ([]byte, bool) {
	text = bytes.TrimSuffix(text, []byte("+00"))
	if !isDate(text) || len(text) < momentBytes || text[dateBytes] != ' ' {
		return dst, false
	}
	dst = append(dst, '"')
	dst = append(dst, text[:dateBytes]...)
	dst = append(dst, 'T')
	dst = append(dst, text[dateBytes+1:]...)
	return append(dst, `Z"`...), true
}

// quote is for texts of which nothing need be escaped.
func quote(dst, text []byte) []byte { return append(append(append(dst, '"'), text...), '"') }

// writeJSON writes the value as it is. Line ends are white space there, which no text of it holds.
func writeJSON(dst, text []byte) ([]byte, bool) {
	start := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[start:] {
		if c == '\n' || c == '\r' {
			dst[start+i] = ' '
		}
	}
	return dst, true
}

// writeArray returns a writer for arrays, as JSON arrays in arrays, of elements that w writes.
func writeArray(w writer, delimiter byte) writer {
	return func(dst, text []byte) ([]byte, bool) {
		if at := bytes.IndexByte(text, '='); len(text) > 0 && text[0] == '[' && at >= 0 {
			text = text[at+1:] // the bounds, where they do not begin at 1
		}
		a := arrayWriter{element: w, delimiter: delimiter, text: text, dst: dst}
		if !a.array() || len(a.text) > 0 {
			return dst, false
		}
		return a.dst, true
	}
}

// arrayWriter writes what is left of an array's text.
type arrayWriter struct {
	element   writer
	delimiter byte
	text, dst []byte
	buffer    []byte // an element without quotes and escapes
}

func (a *arrayWriter) take(c byte) bool {
	if len(a.text) == 0 || a.text[0] != c {
		return false
	}
	a.text = a.text[1:]
	return true
}

func (a *arrayWriter) array() bool {
	if !a.take('{') {
		return false
	}
	a.dst = append(a.dst, '[')
	if a.take('}') {
		a.dst = append(a.dst, ']')
		return true
	}
	for {
		if !a.item() {
			return false
		}
		if a.take('}') {
			a.dst = append(a.dst, ']')
			return true
		}
		if !a.take(a.delimiter) {
			return false
		}
		a.dst = append(a.dst, ',')
	}
}

func (a *arrayWriter) item() bool {
	if len(a.text) > 0 && a.text[0] == '{' {
		return a.array()
	}
	inQuotes := a.take('"')
	if a.buffer = a.buffer[:0]; !a.unquote(inQuotes) {
		return false
	}
	if !inQuotes && string(a.buffer) == "NULL" {
		a.dst = append(a.dst, "null"...)
		return true
	}
	var ok bool
	a.dst, ok = a.element(a.dst, a.buffer)
	return ok
}

// unquote moves an element to the buffer.
func (a *arrayWriter) unquote(inQuotes bool) bool {
	for len(a.text) > 0 {
		c := a.text[0]
		switch {
		case inQuotes && c == '"':
			a.text = a.text[1:]
			return true
		case !inQuotes && (c == a.delimiter || c == '}'):
			return true
		case c == '\\' && len(a.text) > 1:
			a.text = a.text[1:]
		}
		a.buffer = append(a.buffer, a.text[0])
		a.text = a.text[1:]
	}
	return false
}
