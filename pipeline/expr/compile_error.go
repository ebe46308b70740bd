package expr

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A CompileError says what is wrong with the source of an expression, and where.
type CompileError struct {
	Line    int // in the source, from 1
	Column  int // in characters, from 1: of the name, operator or literal that is wrong
	Message string
}

// Error returns one line with place and message.
func (e *CompileError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// errorAt returns an error at the node with this id.
func errorAt(source string, tree *ast.AST, id int64, message string) error {
	return positionIn(source, tree.SourceInfo().GetStartLocation(id)).error(message)
}

// compileError returns the first of CEL's issues in our words.
func (e *Env) compileError(source string, issues *cel.Issues) error {
	all := issues.Errors()
	first := slices.MinFunc(all, func(a, b *cel.Error) int {
		if a.Location.Line() != b.Location.Line() {
			return a.Location.Line() - b.Location.Line()
		}
		return a.Location.Column() - b.Location.Column()
	})
	at := positionIn(source, first.Location)
	return at.error(e.explainIssue(first.Message, at))
}

// A position is where CEL saw a mistake.
type position struct {
	line, column int  // line from 1, column from 0
	function     bool // at the name of a function
	raw          bool // behind the r of a raw text
}

// positionIn moves the position from the dot before a field, or the parenthesis after a function, to the name.
func positionIn(source string, at common.Location) position {
	p := position{line: max(1, at.Line()), column: max(0, at.Column())}
	lines := strings.Split(source, "\n")
	line := []rune(lines[min(p.line, len(lines))-1])
	if p.column >= len(line) {
		return p
	}
	p.raw = p.column > 0 && (line[p.column-1] == 'r' || line[p.column-1] == 'R')
	switch line[p.column] {
	case '.':
		p.column++
	case '(':
		start := p.column
		for start > 0 && isNameRune(line[start-1]) {
			start--
		}
		p.function = start < p.column
		p.column = start
	}
	return p
}

func (p position) error(message string) error {
	return &CompileError{p.line, p.column + 1, oneLine(message, maxMessageBytes)}
}

var (
	undefinedField = regexp.MustCompile(`^undefined field '(.*)'`)
	undeclaredName = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	noOverload     = regexp.MustCompile(`^found no matching overload for '([^']*)' applied to '(.*)'$`)
	unexpectedText = regexp.MustCompile(`(?s)^Syntax error: (?:token recognition error at: |[a-z ]*input )'(.*?)'(?: expecting .*)?$`)
	wrongType      = regexp.MustCompile(`^expected type '(.*)' but found '(.*)'$`)
	noFields       = regexp.MustCompile(`^type '(.*)' does not support field selection`)
	missingText    = regexp.MustCompile(`^Syntax error: missing (.*) at '.*'$`)
)

// explainIssue translates one message of CEL v0.33.1. What it does not know it passes on.
func (e *Env) explainIssue(message string, at position) string {
	if m := undefinedField.FindStringSubmatch(message); m != nil {
		return e.unknownField(m[1])
	}
	if m := undeclaredName.FindStringSubmatch(message); m != nil {
		return e.unknownName(m[1], at)
	}
	if m := noOverload.FindStringSubmatch(message); m != nil {
		return explainOverload(m[1], m[2])
	}
	if m := wrongType.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("this must be a %s, and is %s", ourTypeName(m[1]), ourTypeName(m[2]))
	}
	if m := noFields.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("%s has no fields", ourTypeName(m[1]))
	}
	if m := unexpectedText.FindStringSubmatch(message); m != nil {
		return unexpected(m[1], at)
	}
	if m := missingText.FindStringSubmatch(message); m != nil {
		return "syntax error: missing " + m[1]
	}
	switch {
	case strings.Contains(message, "recursion limit exceeded"), strings.Contains(message, "max recursion depth exceeded"):
		return fmt.Sprintf("the expression is nested deeper than %d levels: compute parts of it in steps before", maxNesting)
	case message == "invalid argument to has() macro":
		return "has() takes a field, such as has(row.x); test other values with == null"
	case message == "invalid duration argument":
		return "not a duration such as duration('1h30m')"
	}
	return message
}

// unexpected explains a syntax error at text, where CEL could not go on.
func unexpected(text string, at position) string {
	escape, needs := "", ""
	if !at.raw {
		escape, needs = unknownEscape(text)
	}
	switch {
	case text == "<EOF>":
		return "syntax error: the expression ends too early"
	case escape != "":
		return fmt.Sprintf(`syntax error: %[1]s%[2]s is no escape in a text: write %[3]c\%[1]s%[3]c or r%[3]c%[1]s%[3]c`, escape, needs, text[0])
	case strings.HasPrefix(text, "'"), strings.HasPrefix(text, `"`):
		return "syntax error: the text that begins here has no closing quote"
	case slices.Contains([]string{".in", ".true", ".false", ".null"}, text):
		return fmt.Sprintf("syntax error: %[1]s is a word of expressions: write [%[1]q] for the name", text[1:])
	case strings.TrimSpace(text) == "=":
		return "syntax error: = is not an operator; compare with =="
	}
	return "syntax error: unexpected " + strconv.Quote(text)
}

