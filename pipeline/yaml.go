package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a document's text. They are far above what a pipeline needs, and keep hostile text from costing time: the
// library's time for blank lines grows with their square.
const (
	maxDocumentBytes = 1 << 20
	maxBlankLines    = 100
)

// parse reads the source as YAML. It returns nil after a problem that hides what follows.
func (l *loader) parse() *node {
	text, ok := l.checkBytes(l.doc.Source)
	if !ok {
		return nil
	}
	tokens := lexer.Tokenize(text)
	if !l.checkTokens(tokens) {
		return nil
	}
	file, err := parseTokens(tokens)
	if err != nil {
		l.reportSyntax(err)
		return nil
	}
	return l.buildTree(file)
}

func (l *loader) buildTree(file *ast.File) *node {
	var bodies []ast.Node
	for _, document := range file.Docs {
		if document.Body != nil {
			bodies = append(bodies, document.Body)
		}
	}
	switch len(bodies) {
	case 0:
		l.reportAt(1, 1, "", "%s", cmp.Or(l.form, "the document is empty: it needs at least name, sources and sinks"))
		return nil
	case 1:
	default:
		l.reportToken(bodies[1].GetToken(), "", "%s", secondDocument)
		return nil
	}
	root := treeBuilder{report: l.reportToken}.node("", bodies[0])
	if root.kind != mappingNode {
		l.reportAt(root.line, root.column, "", "%s", cmp.Or(l.form, "a document is a mapping with at least the keys name, sources and sinks"))
		return nil
	}
	return root
}

// parseTokens turns a panic of the library into an error: the text comes from outside.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not readable as YAML")
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func (l *loader) reportSyntax(err error) {
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		at := syntax.GetToken()
		l.reportToken(at, "", "%s", syntaxProblem(at, syntax.GetMessage()))
		return
	}
	l.reportAt(1, 1, "", "%s", oneLine(err.Error()))
}

// syntaxProblem says what is wrong at the token, about which the library has this message.
func syntaxProblem(at *token.Token, message string) string {
	bracket := openBracket(at)
	switch {
	case bracket != nil && strings.Contains(message, closing[bracket.Type]):
		return unclosed(bracket)
	case bracket == nil && (strings.HasPrefix(at.Value, "}") || strings.HasPrefix(at.Value, "]")):
		return fmt.Sprintf("this %s closes nothing: delete it, or write the text that holds it in quotes", at.Value[:1])
	}
	return syntaxMessage(message)
}

// closing says how the library quotes the bracket that it misses behind one that is open.
var closing = map[token.Type]string{token.MappingStartType: "'}'", token.SequenceStartType: "']'"}

// openBracket returns the innermost { or [ that is open at the token, which may be the bracket itself, or nil.
func openBracket(at *token.Token) *token.Token {
	depth := 0
	for before := at; before != nil; before = before.Prev {
		switch before.Type {
		case token.MappingStartType, token.SequenceStartType:
			if depth == 0 {
				return before
			}
			depth--
		case token.MappingEndType, token.SequenceEndType:
			if before != at {
				depth++
			}
		}
	}
	return nil
}

func unclosed(bracket *token.Token) string {
	pair := strings.TrimSpace(bracket.Value) + " " + strings.Trim(closing[bracket.Type], "'")
	return fmt.Sprintf("the %s of line %d is not closed, or a text with %s or a comma in it needs quotes", pair[:1], bracket.Position.Line, pair)
}

// syntaxCures say what to do about the library's commonest messages, which begin so.
var syntaxCures = []struct{ message, cure string }{
	{"mapping value is not allowed", `write a text that holds ": " in quotes, and check the indentation`},
	{"value is not allowed", "check the indentation"},
	{"invalid header option", "write a text of several lines that has a line beginning with > or | in quotes"},
}

func syntaxMessage(text string) string {
	if strings.HasPrefix(text, "found invalid tag character") {
		return negationCure
	}
	for _, known := range syntaxCures {
		if strings.HasPrefix(text, known.message) {
			return oneLine(text) + ": " + known.cure
		}
	}
	return oneLine(text)
}

// checkBytes returns the text without byte order mark, with LF line ends and one at its end (without it, the library
// folds the last line of a folded text wrongly), and false if it is not fit to be read.
func (l *loader) checkBytes(data []byte) (string, bool) {
	if len(data) > maxDocumentBytes {
		l.reportAt(1, 1, "", "the document has %d bytes; at most %d are allowed", len(data), maxDocumentBytes)
		return "", false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	line, column, blank := 1, 1, 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if problem := refusedCharacter(r, size); problem != "" {
			l.reportAt(line, column, "", "%s", problem)
			return "", false
		}
		i, column = i+size, column+1
		if r != '\n' {
			if r != ' ' {
				blank = 0
			}
			continue
		}
		line, column, blank = line+1, 1, blank+1
		if blank > maxBlankLines+1 {
			l.reportAt(line, column, "", "more than %d blank lines in a row; delete them", maxBlankLines)
			return "", false
		}
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data, '\n')
	}
	return string(data), true
}

// refusedCharacter says why the character is not allowed in a document, or returns "".
func refusedCharacter(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return "not valid UTF-8: save the document as UTF-8"
	case r == '\t':
		return `a tab: indent with spaces, and write "\t" in double quotes for a tab in a text`
	case r == '\n':
		return ""
	case r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\ufeff' || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return fmt.Sprintf(`the invisible character %U is not allowed; in a text, write it as an escape in double quotes`, r)
	}
	return ""
}

// oneLine keeps a message of the library printable and in one line.
func oneLine(text string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, []byte(text)))
}
