package expr

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"waymark/row"
)

// jsonNull is the JSON value null, which expressions do not tell from a null field.
var jsonNull, _ = row.ParseJSON("null")

// decodeJSON returns the text of a row's JSON value as CEL sees it: objects are maps and arrays lists; a number is an int
// if it is an integer within int64, a decimal if it is any other integer literal, else a double.
func decodeJSON(text string) ref.Val {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return types.WrapErr(evalErrorf(CodeEval, "a JSON field is not JSON: %v", err))
	}
	return jsonToCEL(value)
}

func jsonToCEL(value any) ref.Val {
	switch v := value.(type) {
	case bool:
		return types.Bool(v)
	case string:
		return types.String(v)
	case json.Number:
		return numberToCEL(string(v))
	case []any:
		items := make([]ref.Val, len(v))
		for i, item := range v {
			items[i] = jsonToCEL(item)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	case map[string]any:
		for key, member := range v {
			v[key] = jsonToCEL(member)
		}
		return types.NewStringInterfaceMap(types.DefaultTypeAdapter, v)
	}
	return types.NullValue
}

func numberToCEL(literal string) ref.Val {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return types.Int(i)
	}
	if !strings.ContainsAny(literal, ".eE") {
		return parseDecimal(literal)
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return types.WrapErr(evalErrorf(CodeOverflow, "the number %.40s in a JSON field is outside the range of double", literal))
	}
	return types.Double(f)
}

// A jsonWriter collects a list or map as JSON text, and stops when it grows beyond maxResultBytes.
type jsonWriter struct{ text []byte }

// write appends v. The error is an *EvalError.
func (w *jsonWriter) write(v ref.Val) error {
	if len(w.text) > maxResultBytes {
		return resultTooLarge()
	}
	switch v := v.(type) {
	case traits.Mapper:
		return w.writeMap(v)
	case traits.Lister:
		return w.writeList(v)
	}
	scalar, err := scalarOf(v)
	if err != nil {
		return err
	}
	if scalar.Kind() == row.Decimal {
		if scalar, err = asJSON(scalar); err != nil {
			return err
		}
	}
	w.text = row.AppendJSONValue(w.text, scalar)
	return nil
}

func (w *jsonWriter) writeList(list traits.Lister) error {
	w.text = append(w.text, '[')
	for it, i := list.Iterator(), 0; it.HasNext() == types.True; i++ {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		if err := w.write(it.Next()); err != nil {
			return err
		}
	}
	w.text = append(w.text, ']')
	return nil
}

// writeMap writes the members in bytewise order of their keys: the order of a CEL map is chance.
func (w *jsonWriter) writeMap(m traits.Mapper) error {
	var keys []string
	for it := m.Iterator(); it.HasNext() == types.True; {
		key, ok := it.Next().(types.String)
		if !ok {
			return evalErrorf(CodeResultType, "the result is a map whose keys are not strings; a row holds none: use string() on the keys")
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	w.text = append(w.text, '{')
	for i, key := range keys {
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.text = append(row.AppendJSONValue(w.text, row.StringValue(key)), ':')
		if err := w.write(m.Get(types.String(key))); err != nil {
			return err
		}
	}
	w.text = append(w.text, '}')
	return nil
}

// finite returns f as a value; a row holds no infinity and no NaN.
func finite(f float64) (row.Value, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return row.Value{}, evalErrorf(CodeResultType, "the result is %v, which a row cannot hold; was something divided by 0.0?", f)
	}
	return row.FloatValue(f), nil
}
