package expr

import (
	"cmp"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"waymark/pipeline/row"
)

// The commonest expressions take a field as it is, compare fields with literals and choose between literals. They are evaluated as Go closures
// over the row, about five times faster than by CEL. A closure gives up (false) wherever CEL might give an error or
// think otherwise (a null, a missing field, an overflow): CEL then evaluates the whole expression, so that there is one
// semantics. TestDirectAgrees compares the two.

// direct evaluates an expression for one row, or gives up.
type direct func(cells) (row.Value, bool)

// operand is an expression of the type T: bool, int64, float64 or string.
type operand[T any] func(cells) (T, bool)

// directCompiler builds closures out of the checked expression. Its methods return nil for what they do not know.
type directCompiler struct {
	*compilation
	fields []string
}

func (c *compilation) direct(fields []string) direct {
	return directCompiler{c, fields}.value(c.ast.Expr())
}

// value builds an expression of any type.
func (c directCompiler) value(e ast.Expr) direct {
	switch {
	case isCall(e, operators.Conditional):
		return c.choice(e.AsCall().Args())
	case isCall(e, "dyn") && isNull(e.AsCall().Args()[0]): // a null branch, see rewrite
		return literal(row.NullValue())
	case c.constant(e) != nil:
		if value, err := scalarOf(c.constant(e)); err == nil {
			return literal(value)
		}
		return nil
	}
	if field := c.cell(e); field != nil {
		return field
	}
	switch c.ast.GetType(e.ID()).Kind() {
	case types.BoolKind:
		return boxed(c.truth(e), row.BoolValue)
	case types.IntKind:
		return boxed(c.integer(e), row.IntValue)
	}
	return nil
}

func literal(value row.Value) direct { return func(cells) (row.Value, bool) { return value, true } }

func (c directCompiler) choice(args []ast.Expr) direct {
	condition, yes, no := c.truth(args[0]), c.value(args[1]), c.value(args[2])
	if condition == nil || yes == nil || no == nil {
		return nil
	}
	return func(cells cells) (row.Value, bool) {
		truth, ok := condition(cells)
		switch {
		case !ok:
			return row.Value{}, false
		case truth:
			return yes(cells)
		}
		return no(cells)
	}
}

// boxed makes the result of an operand a value of a row.
func boxed[T any](of operand[T], box func(T) row.Value) direct {
	if of == nil {
		return nil
	}
	return func(cells cells) (row.Value, bool) {
		v, ok := of(cells)
		return box(v), ok
	}
}

// truth builds a bool.
func (c directCompiler) truth(e ast.Expr) operand[bool] {
	switch {
	case e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly():
		return c.presence(e, true)
	case e.Kind() != ast.CallKind:
		return leaf(c, e, row.Bool, row.Value.Bool)
	}
	call := e.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		return c.junction(call.Args(), call.FunctionName() == operators.LogicalOr)
	case operators.LogicalNot:
		return negated(c.truth(call.Args()[0]))
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return c.comparison(call)
	case overloads.StartsWith:
		return c.textTest(call, strings.HasPrefix)
	case overloads.EndsWith:
		return c.textTest(call, strings.HasSuffix)
	case overloads.Contains:
		return c.textTest(call, strings.Contains)
	}
	return nil
}

// junction builds && and ||, which stop at the operand that decides.
func (c directCompiler) junction(args []ast.Expr, decides bool) operand[bool] {
	a, b := c.truth(args[0]), c.truth(args[1])
	if a == nil || b == nil {
		return nil
	}
	return func(cells cells) (bool, bool) {
		if truth, ok := a(cells); !ok || truth == decides {
			return truth, ok
		}
		return b(cells)
	}
}

// presence builds has(row.x), and with it row.x != null and row.x == null of an optional field, of which it gives up on
// nothing.
func (c directCompiler) presence(e ast.Expr, wanted bool) operand[bool] {
	name, ok := c.env.fieldRead(e)
	if !ok {
		return nil
	}
	i := slices.Index(c.fields, name)
	return func(cells cells) (bool, bool) { return cells.isSet(i) == wanted, true }
}

func negated(of operand[bool]) operand[bool] {
	if of == nil {
		return nil
	}
	return func(cells cells) (bool, bool) {
		truth, ok := of(cells)
		return !truth, ok
	}
}

