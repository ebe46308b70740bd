package words

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// Each of these returns a text of as many bytes and lines as the file, with blanks for all that is not prose. So an offset in
// it is one in the file, and a phrase may go over the end of a line.

// code is what prose of Markdown quotes: blocks, spans, and where links lead.
var code = regexp.MustCompile("(?ms)^ *```.*?^ *```|``[^`].*?``|`[^`\n]+`|\\]\\([^)]*\\)|^(?: {4,}|\t).*?$")

func proseOfMarkdown(text []byte) []byte {
	return code.ReplaceAllFunc(text, func(quoted []byte) []byte { return blanks(quoted) })
}

// proseOfGo keeps comments and string literals; a quote stays between one literal and the next. Tags of structs, import
// paths and commands to tools are no prose.
func proseOfGo(path string, text []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	prose := blanks(text)
	keep := func(from, to token.Pos) {
		copy(prose[files.Position(from).Offset:files.Position(to).Offset], text[files.Position(from).Offset:])
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "// ") || strings.HasPrefix(comment.Text, "/*") {
				keep(comment.Pos()+2, comment.End())
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case *ast.BasicLit:
			if node.Kind == token.STRING {
				keep(node.Pos(), node.End())
			}
		}
		return true
	})
	return prose, nil
}

// blanks has a blank for each byte that does not end a line.
func blanks(text []byte) []byte {
	blank := bytes.Repeat([]byte(" "), len(text))
	for i, b := range text {
		if b == '\n' {
			blank[i] = b
		}
	}
	return blank
}
