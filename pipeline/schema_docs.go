package pipeline

import (
	"embed"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// documentSource are the files whose comments are the descriptions of the keys, so that editors and readers of the code see
// the same words.
//
//go:embed document*.go
var documentSource embed.FS

// fieldDocs returns the comments of the struct fields of the document's files by type and field: Chunk.Rows.
func fieldDocs() (map[string]string, error) {
	files, err := documentSource.ReadDir(".")
	if err != nil {
		return nil, err
	}
	docs := map[string]string{}
	for _, file := range files {
		source, err := documentSource.ReadFile(file.Name())
		if err != nil {
			return nil, err
		}
		if err := addFile(docs, file.Name(), source); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func addFile(docs map[string]string, name string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if structure, ok := spec.Type.(*ast.StructType); ok {
			addDocs(docs, spec.Name.Name, structure)
		}
		return false
	})
	return nil
}

func addDocs(docs map[string]string, owner string, structure *ast.StructType) {
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			text := field.Comment.Text()
			if text == "" { // it is too long for the line of the field
				text = field.Doc.Text()
			}
			docs[owner+"."+name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}
