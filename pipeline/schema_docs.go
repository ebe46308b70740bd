package pipeline

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// documentSource is the file whose comments are the descriptions of the keys, so that editors and readers of the code see
// the same words.
//
//go:embed document.go
var documentSource string

// fieldDocs returns the comments of the struct fields of document.go by type and field: Chunk.Rows.
func fieldDocs() (map[string]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "document.go", documentSource, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	docs := map[string]string{}
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
	return docs, nil
}

func addDocs(docs map[string]string, owner string, structure *ast.StructType) {
	for _, field := range structure.Fields.List {
		for _, name := range field.Names {
			docs[owner+"."+name.Name] = strings.TrimSpace(field.Comment.Text())
		}
	}
}
