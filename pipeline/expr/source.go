package expr

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// CEL remembers where each node of an expression begins, or has its operator, but not where it ends. A sourceMap finds
// the text of every part as its author wrote it.
type sourceMap struct {
	text     []rune
	info     *ast.SourceInfo
	brackets []span // from each opening bracket to its closing one
}

// span is a part of the source: from, and the end after it, in characters.
type span struct{ from, end int }

func (s span) join(other span) span { return span{min(s.from, other.from), max(s.end, other.end)} }

func newSourceMap(source string, info *ast.SourceInfo) *sourceMap {
	m := &sourceMap{text: []rune(source), info: info}
	m.brackets = findBrackets(m.text)
	return m
}

// part returns the source text of e.
func (m *sourceMap) part(e ast.Expr) string {
	s := m.balanced(m.spanOf(e))
	return string(m.text[s.from:s.end])
}

// anchor is where the value of e hangs: at its operator, at the name of its function, or else where e begins.
func (m *sourceMap) anchor(e ast.Expr) int {
	call, at := e, m.offsets(e)
	if macro, ok := m.info.GetMacroCall(e.ID()); ok {
		call = macro
	}
	if call.Kind() == ast.CallKind {
		if _, isOperator := operators.FindReverse(call.AsCall().FunctionName()); isOperator {
			return at.from
		}
		if call.AsCall().IsMemberFunction() {
			name := at.from
			for name > 0 && isSpace(m.text[name-1]) {
				name--
			}
			for name > 0 && isNameRune(m.text[name-1]) {
				name--
			}
			return name
		}
	}
	return m.spanOf(e).from
}

// alone returns the source up to the end of s, with blanks for all characters before s.
func (m *sourceMap) alone(s span) string {
	blanked := slices.Clone(m.text[:s.end])
	for i, r := range blanked[:s.from] {
		if r != '\n' {
			blanked[i] = ' '
		}
	}
	return string(blanked)
}

// spanOf returns a span that begins and ends within the first and last token of e, or at a bracket that balanced closes.
func (m *sourceMap) spanOf(e ast.Expr) span {
	if macro, ok := m.info.GetMacroCall(e.ID()); ok {
		return m.callSpan(m.offsets(e), macro.AsCall())
	}
	at := m.offsets(e)
	switch e.Kind() {
	case ast.IdentKind:
		if e.AsIdent() == figuresName && at.from < len(m.text) && m.text[at.from] == '(' { // last(n), in whose place it stands
			return span{m.nameStart(at.from), at.end}
		}
		if strings.Contains(e.AsIdent(), ".") { // a parameter: the checker made one name of it, at its dot
			return span{m.nameStart(at.from), m.nameEnd(at.from + 1)}
		}
	case ast.SelectKind:
		return m.spanOf(e.AsSelect().Operand()).join(span{at.from, m.nameEnd(at.from + 1)})
	case ast.CallKind:
		return m.callSpan(at, e.AsCall())
	case ast.ListKind, ast.MapKind:
		return span{at.from, at.from + 1}
	}
	return at
}

// callSpan covers the operands of an operator; of a function, the receiver or name, and the opening parenthesis.
func (m *sourceMap) callSpan(at span, call ast.CallExpr) span {
	s := span{at.from, at.from + 1}
	if call.IsMemberFunction() {
		return m.spanOf(call.Target()).join(s)
	}
	if _, isOperator := operators.FindReverse(call.FunctionName()); !isOperator {
		return span{m.nameStart(at.from), s.end}
	}
	for _, arg := range call.Args() {
		s = s.join(m.spanOf(arg))
	}
	return s
}

func (m *sourceMap) offsets(e ast.Expr) span {
	at, _ := m.info.GetOffsetRange(e.ID())
	from := min(int(at.Start), len(m.text))
	return span{from, min(max(from, int(at.Stop)), len(m.text))}
}

// nameEnd returns the end of the field name that begins at or after i: an identifier, or one in backticks.
func (m *sourceMap) nameEnd(i int) int {
	for i < len(m.text) && isSpace(m.text[i]) {
		i++
	}
	if i < len(m.text) && m.text[i] == '`' {
		return i + 2 + strings.IndexRune(string(m.text[i+1:]), '`')
	}
	for i < len(m.text) && isNameRune(m.text[i]) {
		i++
	}
	return i
}

// nameStart returns the start of the function name before the parenthesis at i, with its name space: math.abs.
func (m *sourceMap) nameStart(i int) int {
	for i > 0 && isSpace(m.text[i-1]) {
		i--
	}
	for i > 0 && (isNameRune(m.text[i-1]) || m.text[i-1] == '.') {
		i--
	}
	return i
}

// balanced widens s until it holds both or none of each pair of brackets. As pairs nest, one pass is enough.
func (m *sourceMap) balanced(s span) span {
	for _, b := range m.brackets {
		if s.from <= b.from && b.from < s.end || s.from < b.end && b.end <= s.end {
			s = s.join(b)
		}
	}
	return s
}

// findBrackets returns the pairs of brackets outside strings and comments.
func findBrackets(text []rune) []span {
	var pairs []span
	var open []int
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '[', '{':
			open = append(open, i)
		case ')', ']', '}':
			if len(open) > 0 {
				pairs = append(pairs, span{open[len(open)-1], i + 1})
				open = open[:len(open)-1]
			}
		case '\'', '"':
			i = stringEnd(text, i) - 1
		case '`':
			i = skipTo(text, i+1, '`')
		case '/':
			if i+1 < len(text) && text[i+1] == '/' {
				i = skipTo(text, i, '\n')
			}
		}
	}
	return pairs
}

func skipTo(text []rune, i int, r rune) int {
	for i < len(text) && text[i] != r {
		i++
	}
	return i
}

// stringEnd returns the end of the string literal whose first quote is at i: 'a', "a", ”'a”', raw or not.
func stringEnd(text []rune, i int) int {
	raw := i > 0 && (text[i-1] == 'r' || text[i-1] == 'R')
	quotes := 1
	if i+2 < len(text) && text[i+1] == text[i] && text[i+2] == text[i] {
		quotes = 3
	}
	for j := i + quotes; j < len(text); j++ {
		switch {
		case text[j] == '\\' && !raw:
			j++
		case text[j] == text[i] && (quotes == 1 || j+2 < len(text) && text[j+1] == text[i] && text[j+2] == text[i]):
			return j + quotes
		}
	}
	return len(text)
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f' }

func isNameRune(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
