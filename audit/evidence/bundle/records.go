package bundle

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"waymark/landscape"
)

// records are the tables of a bundle, for a landscape.Reader: their lines are in a file without a name, and where each is in memory.
type records struct {
	file   *os.File
	size   int64
	tables map[string]*landscape.Table
	lines  map[string][]recordLine // by table, in the order of their keys
}

type recordLine struct {
	key    []any
	offset int64
	bytes  int
}

// newRecords returns no records. Close them.
func newRecords() (*records, error) {
	file, err := os.CreateTemp("", "waymark-bundle-*")
	if err == nil {
		err = os.Remove(file.Name())
	}
	r := &records{file: file, tables: map[string]*landscape.Table{}, lines: map[string][]recordLine{}}
	for _, t := range tables() {
		r.tables[t.Name] = t
	}
	return r, err
}

// Close removes the file.
func (r *records) Close() error { return r.file.Close() }

// add takes the lines of a table: each has its end, the one form that there is, and a key after that of the line before. each is called with all
// of them up to the first that is wrong.
func (r *records) add(name string, from io.Reader, each func(line []byte)) error {
	t, ok := r.tables[name]
	if !ok {
		return errors.New("the landscape has no such table")
	}
	in := bufio.NewScanner(from)
	in.Buffer(make([]byte, 0, 1<<16), maxText)
	in.Split(wholeLine)
	out := bufio.NewWriterSize(io.NewOffsetWriter(r.file, r.size), 1<<18)
	for in.Scan() {
		record, err := t.ParseLine(in.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", len(r.lines[name])+1, err)
		}
		if err := r.place(t, record, len(in.Bytes())); err != nil {
			return err
		}
		each(in.Bytes())
		if _, err := out.Write(in.Bytes()); err != nil {
			return err
		}
	}
	return cmp.Or(in.Err(), out.Flush())
}

// place notes where the line of the next record of a table is.
func (r *records) place(t *landscape.Table, record landscape.Record, size int) error {
	lines := r.lines[t.Name]
	key := t.AppendValues(nil, record)[:t.Keys]
	if n := len(lines); n > 0 && landscape.CompareKeys(lines[n-1].key, key) >= 0 {
		return fmt.Errorf("line %d: its key does not come after the one before", n+1)
	}
	r.lines[t.Name] = append(lines, recordLine{key, r.size, size})
	r.size += int64(size)
	return nil
}

// Read does what landscape.Driver says, of kinds that have the key of their table.
func (r *records) Read(_ context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	whole, asked := r.tables[kind.Table()], landscape.TableOf(kind)
	if whole == nil || !slices.EqualFunc(whole.Columns[:whole.Keys], asked.Columns[:asked.Keys], sameColumn) {
		return fmt.Errorf("a bundle has no table %s with the key of a %T", kind.Table(), kind)
	}
	lines := between(r.lines[kind.Table()], q)
	if q.Descending {
		lines = slices.Clone(lines)
		slices.Reverse(lines)
	}
	for i, line := range lines {
		record, err := r.at(line, whole, asked)
		if err != nil || !yield(record) || i+1 == q.Limit {
			return err
		}
	}
	return nil
}

func sameColumn(a, b landscape.Column) bool { return a.Name == b.Name }

// at returns the record of a line, with the columns that are asked for.
func (r *records) at(line recordLine, whole, asked *landscape.Table) (landscape.Record, error) {
	text := make([]byte, line.bytes)
	if _, err := r.file.ReadAt(text, line.offset); err != nil {
		return nil, err
	}
	record, err := whole.ParseLine(text)
	if err != nil || whole == asked {
		return record, err
	}
	all := whole.AppendValues(nil, record)
	values := make([]any, len(asked.Columns))
	for i, column := range asked.Columns {
		values[i] = all[slices.IndexFunc(whole.Columns, func(c landscape.Column) bool { return c.Name == column.Name })]
	}
	return asked.Record(values)
}

// errFixed says that nothing can be recorded in a bundle.
var errFixed = errors.New("a bundle is not changed")

// Commit does nothing.
func (r *records) Commit(context.Context, landscape.Tx) error { return errFixed }

// Claim does nothing.
func (r *records) Claim(context.Context, landscape.Claims) (map[landscape.Token]landscape.Token, error) {
	return nil, errFixed
}

// Sweep does nothing.
func (r *records) Sweep(context.Context, string, bool) ([]landscape.Finding, error) {
	return nil, errFixed
}

// between returns the lines that a query selects by their keys.
func between(lines []recordLine, q landscape.Query) []recordLine {
	first := func(l recordLine) int { return landscape.CompareKeys(l.key[:len(q.Prefix)], q.Prefix) }
	from := sort.Search(len(lines), func(i int) bool { return first(lines[i]) >= 0 })
	to := sort.Search(len(lines), func(i int) bool { return first(lines[i]) > 0 })
	lines = lines[from:to]
	if q.After == nil {
		return lines
	}
	rest := func(l recordLine) int { return landscape.CompareKeys(l.key[len(q.Prefix):][:len(q.After)], q.After) }
	if q.Descending {
		return lines[:sort.Search(len(lines), func(i int) bool { return rest(lines[i]) >= 0 })]
	}
	return lines[sort.Search(len(lines), func(i int) bool { return rest(lines[i]) > 0 }):]
}