func (c directCompiler) textTest(call ast.CallExpr, test func(text, part string) bool) operand[bool] {
	if !call.IsMemberFunction() {
		return nil
	}
	text, part := leaf(c, call.Target(), row.String, row.Value.Text), leaf(c, call.Args()[0], row.String, row.Value.Text)
	if text == nil || part == nil {
		return nil
	}
	return func(cells cells) (bool, bool) {
		a, ok1 := text(cells)
		b, ok2 := part(cells)
		return ok1 && ok2 && test(a, b), ok1 && ok2
	}
}

func (c directCompiler) comparison(call ast.CallExpr) operand[bool] {
	left, right := call.Args()[0], call.Args()[1]
	if name, ok := c.env.fieldRead(left); ok && isNull(right) && c.env.fieldResult(name).nullable && !c.env.fieldResult(name).dynamic {
		return c.presence(left, call.FunctionName() == operators.NotEquals)
	}
	if c.ast.GetType(left.ID()).IsExactType(dateType) && c.ast.GetType(right.ID()).IsExactType(dateType) {
		return compared(call.FunctionName(), leaf(c, left, row.Date, row.Value.Int), leaf(c, right, row.Date, row.Value.Int))
	}
	kind := c.ast.GetType(left.ID()).Kind()
	if kind != c.ast.GetType(right.ID()).Kind() {
		return nil
	}
	switch kind {
	case types.IntKind:
		return compared(call.FunctionName(), c.integer(left), c.integer(right))
	case types.DoubleKind:
		return compared(call.FunctionName(), leaf(c, left, row.Float, row.Value.Float), leaf(c, right, row.Float, row.Value.Float))
	case types.StringKind:
		return compared(call.FunctionName(), leaf(c, left, row.String, row.Value.Text), leaf(c, right, row.String, row.Value.Text))
	}
	return nil
}

// compared builds a comparison. Fields and literals are never NaN, so that the order is total.
func compared[T cmp.Ordered](function string, left, right operand[T]) operand[bool] {
	if left == nil || right == nil {
		return nil
	}
	test := map[string]func(a, b T) bool{
		operators.Equals:        func(a, b T) bool { return a == b },
		operators.NotEquals:     func(a, b T) bool { return a != b },
		operators.Less:          func(a, b T) bool { return a < b },
		operators.LessEquals:    func(a, b T) bool { return a <= b },
		operators.Greater:       func(a, b T) bool { return a > b },
		operators.GreaterEquals: func(a, b T) bool { return a >= b },
	}[function]
	return func(cells cells) (bool, bool) {
		a, ok1 := left(cells)
		b, ok2 := right(cells)
		return ok1 && ok2 && test(a, b), ok1 && ok2
	}
}

// integer builds an int: a field, a literal, or a sum or difference of them.
func (c directCompiler) integer(e ast.Expr) operand[int64] {
	switch {
	case isCall(e, operators.Add):
		return calculated(c, e, func(x, y int64) (int64, bool) { return x + y, (x+y > x) == (y > 0) })
	case isCall(e, operators.Subtract):
		return calculated(c, e, func(x, y int64) (int64, bool) { return x - y, (x-y < x) == (y > 0) })
	}
	return leaf(c, e, row.Int, row.Value.Int)
}

// calculated gives up where of says that the number overflows.
func calculated(c directCompiler, e ast.Expr, of func(x, y int64) (int64, bool)) operand[int64] {
	a, b := c.integer(e.AsCall().Args()[0]), c.integer(e.AsCall().Args()[1])
	if a == nil || b == nil {
		return nil
	}
	return func(cells cells) (int64, bool) {
		x, ok1 := a(cells)
		y, ok2 := b(cells)
		result, ok3 := of(x, y)
		return result, ok1 && ok2 && ok3
	}
}

// leaf builds a field or constant of the kind.
func leaf[T any](c directCompiler, e ast.Expr, kind row.Kind, get func(row.Value) T) operand[T] {
	if constant := c.constant(e); constant != nil {
		value, err := scalarOf(constant)
		if err != nil || value.Kind() != kind {
			return nil
		}
		v := get(value)
		return func(cells) (T, bool) { return v, true }
	}
	name, ok := c.env.fieldRead(e)
	if !ok || e.AsSelect().IsTestOnly() {
		return nil
	}
	i := slices.Index(c.fields, name)
	return func(cells cells) (T, bool) {
		value, ok := cells.at(i)
		return get(value), ok && value.Kind() == kind
	}
}

func isCall(e ast.Expr, function string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == function
}
