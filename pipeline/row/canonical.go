package row

import "strconv"

// CanonicalVersion names the canonical form and the hash over it. It is stored with every hash; a change to the form
// needs a new name. Source: docs/canonical-form.md.
const CanonicalVersion = "sha256-waymark-v1"

// AppendCanonical appends the canonical form of r to dst and returns the extended slice. The SHA-256 of these bytes is
// the identity of the row: two rows have the same bytes if and only if they have the same fields with equal typed
// values. The order of the fields is not part of it; a missing field and a null one differ.
//
// It allocates only to grow dst. It panics if r breaks a contract of the constructors: a float that is not finite, or
// a date or timestamp outside the years 0001 to 9999.
func AppendCanonical(dst []byte, r Row) []byte {
	dst = append(dst, '{')
	for i, position := range r.Shape.sorted {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, r.Shape.keys[i]...)
		dst = AppendValue(dst, r.Values[position])
	}
	return append(dst, '}')
}

// AppendValue appends the canonical form of one value to dst, as it stands in the canonical form of a row. Values have
// the same bytes if and only if they are equal in kind and content. It panics as AppendCanonical does.
func AppendValue(dst []byte, v Value) []byte {
	switch v.kind {
	case Int:
		return strconv.AppendInt(dst, v.num, 10)
	case String:
		return appendJSONString(dst, v.str)
	case Null:
		return append(dst, "null"...)
	case Date:
		return append(appendDate(append(dst, `{"$date":"`...), v.num), `"}`...)
	case Timestamp:
		return append(appendTimestamp(append(dst, `{"$timestamp":"`...), v.num, v.nanos), `"}`...)
	case Decimal:
		return append(append(append(dst, `{"$decimal":"`...), v.str...), `"}`...)
	case JSON:
		return appendCanonicalJSON(dst, v)
	}
	return AppendText(dst, v)
}

// appendCanonicalJSON appends the canonical form of a JSON value: its text, in which keys that begin with $ get one
// more. A scalar is wrapped, so that it differs from the plain value.
func appendCanonicalJSON(dst []byte, v Value) []byte {
	scalar := v.isJSONScalar()
	if scalar {
		dst = append(dst, `{"$json":`...)
	}
	if v.num == 0 {
		dst = append(dst, v.str...)
	} else {
		dst = appendEscaped(dst, v.str)
	}
	if scalar {
		dst = append(dst, '}')
	}
	return dst
}

// isJSONScalar reports whether a JSON value is neither an object nor an array.
func (v Value) isJSONScalar() bool { return v.str[0] != '{' && v.str[0] != '[' }

// appendEscaped appends text, which is in the normal form of ParseJSON, with one more $ before keys that begin with
// one.
func appendEscaped(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = stringEnd(text, i)
			if text[i+1] == '$' && end < len(text) && text[end] == ':' {
				dst, i = append(dst, `"$`...), i+1
			}
		}
		dst = append(dst, text[i:end]...)
		i = end
	}
	return dst
}

// stringEnd returns the index after the string that begins at start.
func stringEnd(text string, start int) int {
	for i := start + 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}
