package expr

import (
	"regexp"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// decorator returns what replaces, while a program is planned: the operators on dates and decimals by their meaning;
// the functions whose work or result can explode, before CEL counts the cost, by ones that look first; conversions of
// literals by their value. It is called once for each node, operands first.
func (c *compilation) decorator(checked *ast.AST) interpreter.InterpretableDecoratorV2 {
	byValue := c.comparesNumbers(checked.Expr())
	return func(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := node.(interpreter.InterpretableCall)
		if !ok {
			return node, nil
		}
		if byValue[call.ID()] {
			return equality(call), nil
		}
		return decorate(call)
	}
}

func decorate(call interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	if o, ok := operatorByID[call.OverloadID()]; ok {
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), o.guarded), nil
	}
	if ours, ok := operatorsOf[call.Function()]; ok && call.OverloadID() == "" {
		return interpreter.NewCall(call.ID(), call.Function(), "", call.Args(), byKinds(call.Function(), ours)), nil
	}
	if _, ok := extremeNames[call.Function()]; ok {
		by := extreme(call.Function())
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), by), nil
	}
	switch call.Function() {
	case overloads.Matches:
		return boundedMatches(call)
	case "replace":
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), boundedReplace), nil
	case "join":
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), boundedJoin), nil
	case overloads.TypeConvertTimestamp:
		return foldConversion(interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(),
			toTimestamp))
	case "date", "decimal":
		return foldConversion(call)
	}
	return call, nil
}

// foldConversion evaluates date('2001-01-31') once, and not for every row.
func foldConversion(call interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	if _, ok := call.Args()[0].(interpreter.InterpretableConst); !ok {
		return call, nil
	}
	value := call.Eval(interpreter.EmptyActivation())
	if err := errorOf(value); err != nil {
		return nil, err
	}
	return interpreter.NewConstValue(call.ID(), value), nil
}

// maxRegexSteps bounds bytes of text × instructions of the pattern, which RE2 may need: about a quarter of a second.
const maxRegexSteps = 32 << 20

// boundedMatches compiles the pattern, which is a constant (see checkPattern), once. The call has no function name any
// more, as CEL would put its own matching in place of one named matches; its cost goes by the overload.
func boundedMatches(call interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	pattern, ok := call.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return call, nil
	}
	compiled, err := regexp.Compile(string(pattern.Value().(types.String)))
	if err != nil {
		return nil, err
	}
	size, err := types.RegexProgramSize(compiled.String())
	if err != nil {
		return nil, err
	}
	match := func(v ...ref.Val) ref.Val {
		text, ok := v[0].(types.String)
		switch {
		case !ok:
			return types.MaybeNoSuchOverloadErr(v[0])
		case len(text)*size > maxRegexSteps:
			return types.WrapErr(evalErrorf(CodeCost, "matching %d bytes against this pattern takes too long", len(text)))
		}
		return types.Bool(compiled.MatchString(string(text)))
	}
	return interpreter.NewCall(call.ID(), "", overloads.MatchesString, call.Args(), match), nil
}

// boundedReplace is text.replace(old, new) and text.replace(old, new, limit).
func boundedReplace(v ...ref.Val) ref.Val {
	text, ok1 := v[0].(types.String)
	old, ok2 := v[1].(types.String)
	replacement, ok3 := v[2].(types.String)
	limit := types.Int(-1)
	ok4 := true
	if len(v) == 4 {
		limit, ok4 = v[3].(types.Int)
	}
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return types.NewErr("no such overload: replace")
	}
	count := types.Int(strings.Count(string(text), string(old)))
	if limit >= 0 {
		count = min(count, limit)
	}
	if len(text)+int(count)*(len(replacement)-len(old)) > maxResultBytes {
		return types.WrapErr(resultTooLarge())
	}
	return types.String(strings.Replace(string(text), string(old), string(replacement), int(count)))
}

// boundedJoin is list.join() and list.join(separator).
func boundedJoin(v ...ref.Val) ref.Val {
	list, ok := v[0].(traits.Lister)
	separator := types.String("")
	if ok && len(v) == 2 {
		separator, ok = v[1].(types.String)
	}
	if !ok {
		return types.NewErr("no such overload: join")
	}
	var b strings.Builder
	for it, first := list.Iterator(), true; it.HasNext() == types.True; first = false {
		item, ok := it.Next().(types.String)
		if !ok {
			return types.NewErr("no such overload: join of a list whose items are not all strings")
		}
		if !first {
			b.WriteString(string(separator))
		}
		b.WriteString(string(item))
		if b.Len() > maxResultBytes {
			return types.WrapErr(resultTooLarge())
		}
	}
	return types.String(b.String())
}
