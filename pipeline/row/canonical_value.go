package row

import "strings"

// canonicalMarks are the beginnings of the values that carry the mark of their kind.
var canonicalMarks = [...]struct {
	text string
	kind Kind
}{{`{"$date":"`, Date}, {`{"$timestamp":"`, Timestamp}, {decimalMark, Decimal}, {`{"$json":`, JSON}}

const decimalMark = `{"$decimal":"`

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
// well-formed JSON. The value shares its memory, or that of a copy without marks.
func canonicalJSON(literal string) (Value, error) {
	text := literal
	if strings.IndexByte(literal, '$') >= 0 {
		text = string(appendUnwrapped(nil, literal))
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

// appendUnwrapped is the inverse of appendWrapped, for well-formed JSON that appendWrapped made; of other JSON it makes
// some text.
func appendUnwrapped(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		end := i + 1
		switch text[i] {
		case '{':
			if digits := wrappedInt(text[i:]); digits != "" {
				dst = append(dst, digits...)
				i += len(decimalMark) + len(digits) + len(`"}`)
				continue
			}
		case '"':
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

// wrappedInt returns the digits if an integer with the mark of a decimal stands at the front of text, else "".
func wrappedInt(text string) string {
	inner, ok := strings.CutPrefix(text, decimalMark)
	end, _ := numberEnd(inner, 0)
	if !ok || !strings.HasPrefix(inner[end:], `"}`) {
		return ""
	}
	return inner[:end]
}
