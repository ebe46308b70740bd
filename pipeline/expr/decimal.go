package expr

import (
	"cmp"
	"fmt"
	"math"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/shopspring/decimal"

	"waymark/pipeline/row"
)

// A decimalValue is an exact decimal number. It has at most as many digits as package row allows, and keeps its trailing
// zeros: 1.10 + 1.10 is 2.20.
type decimalValue struct{ number decimal.Decimal }

var decimalType = cel.OpaqueType("decimal")

// parseDecimal returns the number that text, in the form of row.Parse, denotes, or an error value.
func parseDecimal(text string) ref.Val {
	value, err := row.Parse(row.Decimal, text)
	if err != nil {
		return types.WrapErr(refused(err))
	}
	return decimalOf(value.Text())
}

// decimalOf returns the number that the text of a decimal of a row denotes.
func decimalOf(text string) ref.Val { return decimalValue{decimal.RequireFromString(text)} }

// text returns all digits, with the trailing zeros.
func (d decimalValue) text() string { return d.number.StringFixed(max(0, -d.number.Exponent())) }

func (d decimalValue) rowValue() (row.Value, error) {
	value, err := row.Parse(row.Decimal, d.text())
	if err != nil {
		return row.Value{}, refused(err)
	}
	return value, nil
}

// ConvertToNative implements ref.Val.
func (d decimalValue) ConvertToNative(target reflect.Type) (any, error) {
	return nil, fmt.Errorf("a decimal does not convert to %v", target)
}

// ConvertToType implements ref.Val.
func (d decimalValue) ConvertToType(target ref.Type) ref.Val {
	if target.TypeName() == types.StringType.TypeName() {
		return types.String(d.text())
	}
	return types.NewErr("type conversion error from decimal to %s", target.TypeName())
}

// Equal implements ref.Val. Numbers are equal by value: 1.10 == 1.1.
func (d decimalValue) Equal(other ref.Val) ref.Val {
	number, ok := asDecimal(other)
	return types.Bool(ok && d.number.Equal(number))
}

// Type implements ref.Val.
func (d decimalValue) Type() ref.Type { return decimalType }

// Value implements ref.Val.
func (d decimalValue) Value() any { return d.number }

// asDecimal returns the number of a decimal or int, or the one that a finite double stands for, as row.Cast has it.
func asDecimal(v ref.Val) (decimal.Decimal, bool) {
	switch v := v.(type) {
	case decimalValue:
		return v.number, true
	case types.Int:
		return decimal.NewFromInt(int64(v)), true
	case types.Uint:
		return decimal.NewFromUint64(uint64(v)), true
	case types.Double:
		return ofDouble(float64(v))
	}
	return decimal.Decimal{}, false
}

func ofDouble(f float64) (decimal.Decimal, bool) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return decimal.Decimal{}, false
	case f == math.Trunc(f) && f >= math.MinInt64 && f < -math.MinInt64:
		return decimal.NewFromInt(int64(f)), true
	}
	return decimal.NewFromFloat(f), true
}

// limited returns number as a value, or an error value if it has too many digits for a row.
func limited(number decimal.Decimal) ref.Val {
	d := decimalValue{number}
	if _, err := d.rowValue(); err != nil {
		return types.WrapErr(err)
	}
	return d
}

// decimalOperators returns + - * of decimals with decimals and ints, the comparisons also with doubles, and the unary minus.
func decimalOperators() []operator {
	all := []operator{{operators.Negate, "", []*cel.Type{decimalType}, decimalType, func(v ...ref.Val) ref.Val {
		return decimalValue{v[0].(decimalValue).number.Neg()}
	}}}
	arithmetic := map[string]func(a, b decimal.Decimal) decimal.Decimal{
		operators.Add: decimal.Decimal.Add, operators.Subtract: decimal.Decimal.Sub, operators.Multiply: decimal.Decimal.Mul,
	}
	for _, operands := range [][]*cel.Type{{decimalType, decimalType}, {decimalType, cel.IntType}, {cel.IntType, decimalType}} {
		for function, calculate := range arithmetic {
			all = append(all, operator{function, "", operands, decimalType, func(v ...ref.Val) ref.Val {
				a, _ := asDecimal(v[0])
				b, _ := asDecimal(v[1])
				return limited(calculate(a, b))
			}})
		}
		all = append(all, comparisons(operands[0], operands[1], compareNumbers)...)
	}
	all = append(all, comparisons(decimalType, cel.DoubleType, compareNumbers)...)
	return append(all, comparisons(cel.DoubleType, decimalType, compareNumbers)...)
}

