package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// orderedGroup is a group of columns in the order in which they are given. The library's own groups sort them.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

// Fields returns the columns in order.
func (g *orderedGroup) Fields() []parquet.Field { return g.fields }

// GoType is of no use here: rows are written as values.
func (g *orderedGroup) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

// namedField is a column of a group.
type namedField struct {
	parquet.Node
	name string
}

// Name returns the column's name.
func (f *namedField) Name() string { return f.name }

// Value is of no use here: rows are written as values.
func (f *namedField) Value(base reflect.Value) reflect.Value { return base }
