package expr

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"waymark/pipeline/row"
)

// The codes of EvalError. They are the reasons that landscapes store for a refused record; never rename one.
const (
	CodeNoSuchKey      = "NO_SUCH_KEY"      // the row or a JSON object has no such field, or a list no such index
	CodeNullOperand    = "NULL_OPERAND"     // an operator or function got null
	CodeNoSuchOverload = "NO_SUCH_OVERLOAD" // an operator or function got values of kinds it does not take
	CodeDivisionByZero = "DIVISION_BY_ZERO" // an int was divided by zero
	CodeOverflow       = "OVERFLOW"         // a number, date or time left its range
	CodeCost           = "COST"             // the evaluation passed the cost limit
	CodeResultType     = "RESULT_TYPE"      // the result is of a kind that is not wanted here, or that a row cannot hold
	CodeResultSize     = "RESULT_SIZE"      // a text, list or map grew beyond the size of a cell
	CodeEval           = "EVAL"             // anything else, such as a text that is not a date
)

// An EvalError says why an expression has no value for a row.
type EvalError struct {
	Code    string // one of the Code constants
	Message string // one line without control characters; may quote data of the row
}

// Error returns one line with reason and code.
func (e *EvalError) Error() string { return e.Message + " (" + e.Code + ")" }

// maxMessageBytes is how long a message may be, as CEL and the row's data choose some of its words.
const maxMessageBytes = 400

func evalErrorf(code, format string, args ...any) *EvalError {
	return &EvalError{Code: code, Message: oneLine(fmt.Sprintf(format, args...), maxMessageBytes)}
}

// describe returns err, the error of an evaluation of p, as an *EvalError. If values did not suit an operator or
// function, it says where, and if one was null, which.
func (p *part) describe(err error, s *scope) *EvalError {
	e := classify(err)
	if e.Code != CodeNoSuchOverload && e.Code != CodeEval {
		return e
	}
	failed := p.failure(s)
	if operand := failed.nullOperand(s); strings.HasPrefix(operand, lastName+"(") {
		return evalErrorf(CodeNullOperand, "%s is null, because there were fewer runs; test it with == null first", operand)
	} else if operand != "" {
		return evalErrorf(CodeNullOperand, "%s is null; test it with has(…) or == null first", operand)
	}
	what, cure := strings.Replace(e.Message, someOperator, operationName(failed.function), 1), ""
	if e.Code == CodeNoSuchOverload {
		var kinds string
		if kinds, cure = failed.misfit(s); kinds != "" {
			what = fmt.Sprintf("%s got %s", operationName(failed.function), kinds)
		}
	}
	return evalErrorf(e.Code, "%s, in %s%s", what, failed.source, cure)
}

// classify gives an error of CEL its code. CEL has few error types: most errors are told by their fixed words.
func classify(err error) *EvalError {
	if own, ok := errors.AsType[*EvalError](err); ok {
		return own
	}
	if cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err); ok && cancelled.Cause == interpreter.CostLimitExceeded {
		return evalErrorf(CodeCost, "the evaluation passed the cost limit of %d", maxCost)
	}
	text := err.Error()
	if m := wrongOperands.FindStringSubmatch(text); m != nil {
		return evalErrorf(CodeNoSuchOverload, "%s got values of kinds that it does not take", operationName(m[1]))
	}
	if m := conversion.FindStringSubmatch(text); m != nil {
		return evalErrorf(CodeEval, "this %s does not convert to %s", m[1], m[2])
	}
	if _, key, found := strings.Cut(text, noSuchKey+": "); found {
		return evalErrorf(CodeNoSuchKey, "%s: %.64q", noSuchKey, key) // which may be a value of the row
	}
	for _, known := range knownErrors {
		if strings.Contains(text, known.words) {
			return evalErrorf(known.code, "%s", text)
		}
	}
	return evalErrorf(CodeEval, "%s", text)
}

const noSuchKey = "no such key"

// knownErrors are the words of CEL's errors. Source: cel-go v0.33.1, common/types/err.go and interpreter/attributes.go.
var knownErrors = []struct{ words, code string }{
	{noSuchKey, CodeNoSuchKey},
	{"no such attribute", CodeNoSuchKey},
	{"index out of", CodeNoSuchKey},
	{"expected iterable type", CodeNoSuchOverload},
	{"division by zero", CodeDivisionByZero},
	{"modulus by zero", CodeDivisionByZero},
	{"overflow", CodeOverflow},
}

var (
	wrongOperands = regexp.MustCompile(`^no such overload:? ?([^( ]*)`)
	conversion    = regexp.MustCompile(`^type conversion error from '(.*)' to '(.*)'$`)
)

// someOperator stands for an operator that CEL does not name.
const someOperator = "an operator"

// operationName returns the symbol or name by which people know CEL's function.
func operationName(function string) string {
	if name, ok := extremeNames[function]; ok {
		return name + "()"
	}
	switch symbol, ok := operators.FindReverse(function); {
	case ok && symbol != "":
		return symbol
	case isWord(function) && function != "":
		return function + "()"
	}
	return someOperator
}

// refused returns the error of a conversion by package row as an *EvalError.
func refused(err error) *EvalError {
	refusal, ok := errors.AsType[*row.ConvertError](err)
	if !ok {
		return evalErrorf(CodeEval, "%v", err)
	}
	code := CodeEval
	if refusal.Code == row.CodeNumberRange || refusal.Code == row.CodeTimeRange {
		code = CodeOverflow
	}
	return evalErrorf(code, "%q is not a valid %s: %s", refusal.Text, refusal.Want, refusal.Hint)
}

// errorOf returns the error that v stands for, or nil.
func errorOf(v ref.Val) error {
	if e, ok := v.(*types.Err); ok {
		return e
	}
	return nil
}

// oneLine returns text with its control characters escaped, cut to about limit bytes.
func oneLine(text string, limit int) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= limit {
			b.WriteString("…")
			break
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
