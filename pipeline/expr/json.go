package expr

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"waymark/pipeline/row"
)

// jsonNull is the JSON value null, which expressions do not tell from a null field.
var jsonNull, _ = row.ParseJSON("null")

// decodeJSON returns the text of a row's JSON value as CEL sees it: objects are maps and arrays lists; a number is an int
// if it is an integer within int64, else a decimal. The value may share the memory of text.
func decodeJSON(text string) ref.Val {
	d := jsonReader{text: text}
	return d.value()
}

// A jsonReader reads text that row.ParseJSON made: it is well-formed and has no white space. It is several times faster
// than encoding/json, which checks again and knows numbers only as float64 or text.
type jsonReader struct {
	text string
	at   int
}

func (r *jsonReader) value() ref.Val {
	switch r.text[r.at] {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return types.String(r.string())
	case 't':
		r.at += len("true")
		return types.True
	case 'f':
		r.at += len("false")
		return types.False
	case 'n':
		r.at += len("null")
		return types.NullValue
	}
	return r.number()
}

func (r *jsonReader) object() ref.Val {
	members := map[string]any{}
	for r.more('}') {
		key := r.string()
		r.at++ // the colon
		members[key] = r.value()
	}
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, members)
}

func (r *jsonReader) array() ref.Val {
	var items []ref.Val
	for r.more(']') {
		items = append(items, r.value())
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

// more steps over a bracket or comma, and over the closing bracket if that is next. It reports whether an item follows.
func (r *jsonReader) more(closing byte) bool {
	if r.text[r.at] != closing {
		r.at++
	}
	if r.text[r.at] != closing {
		return true
	}
	r.at++
	return false
}

func (r *jsonReader) string() string {
	start, escaped := r.at, false
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	if !escaped {
		return r.text[start+1 : r.at-1]
	}
	var decoded string
	if err := json.Unmarshal([]byte(r.text[start:r.at]), &decoded); err != nil {
		panic(err) // against the contract of row.Value; Eval makes an error of it
	}
	return decoded
}

func (r *jsonReader) number() ref.Val {
	start := r.at
	for r.at < len(r.text) && strings.IndexByte("-.0123456789", r.text[r.at]) >= 0 {
		r.at++
	}
	return numberToCEL(r.text[start:r.at])
}

func numberToCEL(literal string) ref.Val {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return types.Int(i)
	}
	return decimalOf(literal)
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
	w.text = row.AppendJSONItem(w.text, scalar)
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

// writeMap writes the members in CEL's order, which is chance; row.ParseJSON sorts them.
func (w *jsonWriter) writeMap(m traits.Mapper) error {
	w.text = append(w.text, '{')
	for it, i := m.Iterator(), 0; it.HasNext() == types.True; i++ {
		key, ok := it.Next().(types.String)
		if !ok {
			return evalErrorf(CodeResultType, "the result is a map whose keys are not strings; a row holds none: use string() on the keys")
		}
		if i > 0 {
			w.text = append(w.text, ',')
		}
		w.text = append(row.AppendJSONValue(w.text, row.StringValue(string(key))), ':')
		if err := w.write(m.Get(key)); err != nil {
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
