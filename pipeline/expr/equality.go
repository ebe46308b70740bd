package expr

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// comparesNumbers returns the ids of the calls of == and != and in, below e, whose operands may hold numbers of different
// kinds: CEL's ints do not know decimals, so that these would be equal in one order only.
func (c *compilation) comparesNumbers(e ast.Expr) map[int64]bool {
	calls := map[int64]bool{}
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if !isCall(e, operators.Equals) && !isCall(e, operators.NotEquals) && !isCall(e, operators.In) {
			return
		}
		for _, operand := range e.AsCall().Args() {
			if hasUnknownKinds(c.ast.GetType(operand.ID())) {
				calls[e.ID()] = true
			}
		}
	}))
	return calls
}

// hasUnknownKinds reports whether values of the type are, or hold, values whose kinds are known only when a row is
// read.
func hasUnknownKinds(t *types.Type) bool {
	return t.Kind() == types.DynKind || slices.ContainsFunc(t.Parameters(), hasUnknownKinds)
}

// equality is a call of ==, != or in that compares numbers by value, whatever their kinds are.
func equality(call interpreter.InterpretableCall) interpreter.InterpretableV2 {
	apply := map[string]func(a, b ref.Val) ref.Val{
		operators.Equals:    func(a, b ref.Val) ref.Val { return types.Bool(equal(a, b)) },
		operators.NotEquals: func(a, b ref.Val) ref.Val { return types.Bool(!equal(a, b)) },
		operators.In:        contains,
	}[call.Function()]
	overload := call.OverloadID()
	if call.Function() == operators.In {
		overload = "" // CEL would look the value up among the constants of a list, by CEL's own equality
	}
	return interpreter.NewCall(call.ID(), call.Function(), overload, call.Args(),
		func(v ...ref.Val) ref.Val { return apply(v[0], v[1]) })
}

// equal reports whether two values are equal, and numbers in them by value.
func equal(a, b ref.Val) bool {
	switch other := b.(type) {
	case decimalValue, types.Int, types.Uint, types.Double:
		return equalNumbers(a, b)
	case traits.Lister:
		list, ok := a.(traits.Lister)
		if !ok || list.Size() != other.Size() {
			return false
		}
		for i := types.IntZero; i < list.Size().(types.Int); i++ {
			if !equal(list.Get(i), other.Get(i)) {
				return false
			}
		}
		return true
	case traits.Mapper:
		members, ok := a.(traits.Mapper)
		if !ok || members.Size() != other.Size() {
			return false
		}
		for keys := members.Iterator(); keys.HasNext() == types.True; {
			key := keys.Next()
			value, found := other.Find(key)
			if !found || !equal(members.Get(key), value) {
				return false
			}
		}
		return true
	}
	return types.Equal(a, b) == types.True
}

// equalNumbers reports whether two values of which one is a number are the same number.
func equalNumbers(a, b ref.Val) bool {
	if a.Type() == b.Type() {
		return types.Equal(a, b) == types.True
	}
	left, ok := asDecimal(a)
	right, too := asDecimal(b)
	return ok && too && left.Equal(right)
}

// contains reports whether a list has a value, or a map a key.
func contains(value, in ref.Val) ref.Val {
	switch in := in.(type) {
	case traits.Lister:
		for items := in.Iterator(); items.HasNext() == types.True; {
			if equal(value, items.Next()) {
				return types.True
			}
		}
		return types.False
	case traits.Container:
		if number, ok := value.(decimalValue); ok {
			value = number.key()
		}
		return in.Contains(value)
	}
	return types.NewErr("no such overload: %s", operators.In)
}
