package expr

import (
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"waymark/pipeline/row"
)

// checkCalls finds what CEL's type checker accepts and Waymark does not.
func (c *compilation) checkCalls() error {
	var first error
	ast.PreOrderVisit(c.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if first != nil {
			return
		}
		switch e.Kind() {
		case ast.CallKind:
			first = c.checkCall(e)
		case ast.StructKind:
			first = c.errorAt(e, "objects such as %s{…} are not part of expressions; a map is written {'key': value}", e.AsStruct().TypeName())
		}
	}))
	return first
}

func (c *compilation) checkCall(e ast.Expr) error {
	call := e.AsCall()
	switch call.FunctionName() {
	case "format":
		return c.errorAt(e, "format() is not part of expressions; join texts with +, and round decimals with round()")
	case overloads.Matches:
		return c.checkPattern(call)
	case "date":
		return c.checkLiteral(call, row.Date)
	case overloads.TypeConvertTimestamp:
		return c.checkLiteral(call, row.Timestamp)
	case "decimal":
		return c.checkLiteral(call, row.Decimal)
	}
	return nil
}

// checkPattern refuses patterns out of the data: a row could ask for a pattern that takes for ever.
func (c *compilation) checkPattern(call ast.CallExpr) error {
	pattern := call.Args()[len(call.Args())-1]
	text, ok := c.constant(pattern).(types.String)
	switch {
	case c.isUnknownParam(pattern):
		return nil
	case !ok:
		return c.errorAt(pattern, "the pattern of matches() must be a literal text or a parameter")
	}
	if control, found := controlCharacter(string(text)); found {
		return c.errorAt(pattern, "%s", controlCure(control))
	}
	if _, err := regexp.Compile(string(text)); err != nil {
		return c.errorAt(pattern, "%v", err)
	}
	return nil
}

// controlCharacter returns the first control character of a pattern that no one means, and whether there is one. Tab and the
// ends of lines and pages mean the same in a text and behind a backslash in a pattern; a backspace does not.
func controlCharacter(pattern string) (control byte, found bool) {
	for i := range len(pattern) {
		if c := pattern[i]; (c < 0x20 && (c < '\t' || c > '\r')) || c == 0x7f {
			return c, true
		}
	}
	return 0, false
}

func controlCure(control byte) string {
	if control == '\b' {
		return `the pattern holds a backspace, which '\b' is in a text: write '\\b' or r'\b' for the edge of a word`
	}
	return fmt.Sprintf(`the pattern holds the control character U+%04X: write a backslash of the pattern twice, '\\', or the text as r'…'`, control)
}

// checkLiteral reports date('yesterday') before a row is read.
func (c *compilation) checkLiteral(call ast.CallExpr, kind row.Kind) error {
	text, ok := c.constant(call.Args()[0]).(types.String)
	if !ok {
		return nil
	}
	if _, err := row.Parse(kind, string(text)); err != nil {
		return c.errorAt(call.Args()[0], "%s", refused(err).Message)
	}
	return nil
}

// constant returns the value of a literal, a parameter or date('…'), and nil for any other expression.
func (c *compilation) constant(e ast.Expr) ref.Val {
	switch {
	case e.Kind() == ast.LiteralKind:
		return e.AsLiteral()
	case isCall(e, "date"):
		if text, ok := c.constant(e.AsCall().Args()[0]).(types.String); ok {
			return parseDate(text)
		}
		return nil
	}
	if reference, ok := c.ast.ReferenceMap()[e.ID()]; ok {
		return reference.Value
	}
	return nil
}

// isUnknownParam reports whether e is a parameter whose value is not known.
func (c *compilation) isUnknownParam(e ast.Expr) bool {
	reference, ok := c.ast.ReferenceMap()[e.ID()]
	if !ok {
		return false
	}
	name, ok := strings.CutPrefix(reference.Name, paramName+".")
	value, declared := c.env.params[name]
	return ok && declared && value.IsNull()
}

func (c *compilation) errorAt(e ast.Expr, format string, args ...any) error {
	return errorAt(c.source, c.ast, e.ID(), fmt.Sprintf(format, args...))
}

// A result is what is known about the values of an expression before a row is read.
type result struct {
	kind     row.Kind
	nullable bool
	dynamic  bool // kind is JSON, and says nothing
}

var (
	unknownResult = result{kind: row.Kind(len(kindOfType))} // of a type that a row cannot hold
	dynamicResult = result{kind: row.JSON, nullable: true, dynamic: true}
)

func (r result) known() bool { return r != unknownResult }

// String returns the type as documents write it.
func (r result) String() string {
	if r.nullable && r.kind != row.Null {
		return r.kind.String() + "?"
	}
	return r.kind.String()
}

// or returns what is known about a value that is one of the two.
func (r result) or(other result) result {
	switch {
	case r.kind == row.Null:
		other.nullable = true
		return other
	case other.kind == row.Null:
		r.nullable = true
		return r
	case r.kind != other.kind || r.dynamic || other.dynamic:
		return dynamicResult
	}
	r.nullable = r.nullable || other.nullable
	return r
}

// resultOf looks through branches and fields, where more is known than CEL's type says.
func (c *compilation) resultOf(e ast.Expr) result {
	if name, ok := c.env.fieldRead(e); ok && !e.AsSelect().IsTestOnly() {
		return c.env.fieldResult(name)
	}
	if e.Kind() == ast.CallKind {
		switch args := e.AsCall().Args(); {
		case e.AsCall().FunctionName() == operators.Conditional:
			return c.resultOf(args[1]).or(c.resultOf(args[2]))
		case e.AsCall().FunctionName() == "dyn" && isNull(args[0]):
			return c.resultOf(args[0])
		}
	}
	return c.typeResult(e)
}

func (e *Env) fieldResult(name string) result {
	field, declared := e.field(name)
	if !declared || !e.hasKind(field) {
		return dynamicResult
	}
	holdsNull := field.Kind == row.JSON && e.variable != resultsName // JSON null is null
	return result{kind: field.Kind, nullable: field.Optional || holdsNull}
}

// typeResult goes by the type that CEL found. A date, timestamp or decimal that is not the result of a function may
// come out of a list of nullable fields.
func (c *compilation) typeResult(e ast.Expr) result {
	t := c.ast.GetType(e.ID())
	if t.Kind() == types.DynKind {
		return dynamicResult
	}
	kind, ok := kindOfType[t.TypeName()]
	if !ok {
		return unknownResult
	}
	r := result{kind: kind, nullable: t.IsAssignableType(types.NullType)}
	switch kind {
	case row.Date, row.Timestamp, row.Decimal:
		r.nullable = e.Kind() != ast.CallKind || e.AsCall().FunctionName() == operators.Index
	}
	return r
}

// kindOfType gives the kind of the values by the name of their CEL type.
var kindOfType = map[string]row.Kind{
	types.NullType.TypeName(): row.Null, types.BoolType.TypeName(): row.Bool, types.IntType.TypeName(): row.Int,
	types.UintType.TypeName(): row.Int, types.DoubleType.TypeName(): row.Float, types.StringType.TypeName(): row.String,
	types.TimestampType.TypeName(): row.Timestamp, dateType.TypeName(): row.Date, decimalType.TypeName(): row.Decimal,
	types.ListType.TypeName(): row.JSON, types.MapType.TypeName(): row.JSON,
}
