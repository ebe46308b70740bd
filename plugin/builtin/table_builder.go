package builtin

import (
	"context"
	"fmt"
	"io"
	"slices"

	"waymark/expr"
	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// tableBuilder makes a table of the rows of a file.
type tableBuilder struct {
	path  string
	keys  []tableColumn
	adds  []tableColumn
	index map[string][]row.Value
	lines map[string]int64 // key → line of its row
	rows  int64

	key  []row.Value // of the row at hand
	form []byte      // what it is in index
}

// tableColumn is a field of the table that the lookup uses, and what is known of its values.
type tableColumn struct {
	name     string
	declared *field   // nil: the schema does not declare it
	seen     bool     // a row has it
	kind     row.Kind // of the first value; Null before it
	line     int64    // of the first value
}

func newTableBuilder(source filesSource, spec pipeline.Lookup) *tableBuilder {
	s := source.base()
	b := &tableBuilder{path: s.files.Path, index: map[string][]row.Value{}, lines: map[string]int64{}}
	for _, on := range spec.On {
		b.keys = append(b.keys, tableColumn{name: on.Value, declared: s.schema.named(on.Value)})
	}
	for _, add := range spec.Add {
		b.adds = append(b.adds, tableColumn{name: add.Value, declared: s.schema.named(add.Value)})
	}
	return b
}

// tableChunk is how much of a table is read at once.
var tableChunk = plugin.Limits{Rows: 1 << 14, Bytes: 1 << 20}

// read takes all rows of the file with this content.
func (b *tableBuilder) read(source filesSource, content []byte) error {
	s, ctx := source.base(), context.Background() // what is in memory is read at once
	r := &reader{source: s, pin: plugin.SourceInfo{Files: []plugin.FileInfo{{Path: b.path}}}, splitter: splitter{dialect: s.format.dialect}}
	r.splitter.emptyRecords = s.format.emptyRecords
	r.text = s.textOf(b.path, content)
	defer r.text.release()
	if err := r.prologue(ctx, &plugin.Chunk{}); err != nil {
		return err
	}
	parser, err := source.Parser(r.context)
	if err != nil {
		return err
	}
	var chunk plugin.Chunk
	for err != io.EOF {
		chunk.Reset()
		chunk.FirstLine = r.at.Line + 1
		if err = r.fill(ctx, tableChunk, &chunk); err != nil && err != io.EOF {
			return err
		}
		if r.at.Offset > maxTableBytes {
			return tooLarge(b.path)
		}
		if err := b.chunk(parser, &chunk); err != nil {
			return err
		}
	}
	return nil
}

func (b *tableBuilder) chunk(parser plugin.Parser, c *plugin.Chunk) error {
	if len(c.Bad) > 0 {
		return b.errorIn(c.Line(c.Bad[0].Index), &c.Bad[0].Rejection)
	}
	var values []row.Value
	for i := range c.Len() {
		r, err := parser.Parse(string(c.Record(i)), values)
		if err == nil {
			err = b.take(r, c.Line(i))
		}
		if err != nil {
			return b.errorIn(c.Line(i), err)
		}
		values = r.Values
	}
	return nil
}

// errorIn says in which line the error is.
func (b *tableBuilder) errorIn(line int64, err error) error {
	return fmt.Errorf("%s:%d: %w", b.path, line, err)
}

// take takes one row, whose values it keeps.
func (b *tableBuilder) take(r row.Row, line int64) error {
	if b.rows++; b.rows > maxTableRows {
		return fmt.Errorf("a table has at most %d rows: keep only those that the lookup needs", maxTableRows)
	}
	b.key = b.key[:0]
	for i := range b.keys {
		value, err := b.keys[i].value(r, line)
		if err != nil {
			return err
		}
		if value.IsNull() {
			return noKey(r, b.keys[i].name)
		}
		b.key = append(b.key, value)
	}
	b.form = plan.AppendTableKey(b.form[:0], b.key)
	if first, twice := b.lines[string(b.form)]; twice {
		return fmt.Errorf("has the key of line %d, %s: delete one of the rows", first, b.keyText())
	}
	added := make([]row.Value, len(b.adds))
	for i := range b.adds {
		var err error
		if added[i], err = b.adds[i].value(r, line); err != nil {
			return err
		}
	}
	b.lines[string(b.form)], b.index[string(b.form)] = line, added
	return nil
}

// noKey says why the row has no value for the field of the key.
func noKey(r row.Row, name string) error {
	if _, has := r.Get(name); has {
		return fmt.Errorf("the field %s of the key is null: give it a value, or delete the row", excerpt(name))
	}
	cure := ""
	if nearest := pipeline.Nearest(name, r.Shape.Fields()); nearest != "" {
		cure = fmt.Sprintf(" (did you mean %s?)", excerpt(nearest))
	}
	return fmt.Errorf("the row has no field %s, which is in the key%s", excerpt(name), cure)
}

// keyText returns the key of the row at hand for people.
func (b *tableBuilder) keyText() string {
	var text []byte
	for i, value := range b.key {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = row.AppendText(text, value)
	}
	return excerpt(string(text))
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
		return row.Value{}, fmt.Errorf("the field %s is of type %s here and %s in line %d: declare it in the schema", excerpt(c.name), value.Kind(), c.kind, c.line)
	}
	return value, nil
}

// field returns what is known of the column, under the name.
func (c *tableColumn) field(name string) expr.Field {
	switch {
	case c.declared != nil:
		return expr.Field{Name: name, Kind: c.declared.kind, Optional: c.declared.optional}
	case c.kind == row.Null:
		return expr.Field{Name: name, Kind: row.String, Optional: true}
	default:
		return expr.Field{Name: name, Kind: c.kind, Optional: true}
	}
}

// table returns the table of the rows that were taken.
func (b *tableBuilder) table(spec pipeline.Lookup, content []byte) (*plan.Table, error) {
	if err := b.refuseUnseen(); err != nil {
		return nil, err
	}
	var on []string
	var keys, fields []expr.Field
	for i := range b.keys {
		key := b.keys[i].field(b.keys[i].name)
		key.Optional = false
		on, keys = append(on, spec.On[i].Name), append(keys, key)
	}
	for i := range b.adds {
		field := b.adds[i].field(spec.Add[i].Name)
		field.Optional = field.Optional || spec.Missing != "refuse"
		fields = append(fields, field)
	}
	return plan.NewTable(b.path, content, b.rows, on, keys, fields, b.index), nil
}

// refuseUnseen fails if no row has a field that the lookup uses.
func (b *tableBuilder) refuseUnseen() error {
	var unseen []string
	for _, column := range slices.Concat(b.keys, b.adds) {
		if b.rows > 0 && !column.seen {
			unseen = append(unseen, column.name)
		}
	}
	if unseen == nil {
		return nil
	}
	return fmt.Errorf("%s: no row has the fields that on and add name: %s", b.path, listed(unseen))
}
