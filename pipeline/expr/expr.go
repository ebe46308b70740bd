// Package expr compiles and evaluates the expressions of a pipeline document: CEL over the typed fields of one row.
//
// An Env holds what the expressions at one place of a pipeline may name: the fields of the rows that arrive there, as
// `row.NAME`, and the parameters of the run, as `param.NAME`. Compile checks an expression against it and returns a
// Program, which evaluates it for one row after another. What is wrong with an expression is a *CompileError before a
// row is read; what is wrong with a row is an *EvalError, never a silent false.
//
// CompileBatch does the same for expressions over all rows of a batch, in which aggregate functions stand.
//
// The language, with examples: docs/expressions.md.
package expr

import (
	"sync/atomic"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types/ref"

	"waymark/pipeline/row"
)

// Program is a compiled expression. It is immutable and safe for concurrent use.
type Program struct {
	want    Want
	result  result
	fields  []string // names of the fields that the expression reads; a scope holds their values in this order
	direct  direct   // evaluates the commonest forms without CEL, or nil
	plain   cel.Program
	guarded cel.Program // counts cost, and stops the evaluation at the limit
	guard   guard
	layout  atomic.Pointer[layout]
	parts   func() *part // the sub-expressions, built when first needed
}

// Kind returns the kind of the values that Eval returns: a field that holds them has this kind. If Dynamic, it is JSON,
// and each value has a kind of its own. An expression that is always null has the kind Null.
func (p *Program) Kind() row.Kind { return p.result.kind }

// Fields returns the names of the fields that the expression reads, each once, in the order of the source. The slice
// belongs to the program; do not change it.
func (p *Program) Fields() []string { return p.fields }

// Nullable reports whether Eval may return null.
func (p *Program) Nullable() bool { return p.result.nullable }

// Dynamic reports whether the kind of the result is known only when a row is evaluated, because the expression reads
// undeclared fields or the inside of JSON.
func (p *Program) Dynamic() bool { return p.result.dynamic }

// Eval returns the value of the expression for r, whose fields may stand in any order. A declared optional field that r
// does not have is null. The value may share memory with r.
//
// The error is an *EvalError: the row, and not the pipeline, is at fault.
func (p *Program) Eval(r row.Row) (value row.Value, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			value, err = row.Value{}, evalErrorf(CodeEval, "internal error: %v", panicked)
		}
	}()
	c := cells{r.Values, p.positions(r.Shape)}
	if p.direct != nil && !p.guard.needed(c) {
		if value, ok := p.direct(c); ok && p.want.allows(value.Kind()) {
			return value, nil
		}
	}
	s := newScope(p.fields, c)
	defer s.release()
	if value, err = p.evaluate(s); err != nil {
		return row.Value{}, p.parts().describe(err, s)
	}
	return value, nil
}

// evaluate asks CEL. The error is one of CEL, or an *EvalError.
func (p *Program) evaluate(s *scope) (row.Value, error) {
	program := p.plain
	if p.guard.needed(s.cells) {
		program = p.guarded
	}
	out, _, err := program.Eval(s)
	if err != nil {
		return row.Value{}, err
	}
	return p.convert(out)
}

// convert returns the result as a value of a kind that was asked for.
func (p *Program) convert(out ref.Val) (row.Value, error) {
	value, err := valueOf(out)
	switch {
	case err != nil:
		return row.Value{}, err
	case !p.want.allows(value.Kind()):
		return row.Value{}, evalErrorf(CodeResultType, "the expression must give %s, and gave %s", p.want, value.Kind())
	case p.result.kind == row.JSON && !p.result.dynamic && !value.IsNull():
		return asJSON(value)
	}
	return value, nil
}

// layout says where the fields of a program stand in the rows of one shape; -1 stands for a field that is not there.
type layout struct {
	shape     *row.Shape
	positions []int
}

// positions returns the positions of the fields in shape. It remembers the last shape, as rows come in runs of one.
func (p *Program) positions(shape *row.Shape) []int {
	if known := p.layout.Load(); known != nil && known.shape == shape {
		return known.positions
	}
	l := &layout{shape: shape, positions: make([]int, len(p.fields))}
	for i, field := range p.fields {
		position, ok := shape.Index(field)
		if !ok {
			position = -1
		}
		l.positions[i] = position
	}
	p.layout.Store(l)
	return l.positions
}
