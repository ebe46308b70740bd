package expr

import (
	"slices"

	"cel.dev/cel-go/common/ast"

	"waymark/pipeline/row"
)

// cell builds row.NAME, whose value is taken as it is: CEL would read and write a JSON value once more.
func (c directCompiler) cell(e ast.Expr) direct {
	name, ok := c.env.fieldRead(e)
	if !ok || e.AsSelect().IsTestOnly() {
		return nil
	}
	i, known := slices.Index(c.fields, name), c.env.fieldResult(name)
	return func(cells cells) (row.Value, bool) {
		value, ok := cells.at(i)
		return value, ok && isPlain(value) && (known.dynamic || value.IsNull() || value.Kind() == known.kind)
	}
}

// isPlain reports whether the value is the result of an expression as it is. A JSON scalar may be null, or be one of
// another kind where the kind is not declared; a text may be too long.
func isPlain(value row.Value) bool {
	text := value.Text()
	if value.Kind() == row.JSON && text[0] != '{' && text[0] != '[' {
		return false
	}
	return len(text) <= maxResultBytes
}
