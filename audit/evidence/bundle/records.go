package bundle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync"

	"waymark/landscape"
	"waymark/landscape/sweep"
)

// records are the tables of a bundle, for a landscape.Reader: their lines are in a file without a name, and where each is in memory.
type records struct {
	file   *os.File // nil before the first line
	out    *bufio.Writer
	size   int64
	texts  map[string]*io.SectionReader // of all tables, by name
	tables map[string]*landscape.Table
	lines  map[string][]recordLine // by table, in the order of their keys

	mu     sync.Mutex
	sorted map[string][]recordLine // by table and other columns that are a key, in their order; made when somebody asks so
}

type recordLine struct {
	key    []any
	offset int64
	bytes  int
}

// newRecords returns no records. Close them.
func newRecords() *records {
	r := &records{sorted: map[string][]recordLine{}, texts: map[string]*io.SectionReader{}, tables: map[string]*landscape.Table{}, lines: map[string][]recordLine{}}
	for _, t := range tables() {
		r.tables[t.Name] = t
	}
	return r
}

// open makes the file.
func (r *records) open() (err error) {
	if r.file != nil {
		return nil
	}
	if r.file, err = os.CreateTemp("", "waymark-bundle-*"); err != nil {
		return err
	}
	r.out = bufio.NewWriterSize(r.file, 1<<18)
	return os.Remove(r.file.Name())
}

// Close removes the file.
func (r *records) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// add keeps the lines of a table, each with its end. each is called with all of them.
func (r *records) add(name string, from io.Reader, each func(line []byte)) error {
	if err := r.open(); err != nil {
		return err
	}
	begin, lines := r.size, wholeLines(from)
	for lines.Scan() {
		each(lines.Bytes())
		_, _ = r.out.Write(lines.Bytes()) // index says what went wrong
		_ = r.out.WriteByte('\n')
		r.size += int64(len(lines.Bytes())) + 1
	}
	r.texts[name] = io.NewSectionReader(r.file, begin, r.size-begin)
	return lines.Err()
}

func wholeLines(from io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 1<<12), maxText)
	lines.Split(wholeLine)
	return lines
}

// index makes the tables that were added ready to be read. It requires that each line is in the one form that there is, and that its key comes after the
// one before.
func (r *records) index() error {
	if r.out == nil {
		return nil
	}
	if err := r.out.Flush(); err != nil {
		return err
	}
	for _, t := range tables() {
		if text := r.texts[t.Name]; text != nil {
			if err := r.indexTable(t, text); err != nil {
				return fmt.Errorf("%s%s%s: line %d: %w", recordFolder, t.Name, recordSuffix, len(r.lines[t.Name])+1, err)
			}
		}
	}
	return nil
}

func (r *records) indexTable(t *landscape.Table, text *io.SectionReader) error {
	_, at, _ := text.Outer()
	lines := wholeLines(text)
	for lines.Scan() {
		record, err := t.ParseLine(lines.Bytes())
		if err == nil {
			err = r.place(t, record, recordLine{nil, at, len(lines.Bytes())})
		}
		if err != nil {
			return err
		}
		at += int64(len(lines.Bytes())) + 1
	}
	return lines.Err()
}

// place notes where the line of the next record of a table is.
func (r *records) place(t *landscape.Table, record landscape.Record, line recordLine) error {
	line.key = t.AppendValues(nil, record)[:t.Keys]
	lines := r.lines[t.Name]
	if n := len(lines); n > 0 && landscape.CompareKeys(lines[n-1].key, line.key) >= 0 {
		return errors.New("its key does not come after the one before")
	}
	r.lines[t.Name] = append(lines, line)
	return nil
}

// Read does what landscape.Driver says.
func (r *records) Read(_ context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	whole, asked := r.tables[kind.Table()], landscape.TableOf(kind)
	if whole == nil {
		return fmt.Errorf("a bundle has no table %s", kind.Table())
	}
	all, err := r.by(whole, asked)
	if err != nil {
		return err
	}
	lines := between(all, q)
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

// by returns the lines of a table in the order of a kind's key.
func (r *records) by(whole, asked *landscape.Table) ([]recordLine, error) {
	if slices.EqualFunc(whole.Columns[:whole.Keys], asked.Columns[:asked.Keys], sameColumn) {
		return r.lines[whole.Name], nil
	}
	name := whole.Name
	for _, c := range asked.Columns[:asked.Keys] {
		name += " " + c.Name
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if lines, known := r.sorted[name]; known {
		return lines, nil
	}
	lines := make([]recordLine, 0, len(r.lines[whole.Name]))
	for _, line := range r.lines[whole.Name] {
		record, err := r.at(line, whole, asked)
		if err != nil {
			return nil, err
		}
		lines = append(lines, recordLine{asked.AppendValues(nil, record)[:asked.Keys], line.offset, line.bytes})
	}
	slices.SortFunc(lines, func(a, b recordLine) int { return landscape.CompareKeys(a.key, b.key) })
	r.sorted[name] = lines
	return lines, nil
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

// Sweep counts every token from its records, if it is deep. What else a driver counts was counted when the run ended, and the run's seal binds these counts.
func (r *records) Sweep(ctx context.Context, run string, deep bool) ([]landscape.Finding, error) {
	if !deep {
		return nil, nil
	}
	return sweep.Packed(ctx, r, run, nil)
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
