package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A batchCompiler takes the aggregate calls out of a parsed expression, and puts a field in the place of each.
type batchCompiler struct {
	env     *Env // of the arguments
	source  string
	parsed  *ast.AST
	text    *sourceMap
	factory ast.ExprFactory
	nextID  int64

	calls   []Call
	names   []string // of the fields that stand for the calls
	results []Field  // those of them whose kind is known
}

func newBatchCompiler(e *Env, source string, parsed *ast.AST) *batchCompiler {
	return &batchCompiler{
		env: e, source: source, parsed: parsed, text: newSourceMap(source, parsed.SourceInfo()),
		factory: ast.NewExprFactory(), nextID: ast.MaxID(parsed) + 1,
	}
}

// takeCalls replaces all calls. The error is a *CompileError: the first mistake about functions and rows.
func (b *batchCompiler) takeCalls() error {
	var first error
	ast.PreOrderVisit(b.parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch name := functionOf(e); {
		case first != nil:
		case isAggregate(name):
			first = b.take(e)
		case name != "" && !b.env.cel.HasFunction(name):
			first = b.errorAt(e, b.env.unknownAggregate(name))
		case isRowRead(e):
			first = b.errorAt(e, fmt.Sprintf("%s belongs to one row, and a batch has many: write first(%[1]s), or another aggregate function of it", b.text.part(e)))
		case isIdent(e, rowName):
			first = b.errorAt(e, usedThroughFields(rowName))
		}
	}))
	return first
}

// functionOf returns name if e is name(…), and "" if it is anything else, such as x.name(…).
func functionOf(e ast.Expr) string {
	if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() {
		return ""
	}
	return e.AsCall().FunctionName()
}

// isRowRead reports whether e is row.NAME, has(row.NAME) or row["NAME"].
func isRowRead(e ast.Expr) bool {
	if e.Kind() == ast.SelectKind {
		return isIdent(e.AsSelect().Operand(), rowName)
	}
	return isCall(e, operators.Index) && isIdent(e.AsCall().Args()[0], rowName)
}

func (b *batchCompiler) errorAt(e ast.Expr, message string) error {
	return errorAt(b.source, b.parsed, e.ID(), message)
}

// take replaces the call e by a field. To CEL's source map it looks like a macro, so that the field has the call's text.
func (b *batchCompiler) take(e ast.Expr) error {
	call, err := b.call(e)
	if err != nil {
		return err
	}
	if !slices.Contains(b.names, call.Source) {
		b.calls, b.names = append(b.calls, call), append(b.names, call.Source)
		if !call.Dynamic {
			b.results = append(b.results, Field{Name: call.Source, Kind: call.Kind, Optional: call.Nullable})
		}
	}
	b.parsed.SourceInfo().SetMacroCall(e.ID(), b.factory.NewCall(e.ID(), string(call.Func), e.AsCall().Args()...))
	e.SetKindCase(b.factory.NewSelect(e.ID(), b.factory.NewIdent(b.nextID, resultsName), call.Source))
	b.nextID++
	return nil
}

// call compiles the call e.
func (b *batchCompiler) call(e ast.Expr) (Call, error) {
	call := Call{Func: Func(e.AsCall().FunctionName())}
	if usage := call.Func.misused(len(e.AsCall().Args())); usage != "" {
		return Call{}, b.errorAt(e, usage)
	}
	known, text := call.Func.result(result{}), ""
	if call.Func != Count {
		argument := b.argument(e)
		var err error
		if call.Arg, err = b.compileArgument(e, argument); err != nil {
			return Call{}, err
		}
		known, text = call.Func.result(call.Arg.result), strings.TrimSpace(string(b.text.text[argument.from:argument.end]))
	}
	if call.Func == Quantile {
		q, ok := fractionOf(e.AsCall().Args()[1])
		if !ok {
			return Call{}, b.errorAt(e.AsCall().Args()[1], "the second argument of quantile() must be a literal from 0 to 1, such as 0.95")
		}
		call.Quantile, text = q, text+", "+strconv.FormatFloat(q, 'g', -1, 64)
	}
	call.Source = string(call.Func) + "(" + text + ")"
	call.Kind, call.Nullable, call.Dynamic = known.kind, known.nullable, known.dynamic
	return call, nil
}

// argument returns where the first argument of the call e stands: from the parenthesis to the other one, or to the comma.
func (b *batchCompiler) argument(e ast.Expr) span {
	open := b.text.offsets(e).from
	s := b.text.balanced(span{open, open + 1})
	s = span{s.from + 1, s.end - 1}
	if args := e.AsCall().Args(); len(args) > 1 {
		s.end = skipTo(b.text.text, b.text.balanced(b.text.spanOf(args[0])).end, ',')
	}
	return s
}

// compileArgument compiles the first argument of the call e, which stands there. Blanks in place of the rest of the source
// keep the places of mistakes right.
func (b *batchCompiler) compileArgument(e ast.Expr, at span) (*Program, error) {
	program, err := b.env.Compile(b.text.alone(at), Any)
	if err != nil {
		return nil, err
	}
	function := Func(e.AsCall().FunctionName())
	if known := program.result; !known.dynamic && !function.takes().allows(known.kind) {
		argument := e.AsCall().Args()[0]
		return nil, b.errorAt(argument, fmt.Sprintf("%s() takes %s, and %s is %s", function, function.takes(), b.text.part(argument), known))
	}
	program.want = function.takes()
	return program, nil
}

// misused says how the function is used, if it has not that many arguments; else it returns "".
func (f Func) misused(arguments int) string {
	switch {
	case f == Count && arguments != 0:
		return "count() counts rows and takes no argument; write sum(has(row.x) ? 1 : 0) for the rows that have a value"
	case f == Quantile && arguments != 2:
		return "quantile() takes a value and a number from 0 to 1, such as quantile(row.x, 0.95)"
	case f != Count && f != Quantile && arguments != 1:
		return fmt.Sprintf("%s() takes one argument, such as %[1]s(row.x)", f)
	}
	return ""
}

// fractionOf returns the number of a literal from 0 to 1.
func fractionOf(e ast.Expr) (q float64, ok bool) {
	if e.Kind() != ast.LiteralKind {
		return 0, false
	}
	switch literal := e.AsLiteral().(type) {
	case types.Double:
		q, ok = float64(literal), true
	case types.Int:
		q, ok = float64(literal), true
	}
	return q, ok && q >= 0 && q <= 1
}