// explainOverload says which types an operator or function does not take together, and the cure of the usual cases.
func explainOverload(function, arguments string) string {
	given := splitTypes(arguments)
	symbol, isOperator := operators.FindReverse(function)
	switch {
	case function == operators.Conditional:
		return fmt.Sprintf("condition ? a : b needs a bool and two values of one type, found %s", strings.Join(given, ", "))
	case function == operators.Index:
		return fmt.Sprintf("[…] does not work on %s", strings.Join(given, " with "))
	case !isOperator || symbol == "":
		name := cmp.Or(extremeNames[function], function)
		return fmt.Sprintf("%s() does not take (%s)%s", name, strings.Join(given, ", "), floatCure(function, given))
	case len(given) == 1:
		return fmt.Sprintf("%s does not take %s", symbol, given[0])
	}
	return fmt.Sprintf("%s does not take %s and %s%s", symbol, given[0], given[1], operandCure(symbol, given[0], given[1]))
}

// floatFunctions take no decimals.
var floatFunctions = []string{"exp", "log", "pow", "math.sqrt"}

// floatCure says how a decimal gets into a function of floats.
func floatCure(function string, given []string) string {
	isDecimal := func(kind string) bool { return strings.TrimSuffix(kind, "?") == "decimal" }
	if !slices.Contains(floatFunctions, function) || !slices.ContainsFunc(given, isDecimal) {
		return ""
	}
	return ": convert the decimal with double(…)"
}

// operandCure says how to bring two operands of the operator together.
func operandCure(symbol, left, right string) string {
	a, b := strings.TrimSuffix(left, "?"), strings.TrimSuffix(right, "?")
	pair := func(x, y string) bool { return a == x && b == y || a == y && b == x }
	isTime := func(kind string) bool { return kind == "date" || kind == "timestamp" }
	switch {
	case symbol == "/" && (pair("decimal", "decimal") || pair("decimal", "int") || pair("decimal", "double")):
		return ": convert both with double(…)"
	case symbol == "%" && (pair("decimal", "decimal") || pair("decimal", "int") || pair("decimal", "double")):
		return ": convert both with int(…)"
	case symbol == "+" && isTime(a) && isTime(b):
		return ": add days to a date, as in date + 1, and a duration such as duration('1h') to a timestamp"
	case symbol == "+" && pair("date", "duration"):
		return ": add days, as in date + 1, or convert the date with timestamp(…)"
	case pair("int", "double"):
		return ": convert the int with double(…)"
	case pair("int", "string"):
		return ": write the number without quotes, or convert with int(…) or string(…)"
	case pair("decimal", "int"), pair("decimal", "double"), pair("decimal", "string"):
		return ": convert with decimal(…)"
	case pair("date", "string"):
		return ": write date('2001-01-31')"
	case pair("timestamp", "string"):
		return ": write timestamp('2001-01-31T12:00:00Z')"
	case pair("date", "timestamp"):
		return ": convert with date(…) or timestamp(…)"
	case a == "null" || b == "null":
		return ": only optional fields can be null"
	}
	return ""
}

// splitTypes splits CEL's "(int, map(string, dyn))" into our names of the types.
func splitTypes(list string) []string {
	receiver, rest, isMember := strings.Cut(list, ".(")
	if isMember {
		list = "(" + receiver + ", " + rest
	}
	list = strings.TrimSuffix(strings.TrimPrefix(list, "("), ")")
	var parts []string
	depth, start := 0, 0
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			parts, start = append(parts, list[start:i]), i+1
		}
	}
	parts = append(parts, list[start:])
	for i, part := range parts {
		parts[i] = ourTypeName(strings.TrimSpace(part))
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// typeName returns the name of the type in messages.
func typeName(t *types.Type) string { return ourTypeName(cel.FormatCELType(t)) }

var wrapper = regexp.MustCompile(`wrapper\(([a-z]+)\)`)

// ourTypeName writes wrapper(int) as int?, as documents do.
func ourTypeName(celName string) string {
	celName = wrapper.ReplaceAllString(celName, "$1?")
	return strings.ReplaceAll(strings.ReplaceAll(celName, "google.protobuf.Timestamp", "timestamp"), "google.protobuf.Duration", "duration")
}
