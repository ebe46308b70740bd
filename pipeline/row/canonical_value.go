package row

import "strings"

// canonicalMarks are the beginnings of the values that carry the mark of their kind.
var canonicalMarks = [...]struct {
	text string
	kind Kind
}{{`{"$date":"`, Date}, {`{"$timestamp":"`, Timestamp}, {`{"$decimal":"`, Decimal}, {`{"$json":`, JSON}}

// canonicalValue reads the value that begins at pos: the inverse of AppendValue, for texts that AppendValue made. Others
// give an error or some value.
func (s *scanner) canonicalValue() (Value, error) {
	if s.peek() == '{' {
		for _, mark := range &canonicalMarks {
			if strings.HasPrefix(s.rest(), mark.text) {
				s.pos += len(mark.text)
				return s.markedValue(mark.kind)
			}
		}
	}
	raw, err := s.value()
	switch {
	case err != nil:
		return Value{}, err
	case raw.Kind == JSON:
		return canonicalJSON(raw.Literal)
	case raw.Kind == Decimal: // which would have its mark
		return raw.As(Float)
	}
	return raw.Natural()
}

// markedValue reads what stands behind the mark of the kind, and the closing brace.
func (s *scanner) markedValue(kind Kind) (v Value, err error) {
	if kind == JSON {
		var raw RawValue
		if raw, err = s.value(); err == nil {
			v, err = canonicalJSON(raw.Literal)
		}
		s.pos += len("}")
		return v, err
	}
	text, _, _ := strings.Cut(s.rest(), `"`)
	s.pos += len(text) + len(`"}`)
	return Parse(kind, text)
}

// canonicalJSON returns the JSON value whose canonical form is literal, without the mark of a scalar. Literal is
// well-formed JSON. The value shares its memory, or that of a copy in which keys have a $ less.
func canonicalJSON(literal string) (Value, error) {
	text := literal
	if strings.IndexByte(literal, '$') >= 0 {
		text = string(appendUnescaped(nil, literal))
	}
	s := newScanner(text)
	defer s.release()
	if err := s.normalize(); err != nil {
		return Value{}, err
	}
	if string(s.out) != text {
		return Value{}, notCanonical(0)
	}
	return s.normalized(text), nil
}

// appendUnescaped is the inverse of appendEscaped, for well-formed JSON that appendEscaped made; of other JSON it makes
// some text.
func appendUnescaped(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = stringEnd(text, i)
			if strings.HasPrefix(text[i:], `"$$`) && end < len(text) && text[end] == ':' {
				dst, i = append(dst, '"'), i+len(`"$`)
			}
		}
		dst = append(dst, text[i:end]...)
		i = end
	}
	return dst
}
