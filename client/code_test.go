package client

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCodes holds docs/codes.md against the codes, and the codes against the errors that have them, each with the kind that the page says.
func TestCodes(t *testing.T) {
	page, err := os.ReadFile("../docs/codes.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## Errors of requests")
	require.True(t, found)
	listed := map[string]string{}
	for _, line := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| `([a-z_]+)` \\| ").FindAllStringSubmatch(table, -1) {
		listed[line[1]] = line[2]
	}
	names := constants(t, "code.go")
	kinds := constants(t, "error.go")
	require.Len(t, listed, len(names))
	produced := producers(t)
	for name, code := range names {
		require.Contains(t, listed, code, "docs/codes.md lists every code")
		require.NotEmpty(t, produced[name], "no error has code %s", code)
		for kind := range produced[name] {
			if kind != "" {
				require.Equal(t, listed[code], kinds[kind], "%s", code)
			}
		}
	}
}

// constants returns the texts of a file's constants, by their names.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				found[spec.Names[0].Name] = strings.Trim(text.Value, `"`)
			}
		}
		return true
	})
	return found
}

// producers returns the names of the kinds with which each code is used in an Error; "" if it is used otherwise.
func producers(t *testing.T) map[string]map[string]bool {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.go", "local/*.go", "remote/*.go", "../cmd/waymark/*.go"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	found := map[string]map[string]bool{}
	use := func(code, kind string) {
		if found[code] == nil {
			found[code] = map[string]bool{}
		}
		found[code][kind] = true
	}
	for _, file := range files {
		if file == "code.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				fields := map[string]string{}
				for _, element := range n.Elts {
					if field, ok := element.(*ast.KeyValueExpr); ok {
						fields[fmt.Sprint(field.Key)] = lastName(field.Value)
					}
				}
				if fields["Code"] != "" {
					use(fields["Code"], fields["Kind"])
				}
			case *ast.Ident:
				use(n.Name, "")
			}
			return true
		})
	}
	return found
}

// lastName is the name of an identifier, without its package.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
