package expr

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"waymark/pipeline/row"
)

// Limits of an expression. Source: docs/expressions.md (limits).
const (
	maxSourceBytes = 16 << 10
	maxNesting     = 250     // parentheses, brackets and operators inside one another
	maxCost        = 100_000 // of one evaluation, in CEL's units
)

// Want says which results an expression may have at its place in a document.
type Want uint8

// The results that may be wanted.
const (
	Any          Want = iota // any value of a row, null included
	Bool                     // true or false, not null
	BoolOrString             // a gate's label: true, false or a string, not null

	number  // what can be added, or null
	ordered // what has an order that means something, or null
)

// String says in words what is wanted.
func (w Want) String() string {
	return [...]string{Any: "a value", Bool: "true or false", BoolOrString: "true, false or a string",
		number: "a number", ordered: "a bool, number, text, date or time"}[w]
}

// allows reports whether a value of the kind is wanted.
func (w Want) allows(kind row.Kind) bool {
	switch w {
	case Bool:
		return kind == row.Bool
	case BoolOrString:
		return kind == row.Bool || kind == row.String
	case number:
		return kind == row.Null || kind == row.Int || kind == row.Float || kind == row.Decimal
	case ordered:
		return kind != row.JSON
	}
	return true
}

// Compile checks source and returns a program for it. The error is a *CompileError: the first mistake in the source.
func (e *Env) Compile(source string, want Want) (*Program, error) {
	parsed, err := e.parse(source)
	if err != nil {
		return nil, err
	}
	return e.compile(source, parsed, want)
}

func (e *Env) parse(source string) (*cel.Ast, error) {
	if len(source) > maxSourceBytes {
		return nil, &CompileError{1, 1, "the expression has " + strconv.Itoa(len(source)) + " bytes; the limit is " +
			strconv.Itoa(maxSourceBytes) + ": compute parts of it in steps before"}
	}
	parsed, issues := e.cel.Parse(source)
	if err := issues.Err(); err != nil {
		return nil, e.compileError(source, issues)
	}
	return parsed, nil
}

// compile is Compile of the source that has been parsed.
func (e *Env) compile(source string, parsed *cel.Ast, want Want) (*Program, error) {
	if err := rewrite(source, e.variable, parsed.NativeRep()); err != nil {
		return nil, err
	}
	checked, issues := e.cel.Check(parsed)
	if err := issues.Err(); err != nil {
		return nil, e.compileError(source, issues)
	}
	c := &compilation{env: e, source: source, checked: checked, ast: checked.NativeRep()}
	if err := c.checkCalls(); err != nil {
		return nil, err
	}
	return c.program(want)
}

// A compilation turns one checked expression into a program.
type compilation struct {
	env     *Env
	source  string
	checked *cel.Ast
	ast     *ast.AST // of checked
}

func (c *compilation) program(want Want) (*Program, error) {
	p := &Program{want: want, result: c.resultOf(c.ast.Expr()), fields: c.fieldsRead()}
	if !p.result.known() {
		name := typeName(c.ast.GetType(c.ast.Expr().ID()))
		return nil, c.wholeError("the expression gives " + name + ", which a row cannot hold" + cureFor(name))
	}
	if !p.result.dynamic && !want.allows(p.result.kind) {
		return nil, c.wholeError("the expression gives " + p.result.String() + ", and must give " + want.String())
	}
	var err error
	if p.guard, err = c.guard(); err != nil {
		return nil, c.planError(err)
	}
	if p.plain, err = c.plan(c.ast); err != nil {
		return nil, c.planError(err)
	}
	if p.guarded, err = c.plan(c.ast, guardedOptions...); err != nil {
		return nil, c.planError(err)
	}
	p.direct = c.direct(p.fields)
	p.parts = sync.OnceValue(c.parts)
	return p, nil
}

// wholeError returns an error at the first character of the expression.
func (c *compilation) wholeError(message string) error {
	blank := len(c.source) - len(strings.TrimLeft(c.source, " \t\r\n\f"))
	line := strings.Count(c.source[:blank], "\n")
	return &CompileError{line + 1, blank - strings.LastIndexByte(c.source[:blank], '\n'), message}
}

// plan returns the CEL program for checked, which is the expression or a part of it.
func (c *compilation) plan(checked *ast.AST, options ...cel.ProgramOption) (cel.Program, error) {
	return c.env.cel.PlanProgram(checked, append([]cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(c.decorator(checked))}, options...)...)
}

var guardedOptions = []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(maxCost), cel.CostTracking(rangeCost{})}

// planError reports a failure of the planner, which evaluates conversions of literals: int('4x').
func (c *compilation) planError(err error) error {
	id := c.ast.Expr().ID()
	if failed, ok := errors.AsType[*types.Err](err); ok && failed.NodeID() != 0 {
		id = failed.NodeID()
	}
	return errorAt(c.source, c.ast, id, classify(err).Message)
}

// fieldsRead returns the names of the fields that the expression reads, each once, in the order of the source.
func (c *compilation) fieldsRead() []string {
	var fields []string
	seen := map[string]bool{}
	ast.PreOrderVisit(c.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if name, ok := c.env.fieldRead(e); ok && !seen[name] {
			seen[name] = true
			fields = append(fields, name)
		}
	}))
	return fields
}

// fieldRead returns the name of the field if expression is `row.NAME`.
func (e *Env) fieldRead(expression ast.Expr) (string, bool) {
	if expression.Kind() != ast.SelectKind || !isIdent(expression.AsSelect().Operand(), e.variable) {
		return "", false
	}
	return expression.AsSelect().FieldName(), true
}

func isIdent(e ast.Expr, name string) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == name }

func isNull(e ast.Expr) bool { return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue }
