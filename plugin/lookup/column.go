package lookup

import (
	"fmt"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// tableColumn is a field of the table that the lookup uses, and what is known of its values.
type tableColumn struct {
	name     string
	declared *pipeline.Field // nil: the schema does not declare it
	seen     bool            // a row has it
	kind     row.Kind        // of the first value; Null before it
	line     int64           // of the first value
}

// value returns the row's value of the column, null if it has none. It fails if the values are not all of one kind.
func (c *tableColumn) value(r row.Row, line int64) (row.Value, error) {
	value, has := r.Get(c.name)
	c.seen = c.seen || has
	switch {
	case value.IsNull():
	case c.kind == row.Null:
		c.kind, c.line = value.Kind(), line
	case c.kind != value.Kind():
		return row.Value{}, fmt.Errorf("the field %s is of type %s here and %s in line %d: declare it in the schema", file.Excerpt(c.name), value.Kind(), c.kind, c.line)
	}
	return value, nil
}

// field returns what is known of the column, under the name.
func (c *tableColumn) field(name string) plugin.TableField {
	switch {
	case c.declared != nil:
		return plugin.TableField{Name: name, Kind: c.declared.Kind(), Optional: c.declared.Optional}
	case c.kind == row.Null:
		return plugin.TableField{Name: name, Kind: row.String, Optional: true}
	default:
		return plugin.TableField{Name: name, Kind: c.kind, Optional: true}
	}
}

// noKey says why the row has no value for the field of the key.
func noKey(r row.Row, name string) error {
	if _, has := r.Get(name); has {
		return fmt.Errorf("the field %s of the key is null: give it a value, or delete the row", file.Excerpt(name))
	}
	cure := ""
	if nearest := pipeline.Nearest(name, r.Shape.Fields()); nearest != "" {
		cure = fmt.Sprintf(" (did you mean %s?)", file.Excerpt(nearest))
	}
	return fmt.Errorf("the row has no field %s, which is in the key%s", file.Excerpt(name), cure)
}
