package row

import "strings"

// A RawValue is one member value of a JSON object as it stands in the source.
type RawValue struct {
	// Kind is the natural kind: Null, Bool, Int (an integer literal within int64), Decimal (any other number), String, or
	// JSON (an object or array).
	Kind Kind
	// Literal is the exact source text, a string with its quotes. It shares the memory of the scanned text.
	Literal string

	escaped bool // a String with at least one backslash
}

// ScanObject reads text, one JSON object with nothing but white space around it, and calls visit for each member in
// source order.
//
// JSON is taken strictly by RFC 8259, and furthermore: text and escapes are valid Unicode, the keys of each object are
// distinct, nesting is at most MaxJSONDepth. Keys are compared exactly: no case folding, no Unicode normalisation. All of
// text is checked, nested values too, except that numbers are in range: RawValue.As does that. Keys and literals share the
// memory of text. A scan allocates only for keys with escapes and for errors.
//
// The error is a *JSONError, or the error of visit, unchanged, which ends the scan. visit may have seen members by then,
// and even both of two equal keys: the caller drops what it has collected.
func ScanObject(text string, visit func(key string, raw RawValue) error) error {
	s := newScanner(text)
	defer s.release()
	if s.skipSpace(); s.peek() != '{' {
		return s.notObject()
	}
	if err := s.object(visit); err != nil {
		return err
	}
	return s.end()
}

// ScanKeyed is ScanObject for a text that is probably written as {LABEL VALUE,LABEL VALUE,…}: with these labels, such as "id":, in this
// order, and without white space around keys and values. The labels are of distinct keys. It calls visit with the number of each
// label. known is false if the text is not written so, or is none that ScanObject takes; then visit may have seen members of which
// nothing is to be kept, and ScanObject says what there is. The error is that of visit, which ends the scan.
func ScanKeyed(text string, labels []string, visit func(label int, raw RawValue) error) (known bool, err error) {
	if !strings.HasPrefix(text, "{") {
		return false, nil
	}
	s := newScanner(text)
	defer s.release()
	s.pos, s.depth = 1, 1
	for i, label := range labels {
		if i > 0 {
			if s.peek() != ',' {
				return false, nil
			}
			s.pos++
		}
		if !strings.HasPrefix(s.text[s.pos:], label) {
			return false, nil
		}
		s.pos += len(label)
		raw, ok := s.try()
		if !ok {
			return false, nil
		}
		if err := visit(i, raw); err != nil {
			return true, err
		}
	}
	return s.text[s.pos:] == "}", nil
}

// try reads the value that begins at pos, if there is one.
func (s *scanner) try() (raw RawValue, ok bool) {
	raw, err := s.value()
	return raw, err == nil
}

// notObject explains a text that does not begin with an object: it is another kind of JSON, or no JSON at all.
func (s *scanner) notObject() error {
	start := s.pos
	raw, err := s.value()
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return err
	}
	return s.failAt(start, CodeNotObject, "expected an object, found "+describe(raw))
}

func describe(raw RawValue) string {
	switch raw.Kind {
	case JSON:
		if raw.Literal[0] == '{' {
			return "an object"
		}
		return "an array"
	case String:
		return "a string"
	case Null, Bool:
		return raw.Literal
	}
	if raw.isInteger() {
		return "an integer"
	}
	return "a number that is not an integer literal"
}

// ParseJSON returns text, one JSON value of any type by the rules of ScanObject, as a Value of kind JSON in normal form:
// no white space; keys in bytewise order; strings with the fewest escapes; a number with all its digits, as Natural has
// them: without an exponent, zeros at the end kept, up to 1,000 digits.
//
// The error is a *JSONError. Texts that mean the same value, and write its numbers with as many places, give equal
// Values.
func ParseJSON(text string) (Value, error) {
	s := newScanner(text)
	defer s.release()
	if err := s.normalize(); err != nil {
		return Value{}, err
	}
	return s.normalized(string(s.out)), nil
}

// ScanValue reads text, one JSON value without white space around it. It is as strict as ScanObject; its error is a *JSONError.
func ScanValue(text string) (RawValue, error) {
	s := newScanner(text)
	defer s.release()
	raw, err := s.value()
	if err == nil && s.pos < len(text) {
		err = s.unexpected("the end after one JSON value")
	}
	return raw, err
}

// Natural returns raw as a value of its natural kind: As(raw.Kind), but that a decimal may be written with an exponent,
// which moves its point. Its digits stay: 1.20e1 is 12.0, and 1.5e3 is 1500.
func (raw RawValue) Natural() (Value, error) {
	if mark := strings.IndexAny(raw.Literal, "eE"); mark > 0 && raw.Kind == Decimal {
		return parseExponent(raw.Literal, mark)
	}
	return raw.As(raw.Kind)
}

// As returns raw as a value of the declared kind. Nothing is coerced:
//
//	string           JSON strings
//	bool             true, false
//	int              integer literals within int64 (not 1.0, not 1e3)
//	float            numbers, rounded to the nearest float64
//	decimal          numbers without an exponent, with all their digits; strings that hold one
//	date, timestamp  strings in the form of Parse
//	json             anything, in the normal form of ParseJSON
//
// JSON null is null for every kind. The error is a *ConvertError: the code is WRONG_TYPE if the JSON type does not fit, else
// that of Parse. The value may share the memory of the scanned text.
func (raw RawValue) As(kind Kind) (Value, error) {
	switch {
	case raw.Kind == Null:
		return Value{}, nil
	case kind == Bool && raw.Kind == Bool:
		return BoolValue(raw.Literal == "true"), nil
	case kind == String && raw.Kind == String:
		return StringValue(raw.text()), nil
	case kind == JSON, kind == Decimal && raw.isNumber():
		return Parse(kind, raw.Literal)
	case kind == Float && raw.isNumber():
		return parseFloatValue(raw.Literal, Decimal, JSON)
	case kind == Int && raw.isInteger():
		return parseIntValue(raw.Literal, Decimal)
	case raw.Kind == String && (kind == Decimal || kind == Date || kind == Timestamp):
		return Parse(kind, raw.text())
	}
	return Value{}, convertError(CodeWrongType, kind, raw.Literal, "the JSON holds "+describe(raw))
}

func (raw RawValue) isNumber() bool { return raw.Kind == Int || raw.Kind == Decimal }

// isInteger reports whether raw is a number without a point and an exponent.
func (raw RawValue) isInteger() bool {
	return raw.isNumber() && !strings.ContainsAny(raw.Literal, ".eE")
}

// text returns the content of a String.
func (raw RawValue) text() string {
	inner := raw.Literal[1 : len(raw.Literal)-1]
	if raw.escaped {
		return unescape(inner)
	}
	return inner
}
