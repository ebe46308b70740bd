package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a document. They are far above what a pipeline needs, and keep hostile text from costing time or memory:
// the library recurses once for each level, and some of its costs are the square of the tokens or of blank lines.
const (
	maxDocumentBytes = 1 << 20
	maxDepth         = 64
	maxTokens        = 50_000
	maxKeyBytes      = 1024
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
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		l.reportAt(1, 1, "", "the document is empty: it needs at least name, sources and sinks")
		return nil
	}
	root := treeBuilder{report: l.reportToken}.node("", file.Docs[0].Body)
	if root.kind != mappingNode {
		l.reportAt(root.line, root.column, "", "a document is a mapping with at least the keys name, sources and sinks")
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
		l.reportToken(syntax.GetToken(), "", "%s", oneLine(syntax.GetMessage()))
		return
	}
	l.reportAt(1, 1, "", "%s", oneLine(err.Error()))
}

func (l *loader) reportToken(at *token.Token, path, format string, args ...any) {
	l.reportAt(at.Position.Line, at.Position.Column, path, format, args...)
}

func (l *loader) reportAt(line, column int, path, format string, args ...any) {
	if len(l.problems) >= maxProblems {
		l.dropped++
		return
	}
	problem := Problem{File: l.doc.File, Line: max(line, 1), Column: max(column, 1), Path: path}
	problem.Message = fmt.Sprintf(format, args...)
	l.problems = append(l.problems, problem)
}

// checkBytes returns the text without byte order mark and with LF line ends, and false if it is not fit to be read.
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

// checkTokens refuses what the document must not have and what the parser would not survive.
func (l *loader) checkTokens(tokens token.Tokens) bool {
	before := len(l.problems)
	if len(tokens) > maxTokens {
		l.reportToken(tokens[maxTokens], "", "the document has more than %d words and signs", maxTokens)
		return false
	}
	var depth depthMeter
	for i, at := range tokens {
		if problem := refusedToken(tokens, i); problem != "" {
			l.reportToken(at, "", "%s", problem)
		}
		if depth.enter(tokens, i) > maxDepth {
			l.reportToken(at, "", "nested deeper than %d levels", maxDepth)
			break
		}
		if at.Type == token.InvalidType {
			break
		}
	}
	return len(l.problems) == before
}

func refusedToken(tokens token.Tokens, i int) string {
	at := tokens[i]
	switch at.Type {
	case token.InvalidType:
		return oneLine(at.Error)
	case token.AnchorType, token.AliasType:
		return "anchors (&) and aliases (*) are not allowed: write the value out, or in quotes if it is a text"
	case token.MergeKeyType:
		return "merge keys (<<) are not allowed: write the keys out"
	case token.TagType:
		return fmt.Sprintf("the tag %q is not allowed: write the value without it, and a text in quotes", at.Value)
	case token.DirectiveType:
		return "directives (%) are not allowed: delete the line"
	case token.MappingKeyType:
		return `keys are written without "?"`
	case token.DocumentHeaderType:
		if i > 0 && tokens[i-1].Type != token.CommentType {
			return "a second document begins here: one file holds one pipeline"
		}
	}
	return ""
}

// depthMeter follows how deep the tokens are nested: brackets exactly, blocks by their columns.
type depthMeter struct {
	brackets int
	columns  []int // of the open blocks, ascending
}

// enter returns the depth at token i. Only dashes and keys open a block; whatever the library says about the column of
// another token does not count.
func (d *depthMeter) enter(tokens token.Tokens, i int) int {
	at := tokens[i]
	switch at.Type {
	case token.MappingStartType, token.SequenceStartType:
		d.brackets++
	case token.MappingEndType, token.SequenceEndType:
		d.brackets = max(d.brackets-1, 0)
	default:
		isKey := i+1 < len(tokens) && tokens[i+1].Type == token.MappingValueType
		if d.brackets == 0 && (isKey || at.Type == token.SequenceEntryType) {
			d.enterColumn(at.Position.Column)
		}
	}
	return d.brackets + len(d.columns)
}

func (d *depthMeter) enterColumn(column int) {
	for len(d.columns) > 0 && d.columns[len(d.columns)-1] >= column {
		d.columns = d.columns[:len(d.columns)-1]
	}
	d.columns = append(d.columns, column)
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
