package expr

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// An operator is the meaning of one of CEL's operators for dates and decimals. CEL lets an environment declare such a
// meaning but not supply it, as its operators ask their left operand; so a decorator puts it in place, see decorate.
type operator struct {
	function string // as in package operators
	operands []*cel.Type
	result   *cel.Type
	apply    functions.FunctionOp // gets non-null values of the types of the operands
}

var celOperators = append(decimalOperators(), dateOperators()...)

// id names the operator among all overloads.
func (o operator) id() string { return fmt.Sprint(o.function, o.operands) }

// declaration tells CEL's type checker about the operator.
func (o operator) declaration() cel.EnvOption {
	return cel.Function(o.function, cel.Overload(o.id(), o.operands, o.result))
}

// guarded is apply for any values, as a null field has the type of its field until a row is read.
func (o operator) guarded(values ...ref.Val) ref.Val {
	for i, value := range values {
		if !o.operands[i].IsAssignableRuntimeType(value) {
			return types.MaybeNoSuchOverloadErr(value)
		}
	}
	return o.apply(values...)
}

// comparisons returns the operators < <= > >= between left and right, which compare orders.
func comparisons(left, right *cel.Type, compare func(a, b ref.Val) int) []operator {
	holds := map[string]func(order int) bool{
		operators.Less:          func(order int) bool { return order < 0 },
		operators.LessEquals:    func(order int) bool { return order <= 0 },
		operators.Greater:       func(order int) bool { return order > 0 },
		operators.GreaterEquals: func(order int) bool { return order >= 0 },
	}
	var all []operator
	for function, hold := range holds {
		all = append(all, operator{function, []*cel.Type{left, right}, types.BoolType, func(v ...ref.Val) ref.Val {
			return types.Bool(hold(compare(v[0], v[1])))
		}})
	}
	return all
}
