package expr

import (
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// rewrite changes the parsed expression where Waymark's language is wider than CEL's: row["Airport Name"] is the field
// of that name, as is param["x"], and null may stand in one branch of ?: . It refuses the variable, which is `row` or
// another, by itself.
func rewrite(source, variable string, parsed *ast.AST) error {
	r := rewriter{variable: variable, factory: ast.NewExprFactory(), nextID: ast.MaxID(parsed) + 1}
	operands := map[int64]bool{} // identifiers whose use is in order
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		r.indexToSelect(e)
		r.nullBranch(e)
		if e.Kind() == ast.SelectKind {
			operands[e.AsSelect().Operand().ID()] = true
		}
		if r.err == nil && isIdent(e, variable) && !operands[e.ID()] {
			r.err = errorAt(source, parsed, e.ID(), usedThroughFields(variable))
		}
	}))
	return r.err
}

func usedThroughFields(variable string) string {
	return fmt.Sprintf(`%q is used through its fields: %[1]s.NAME, or %[1]s["NAME"] with the name in quotes`, variable)
}

type rewriter struct {
	variable string
	factory  ast.ExprFactory
	nextID   int64
	err      error
}

func (r *rewriter) indexToSelect(e ast.Expr) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Index {
		return
	}
	operand, index := e.AsCall().Args()[0], e.AsCall().Args()[1]
	if !isIdent(operand, r.variable) && !isIdent(operand, paramName) || index.Kind() != ast.LiteralKind {
		return
	}
	if name, ok := index.AsLiteral().(types.String); ok {
		e.SetKindCase(r.factory.NewSelect(e.ID(), operand, string(name)))
	}
}

// nullBranch makes the null of `c ? x : null` a value of any type; CEL would want x to be null as well.
func (r *rewriter) nullBranch(e ast.Expr) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Conditional {
		return
	}
	for _, branch := range e.AsCall().Args()[1:] {
		if isNull(branch) {
			inner := r.factory.NewLiteral(r.nextID, types.NullValue)
			r.nextID++
			branch.SetKindCase(r.factory.NewCall(branch.ID(), "dyn", inner))
		}
	}
}
