package expr

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// An operator is the meaning of one of CEL's operators for dates and decimals, or of one that CEL has and that rounds. CEL
// lets an environment declare such a meaning but not supply it, as its operators ask their left operand; so a decorator puts
// it in place, see decorate.
type operator struct {
	function string // as in package operators
	overload string // of CEL's own operator; "" if CEL has none for the operands
	operands []*cel.Type
	result   *cel.Type
	apply    functions.FunctionOp // gets non-null values of the types of the operands
}

var celOperators = slices.Concat(decimalOperators(), dateOperators(), floatComparisons())

// operatorByID and operatorsOf have celOperators by their id, and by their function.
var operatorByID, operatorsOf = func() (byID map[string]operator, of map[string][]operator) {
	byID, of = make(map[string]operator, len(celOperators)), map[string][]operator{}
	for _, o := range celOperators {
		byID[o.id()] = o
		of[o.function] = append(of[o.function], o)
	}
	return byID, of
}()

// id names the operator among all overloads.
func (o operator) id() string { return cmp.Or(o.overload, fmt.Sprint(o.function, o.operands)) }

// declaration tells CEL's type checker about the operator.
func (o operator) declaration() cel.EnvOption {
	return cel.Function(o.function, cel.Overload(o.id(), o.operands, o.result))
}

// guarded is apply for any values, as a null field has the type of its field until a row is read.
func (o operator) guarded(values ...ref.Val) ref.Val {
	if i := o.stranger(values); i >= 0 {
		return types.MaybeNoSuchOverloadErr(values[i])
	}
	return o.apply(values...)
}

// stranger returns the index of the first value that the operator does not take, or -1.
func (o operator) stranger(values []ref.Val) int {
	for i, value := range values {
		if !o.operands[i].IsAssignableRuntimeType(value) {
			return i
		}
	}
	return -1
}

// byKinds is the function for operands that include values out of JSON, whose kinds are known only when a row is
// read: one of our operators if it takes the values, else CEL's own.
func byKinds(function string, ours []operator) functions.FunctionOp {
	standard := standardOf(function)
	return func(values ...ref.Val) ref.Val {
		if slices.ContainsFunc(values, isOurs) || len(values) == 2 && isFloat(values[0]) != isFloat(values[1]) {
			for _, o := range ours {
				if o.stranger(values) < 0 {
					return o.apply(values...)
				}
			}
			return types.NewErr("no such overload: %s", function)
		}
		return standard(values...)
	}
}

func isFloat(v ref.Val) bool {
	_, ok := v.(types.Double)
	return ok
}

// isOurs reports whether CEL has no operators for the value.
func isOurs(v ref.Val) bool {
	switch v.(type) {
	case decimalValue, dateValue:
		return true
	}
	return false
}

// standardOf returns CEL's own meaning of an operator of numbers. Each has one for all kinds.
func standardOf(function string) functions.FunctionOp {
	own := standardOperators()[function]
	return func(values ...ref.Val) ref.Val {
		switch {
		case !values[0].Type().HasTrait(own.OperandTrait):
			return types.NewErr("no such overload: %s", function)
		case own.Unary != nil:
			return own.Unary(values[0])
		}
		return own.Binary(values[0], values[1])
	}
}

var standardOperators = sync.OnceValue(func() map[string]*functions.Overload {
	own := map[string]*functions.Overload{}
	for _, declared := range stdlib.Functions() {
		bindings, err := declared.Bindings()
		if err != nil {
			panic(err) // the library contradicts itself
		}
		if len(bindings) == 1 {
			own[declared.Name()] = bindings[0]
		}
	}
	return own
})

// floatComparisons returns the operators < <= > >= between a float and a number of another kind, which CEL would round to a float.
func floatComparisons() []operator {
	ofFunction := map[string]string{
		operators.Less: "less_", operators.LessEquals: "less_equals_",
		operators.Greater: "greater_", operators.GreaterEquals: "greater_equals_",
	}
	ofType := map[*cel.Type]string{cel.IntType: "int64", cel.UintType: "uint64", cel.DoubleType: "double"}
	var all []operator
	for _, operands := range [][2]*cel.Type{
		{cel.IntType, cel.DoubleType}, {cel.DoubleType, cel.IntType}, {cel.UintType, cel.DoubleType}, {cel.DoubleType, cel.UintType},
	} {
		for _, o := range comparisons(operands[0], operands[1], compareNumbers) {
			o.overload = ofFunction[o.function] + ofType[operands[0]] + "_" + ofType[operands[1]]
			all = append(all, o)
		}
	}
	return all
}

// comparisons returns the operators < <= > >= between left and right, which compare orders. A float that is not a number
// has no order.
func comparisons(left, right *cel.Type, compare func(a, b ref.Val) int) []operator {
	holds := map[string]func(order int) bool{
		operators.Less:          func(order int) bool { return order < 0 },
		operators.LessEquals:    func(order int) bool { return order <= 0 },
		operators.Greater:       func(order int) bool { return order > 0 },
		operators.GreaterEquals: func(order int) bool { return order >= 0 },
	}
	var all []operator
	for function, hold := range holds {
		all = append(all, operator{function, "", []*cel.Type{left, right}, types.BoolType, func(v ...ref.Val) ref.Val {
			if slices.ContainsFunc(v, isNaN) {
				return types.NewErr("NaN values cannot be ordered")
			}
			return types.Bool(hold(compare(v[0], v[1])))
		}})
	}
	return all
}

func isNaN(v ref.Val) bool {
	f, ok := v.(types.Double)
	return ok && math.IsNaN(float64(f))
}
