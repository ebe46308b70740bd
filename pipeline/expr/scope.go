package expr

import (
	"slices"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"waymark/pipeline/row"
)

// cells are the fields that a program reads, in one row.
type cells struct {
	values    []row.Value
	positions []int // of the program's fields in values; -1 for one that is not there
}

// at returns the value of the i-th field, and false if the row does not have it.
func (c cells) at(i int) (row.Value, bool) {
	if position := c.positions[i]; position >= 0 {
		return c.values[position], true
	}
	return row.Value{}, false
}

// isSet reports whether the row has the i-th field and it is not null.
func (c cells) isSet(i int) bool {
	value, ok := c.at(i)
	return ok && !value.IsNull() && value != jsonNull
}

// A scope is what CEL sees of one row during one evaluation: the variable `row` and its fields. It is a
// cel.Activation and the object of the provider's field types. It serves one evaluation at a time.
type scope struct {
	cells
	fields  []string
	decoded []ref.Val // JSON fields, decoded at first use
}

var scopes = sync.Pool{New: func() any { return new(scope) }}

func newScope(fields []string, c cells) *scope {
	s := scopes.Get().(*scope)
	s.fields, s.cells = fields, c
	return s
}

// release gives the scope back. No value refers to it.
func (s *scope) release() {
	clear(s.decoded)
	*s = scope{decoded: s.decoded[:0]}
	scopes.Put(s)
}

// ResolveName implements cel.Activation. The scope stands for the row itself, by whatever name the Env gives it.
func (s *scope) ResolveName(name string) (any, bool) {
	return s, name == rowName || name == batchName || name == resultsName || name == figuresName
}

// Parent implements cel.Activation.
func (s *scope) Parent() cel.Activation { return nil }

// read returns the value of the field as a ref.Val. The error is an *EvalError.
func (s *scope) read(field string, optional bool) (any, error) {
	i := slices.Index(s.fields, field)
	value, ok := s.at(i)
	switch {
	case ok && value.Kind() == row.JSON:
		return s.decode(i, value), nil
	case ok:
		return toCEL(value), nil
	case optional:
		return types.NullValue, nil
	}
	return nil, evalErrorf(CodeNoSuchKey, "the row has no field %q; ask has(row.%[1]s) first if that is expected", field)
}

// isSet reports whether the row has the field and it is not null.
func (s *scope) isSet(field string) bool {
	return s.cells.isSet(slices.Index(s.fields, field))
}

// decode returns the i-th field, which is JSON. It decodes once for each evaluation: a loop may read the field again and
// again.
func (s *scope) decode(i int, value row.Value) ref.Val {
	if len(s.decoded) == 0 {
		s.decoded = slices.Grow(s.decoded, len(s.fields))[:len(s.fields)]
	}
	if s.decoded[i] == nil {
		s.decoded[i] = decodeJSON(value.Text())
	}
	return s.decoded[i]
}

// toCEL returns v as CEL sees it.
func toCEL(v row.Value) ref.Val {
	switch v.Kind() {
	case row.Bool:
		return types.Bool(v.Bool())
	case row.Int:
		return types.Int(v.Int())
	case row.Float:
		return types.Double(v.Float())
	case row.String:
		return types.String(v.Text())
	case row.Date:
		return dateValue(v.Int())
	case row.Timestamp:
		return types.Timestamp{Time: time.Unix(v.Int(), int64(v.Nanos())).UTC()}
	case row.Decimal:
		return decimalOf(v.Text())
	case row.JSON:
		return decodeJSON(v.Text())
	}
	return types.NullValue
}
