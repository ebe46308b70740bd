package lookup

import (
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
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

func newTableBuilder(s source, spec pipeline.Lookup) *tableBuilder {
	b := &tableBuilder{path: s.Path(), index: map[string][]row.Value{}, lines: map[string]int64{}}
	for _, on := range spec.On {
		b.keys = append(b.keys, tableColumn{name: on.Value, declared: declared(s, on.Value)})
	}
	for _, add := range spec.Add {
		b.adds = append(b.adds, tableColumn{name: add.Value, declared: declared(s, add.Value)})
	}
	return b
}

// tableChunk is how much of a table is read at once.
var tableChunk = plugin.Limits{Rows: 1 << 14, Bytes: 1 << 20}

// declared returns the declared field with this name, or nil.
func declared(s source, name string) *pipeline.Field {
	fields, _ := s.Fields()
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i].Value
		}
	}
	return nil
}

// read takes all rows of the file with this content.
func (b *tableBuilder) read(s source, content []byte) error {
	var parser plugin.Parser
	return s.Chunks(content, tableChunk, func(c *plugin.Chunk, behind int64) (err error) {
		if parser == nil {
			if parser, err = s.Parser(c.Context); err != nil {
				return err
			}
		}
		if behind > maxTableBytes {
			return tooLarge(b.path)
		}
		return b.chunk(parser, c)
	})
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
	b.form = plugin.AppendTableKey(b.form[:0], b.key)
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

// keyText returns the key of the row at hand for people.
func (b *tableBuilder) keyText() string {
	var text []byte
	for i, value := range b.key {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = row.AppendText(text, value)
	}
	return file.Excerpt(string(text))
}

// table returns the table of the rows that were taken.
func (b *tableBuilder) table(spec pipeline.Lookup, content []byte) (*plugin.Table, error) {
	if err := b.checkSeen(); err != nil {
		return nil, err
	}
	var on []string
	var keys, fields []plugin.TableField
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
	return plugin.NewTable(b.path, content, b.rows, on, keys, fields, b.index), nil
}

// checkSeen fails if no row has a field that the lookup uses.
func (b *tableBuilder) checkSeen() error {
	var unseen []string
	for _, column := range slices.Concat(b.keys, b.adds) {
		if b.rows > 0 && !column.seen {
			unseen = append(unseen, column.name)
		}
	}
	if unseen == nil {
		return nil
	}
	return fmt.Errorf("%s: no row has the fields that on and add name: %s", b.path, file.Listed(unseen))
}
