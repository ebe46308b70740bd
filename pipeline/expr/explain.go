package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"waymark/pipeline/row"
)

// A Part is one sub-expression and what it was for one row.
type Part struct {
	Source string // as it stands in the document
	Value  string // in the form of a literal, cut to maxShownBytes; "" if there is an error
	Error  string // why there is no value; else ""
	Depth  int    // 0 for the whole expression, 1 for its operands, and so on
	At     int    // where its value hangs: at its operator, the name of its function or its beginning, in characters of the whole expression from 0
}

const (
	maxShownBytes = 200 // of a value that Explain shows
	maxShownDepth = 50  // of a part that Explain shows: each has a program of its own
)

// Explain evaluates the expression for r and returns its sub-expressions with their values: outermost first, in the
// order of the source. Literals are left out, and so are operands that decided nothing, because && or || was decided
// before them or because ?: took the other branch. The first part is the whole expression; none is deeper than
// maxShownDepth.
func (p *Program) Explain(r row.Row) []Part {
	s := newScope(p.fields, cells{r.Values, p.positions(r.Shape)})
	defer s.release()
	var parts []Part
	p.parts().visit(s, 0, func(shown Part) { parts = append(parts, shown) })
	return parts
}

// A part is a sub-expression with a program of its own.
type part struct {
	source   string
	at       int    // as Part.At
	function string // of a call, as in package operators
	program  cel.Program
	operands []*part  // in the order of evaluation; nil for one that is not shown
	sources  []string // of the operands
	types    []*types.Type
}

// parts builds the tree of sub-expressions.
func (c *compilation) parts() *part {
	return c.part(c.ast.Expr(), newSourceMap(c.source, c.ast.SourceInfo()), 0)
}

// part builds the tree of e.
func (c *compilation) part(e ast.Expr, sources *sourceMap, depth int) *part {
	checked := ast.NewCheckedAST(ast.NewAST(e, c.ast.SourceInfo()), c.ast.TypeMap(), c.ast.ReferenceMap())
	program, err := c.plan(checked, guardedOptions...)
	if err != nil {
		return nil // cannot be: it was planned as a part of the whole expression
	}
	p := &part{source: sources.part(e), at: sources.anchor(e), program: program}
	if e.Kind() == ast.CallKind {
		p.function = e.AsCall().FunctionName()
	}
	for _, operand := range operandsOf(e) {
		var child *part
		if !isConstant(operand) && depth < maxShownDepth {
			child = c.part(operand, sources, depth+1)
		}
		p.operands = append(p.operands, child)
		p.sources, p.types = append(p.sources, sources.part(operand)), append(p.types, c.ast.GetType(operand.ID()))
	}
	return p
}

// isConstant reports whether e is a literal. The null in a branch of ?: is one, see rewrite.
func isConstant(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind || isCall(e, "dyn") && isNull(e.AsCall().Args()[0])
}

// operandsOf returns the operands of e in the order of evaluation. Inside a loop there is no one value to show; the list
// that is looped over has one. A path into JSON is shown as a whole.
func operandsOf(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		switch {
		case call.IsMemberFunction():
			return append([]ast.Expr{call.Target()}, call.Args()...)
		case call.FunctionName() == operators.Index:
			return call.Args()[1:]
		}
		return call.Args()
	case ast.ComprehensionKind:
		return []ast.Expr{e.AsComprehension().IterRange()}
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var values []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			values = append(values, entry.AsMapEntry().Value())
		}
		return values
	}
	return nil
}

func (p *part) eval(s *scope) ref.Val {
	value, _, err := p.program.Eval(s)
	if err != nil {
		return types.WrapErr(err)
	}
	return value
}

// visit shows p and, below it, the operands that mattered. It returns the value of p.
func (p *part) visit(s *scope, depth int, show func(Part)) ref.Val {
	value := p.eval(s)
	show(p.shown(value, s, depth))
	p.eachOperand(func(operand *part) ref.Val { return operand.visit(s, depth+1, show) })
	return value
}