// compareNumbers compares two numbers by value, whatever their kinds are. None is NaN.
func compareNumbers(a, b ref.Val) int {
	if i, ok := a.(types.Int); ok && isFloat(b) {
		return row.Order(row.IntValue(int64(i)), row.FloatValue(float64(b.(types.Double))))
	}
	if i, ok := b.(types.Int); ok && isFloat(a) {
		return row.Order(row.FloatValue(float64(a.(types.Double))), row.IntValue(int64(i)))
	}
	left, finite := asDecimal(a)
	right, too := asDecimal(b)
	switch {
	case !finite:
		return cmp.Compare(float64(a.(types.Double)), 0)
	case !too:
		return cmp.Compare(0, float64(b.(types.Double)))
	}
	return left.Cmp(right)
}

// decimalFunctions returns the conversions from and to decimals, and round.
func decimalFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Function("decimal",
			cel.Overload("string_to_decimal", []*cel.Type{cel.StringType}, decimalType, cel.UnaryBinding(func(v ref.Val) ref.Val {
				return parseDecimal(string(v.(types.String)))
			})),
			cel.Overload("int_to_decimal", []*cel.Type{cel.IntType}, decimalType, cel.UnaryBinding(func(v ref.Val) ref.Val {
				return decimalValue{decimal.NewFromInt(int64(v.(types.Int)))}
			})),
			cel.Overload("double_to_decimal", []*cel.Type{cel.DoubleType}, decimalType, cel.UnaryBinding(doubleToDecimal))),
		cel.Function("string", cel.Overload("decimal_to_string", []*cel.Type{decimalType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(v.(decimalValue).text()) }))),
		cel.Function("double", cel.Overload("decimal_to_double", []*cel.Type{decimalType}, cel.DoubleType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.Double(v.(decimalValue).number.InexactFloat64()) }))),
		cel.Function("int", cel.Overload("decimal_to_int", []*cel.Type{decimalType}, cel.IntType,
			cel.UnaryBinding(decimalToInt))),
		cel.Function("round", cel.MemberOverload("decimal_round_int", []*cel.Type{decimalType, cel.IntType}, decimalType,
			cel.BinaryBinding(roundDecimal))),
	}
}

// doubleToDecimal returns the shortest decimal that reads back as the double.
func doubleToDecimal(v ref.Val) ref.Val {
	value, err := finite(float64(v.(types.Double)))
	if err != nil {
		return types.WrapErr(err)
	}
	cast, err := row.Cast(value, row.Decimal)
	if err != nil {
		return types.WrapErr(refused(err))
	}
	return parseDecimal(cast.Text())
}

// decimalToInt drops the fraction, as int(double) does.
func decimalToInt(v ref.Val) ref.Val {
	whole := v.(decimalValue).number.BigInt()
	if !whole.IsInt64() {
		return types.WrapErr(evalErrorf(CodeOverflow, "the decimal %q is outside the range of int", v.(decimalValue).text()))
	}
	return types.Int(whole.Int64())
}

// roundDecimal rounds half away from zero, to 0 to 100 places.
func roundDecimal(v, places ref.Val) ref.Val {
	n := places.(types.Int)
	if n < 0 || n > 100 {
		return types.WrapErr(evalErrorf(CodeEval, `round to "%d" places: give 0 to 100`, n))
	}
	return limited(v.(decimalValue).number.Round(int32(n)))
}
