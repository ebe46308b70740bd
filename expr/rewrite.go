package expr

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// rewrite changes the parsed expression where Waymark's language is wider than CEL's: row["Airport Name"] is the field
// of that name, as is param["x"], and null may stand in one branch of ?: . It refuses `row` by itself.
func rewrite(source string, parsed *ast.AST) error {
	r := rewriter{source: source, parsed: parsed, factory: ast.NewExprFactory(), nextID: ast.MaxID(parsed) + 1}
	operands := map[int64]bool{} // identifiers whose use is in order
	ast.PreOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		r.indexToSelect(e)
		r.nullBranch(e)
		if e.Kind() == ast.SelectKind {
			operands[e.AsSelect().Operand().ID()] = true
		}
		if r.err == nil && isIdent(e, rowName) && !operands[e.ID()] {
			r.err = errorAt(source, parsed, e.ID(), `"row" is used through its fields: row.NAME, or row["NAME"] with the name in quotes`)
		}
	}))
	return r.err
}

type rewriter struct {
	source  string
	parsed  *ast.AST
	factory ast.ExprFactory
	nextID  int64
	err     error
}

func (r *rewriter) indexToSelect(e ast.Expr) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Index {
		return
	}
	operand, index := e.AsCall().Args()[0], e.AsCall().Args()[1]
	if !isIdent(operand, rowName) && !isIdent(operand, paramName) || index.Kind() != ast.LiteralKind {
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