// eachOperand calls evaluate for the operands, as far as CEL evaluates them.
func (p *part) eachOperand(evaluate func(*part) ref.Val) {
	for i, operand := range p.operands {
		if operand == nil {
			continue
		}
		value := evaluate(operand)
		switch {
		case p.function == operators.LogicalAnd && value == types.False, p.function == operators.LogicalOr && value == types.True:
			return
		case p.function == operators.Conditional && i == 0:
			p.branch(value, evaluate)
			return
		}
	}
}

// branch calls evaluate for the branch of ?: that the condition chose.
func (p *part) branch(condition ref.Val, evaluate func(*part) ref.Val) {
	for i, chooses := range []types.Bool{types.True, types.False} {
		if operand := p.operands[i+1]; operand != nil && condition == chooses {
			evaluate(operand)
		}
	}
}

// nullOperand returns the source of the first operand that is null, or "".
func (p *part) nullOperand(s *scope) string {
	for _, operand := range p.operands {
		if operand != nil && operand.eval(s) == types.NullValue {
			return operand.source
		}
	}
	return ""
}

// misfit says which kinds of values an operator of numbers got, and how to bring them together; "" of another
// function, or if that is not known.
func (p *part) misfit(s *scope) (kinds, cure string) {
	if !slices.Contains(numeric, p.function) {
		return "", ""
	}
	of := make([]string, len(p.operands))
	for i := range of {
		if of[i] = p.kindOf(i, s); of[i] == "" {
			return "", ""
		}
	}
	if p.function == operators.Divide && slices.Contains(of, row.Decimal.String()) {
		return strings.Join(of, " and "), fmt.Sprintf(": write double(%s) / double(%s)", p.sources[0], p.sources[1])
	}
	for i, kind := range of {
		to := map[string]string{"float decimal": "decimal", "int float": "double"}[kind+" "+of[len(of)-1-i]]
		switch {
		case kind == "string" && p.operands[i] != nil:
			cure = fmt.Sprintf(": write int(%[1]s) or decimal(%[1]s), or declare the field with its type", p.sources[i])
		case to != "":
			cure = fmt.Sprintf(": write %s(%s)", to, p.sources[i])
		}
	}
	return strings.Join(of, " and "), cure
}

// kindOf returns the kind of an operand, in the words of documents; "" if it has no value.
func (p *part) kindOf(i int, s *scope) string {
	if p.operands[i] == nil {
		return strings.Replace(typeName(p.types[i]), "double", "float", 1)
	}
	switch value := p.operands[i].eval(s).(type) {
	case *types.Err:
		return ""
	case traits.Lister:
		return "list"
	case traits.Mapper:
		return "object"
	default:
		v, err := valueOf(value)
		if err != nil {
			return typeName(value.Type().(*types.Type))
		}
		return v.Kind().String()
	}
}

// numeric are the operators whose operands are more often numbers than not.
var numeric = []string{
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
}

// failure returns the innermost part of p that has an error although its operands have none: p itself at the latest.
func (p *part) failure(s *scope) *part {
	failed := p
	p.eachOperand(func(operand *part) ref.Val {
		value := operand.eval(s)
		if failed == p && errorOf(value) != nil {
			failed = operand.failure(s)
		}
		return value
	})
	return failed
}

func (p *part) shown(value ref.Val, s *scope, depth int) Part {
	if err := errorOf(value); err != nil {
		return Part{Source: p.source, Error: p.describe(err, s).Error(), Depth: depth, At: p.at}
	}
	return Part{Source: p.source, Value: shownValue(value), Depth: depth, At: p.at}
}

// shownValue returns value as it might stand in an expression, or about so if it is long.
func shownValue(value ref.Val) string {
	v, err := valueOf(value)
	switch {
	case err != nil:
		if text, ok := value.ConvertToType(types.StringType).(types.String); ok {
			return oneLine(string(text), maxShownBytes)
		}
		return value.Type().TypeName()
	case v.IsNull():
		return "null"
	case v.Kind() == row.String:
		return quoted(v.Text())
	}
	return oneLine(string(row.AppendText(nil, v)), maxShownBytes)
}

func quoted(text string) string {
	if len(text) <= maxShownBytes {
		return strconv.Quote(text)
	}
	end := maxShownBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(text[:end]) + "…"
}
