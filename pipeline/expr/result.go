package expr

import (
	"math"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"waymark/pipeline/row"
)

// maxResultBytes is the size of a result's text, and so of a cell. Source: docs/expressions.md (limits).
const maxResultBytes = 1 << 20

// valueOf returns the result of an evaluation as a value of a row: lists and maps are JSON. The error is an *EvalError.
func valueOf(v ref.Val) (row.Value, error) {
	switch v.(type) {
	case traits.Mapper, traits.Lister:
		return collectionOf(v)
	}
	value, err := scalarOf(v)
	switch {
	case err != nil:
		return row.Value{}, err
	case len(value.Text()) > maxResultBytes:
		return row.Value{}, resultTooLarge()
	}
	return value, nil
}

func collectionOf(v ref.Val) (row.Value, error) {
	var w jsonWriter
	if err := w.write(v); err != nil {
		return row.Value{}, err
	}
	return w.value()
}

// ListOf returns the values, which may be null and of different kinds, as one JSON list: what collect() gives. Dates and
// timestamps are texts in it. The error is an *EvalError: the list is larger than a cell may be, or is nested too deep.
func ListOf(values []row.Value) (row.Value, error) {
	w := jsonWriter{text: []byte{'['}}
	for i, value := range values {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.text = row.AppendJSONItem(w.text, value)
		if len(w.text) > maxResultBytes {
			return row.Value{}, resultTooLarge()
		}
	}
	w.text = append(w.text, ']')
	return w.value()
}

// value returns what was written, as a value.
func (w *jsonWriter) value() (row.Value, error) {
	if len(w.text) > maxResultBytes {
		return row.Value{}, resultTooLarge()
	}
	value, err := row.ParseJSON(string(w.text))
	if err != nil {
		return row.Value{}, evalErrorf(CodeResultType, "the result is not JSON that a row can hold: %v", err)
	}
	return value, nil
}

// scalarOf returns a value that is neither list nor map.
func scalarOf(v ref.Val) (row.Value, error) {
	switch v := v.(type) {
	case types.Null:
		return row.NullValue(), nil
	case types.Bool:
		return row.BoolValue(bool(v)), nil
	case types.Int:
		return row.IntValue(int64(v)), nil
	case types.Uint:
		if v <= math.MaxInt64 {
			return row.IntValue(int64(v)), nil
		}
		return row.Value{}, evalErrorf(CodeOverflow, `the result "%d" is outside the range of int`, v)
	case types.Double:
		return finite(float64(v))
	case types.String:
		if utf8.ValidString(string(v)) {
			return row.StringValue(string(v)), nil
		}
		return row.Value{}, evalErrorf(CodeResultType, "the result is text that is not valid UTF-8")
	case types.Timestamp:
		return row.TimestampValue(v.Unix(), uint32(v.Nanosecond())), nil
	case dateValue:
		return row.DateValue(int64(v)), nil
	case decimalValue:
		return v.rowValue()
	}
	return row.Value{}, evalErrorf(CodeResultType, "the result is a %s, which a row cannot hold%s", ourTypeName(v.Type().TypeName()), cureFor(ourTypeName(v.Type().TypeName())))
}

// asJSON returns value, which is not null, as JSON.
func asJSON(value row.Value) (row.Value, error) {
	if value.Kind() == row.JSON {
		return value, nil
	}
	return row.ParseJSON(string(row.AppendJSONItem(nil, value)))
}

// cureFor says what to write to get a value that a row can hold.
func cureFor(typeName string) string {
	switch typeName {
	case "duration":
		return "; use string(…), or a number such as .getSeconds()"
	case "bytes":
		return "; use string(…)"
	}
	return ""
}

func resultTooLarge() *EvalError {
	return evalErrorf(CodeResultSize, "the result is larger than %d bytes", maxResultBytes)
}
