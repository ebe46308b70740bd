package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/plugin"
)

// dataException begins the codes of errors about values, whose messages have these.
const dataException = "22"

var errOtherType = errors.New("a column of the table has another type: it does not take what was written")

// looked is what became of a row.
type looked struct {
	plugin.State
	key string // equal for rows with equal keys, as far as the table has the row; empty in a table without a key
}

// look returns what became of each row.
func (a *attestation) look(ctx context.Context, rows rowBlock) (found []looked, err error) {
	if rows.count == 0 {
		return nil, nil
	}
	look := a.lookByKey
	if a.key == nil {
		look = a.lookWhole
	}
	err = a.within(ctx, func(pgx.Tx) (err error) {
		found, err = look(ctx, rows)
		return err
	})
	return found, ofType(err)
}

// ofType returns errOtherType for an error about a value.
func ofType(err error) error {
	if state, is := errors.AsType[*pgconn.PgError](err); is && strings.HasPrefix(state.Code, dataException) {
		return errOtherType
	}
	return err
}

// unnested is the rows of a block as a table v, whose columns are texts c0, c1, … and the number n.
func (a *attestation) unnested() string {
	var arrays, names []string
	for i := range a.columns {
		arrays, names = append(arrays, fmt.Sprintf("$%d::text[]", i+1)), append(names, fmt.Sprintf("c%d", i))
	}
	return fmt.Sprintf("unnest(%s) with ordinality as v(%s, n)", strings.Join(arrays, ", "), strings.Join(names, ", "))
}

// cast is the value of a column of v in the type of the table's.
func (a *attestation) cast(i int) string { return fmt.Sprintf("v.c%d::%s", i, a.columns[i].kind) }

// keyed returns the rows of a block as v, each beside the row t of the table that has an equal key, and the text of the
// key: as the table has it, because values that the database takes as equal, such as 5 and 5.00, can have several texts.
func (a *attestation) keyed() (from, key string) {
	var on, theirs, ours []string
	for _, name := range a.key {
		i := slices.IndexFunc(a.columns, func(column typedColumn) bool { return column.name == name })
		on = append(on, fmt.Sprintf("t.%s = %s", quoted(name), a.cast(i)))
		theirs, ours = append(theirs, "t."+quoted(name)), append(ours, a.cast(i))
	}
	from = fmt.Sprintf("%s left join %s t on %s", a.unnested(), quotedTable(a.table), strings.Join(on, " and "))
	const text = "case when t.tableoid is null then row(%s)::text else row(%s)::text end"
	return from, fmt.Sprintf(text, strings.Join(ours, ", "), strings.Join(theirs, ", "))
}

func (a *attestation) lookByKey(ctx context.Context, rows rowBlock) ([]looked, error) {
	from, key := a.keyed()
	const states = "case when t.tableoid is null then 'missing' when %s = %s then 'equal' else 'changed' end"
	sql := fmt.Sprintf("select v.n, "+states+", %s from %s order by v.n", exactly(a.stored()), exactly(a.wanted()),
		key, from)
	all := make([]looked, rows.count)
	found, err := a.tx.Query(ctx, sql, rows.args()...)
	if err != nil {
		return nil, err
	}
	var n int64
	var state, text string
	_, err = pgx.ForEachRow(found, []any{&n, &state, &text}, func() error {
		all[n-1] = looked{plugin.State(state), text}
		return nil
	})
	return all, err
}

// lookWhole looks for rows with all the values. Of equal rows the last ones are those that are missing.
func (a *attestation) lookWhole(ctx context.Context, rows rowBlock) ([]looked, error) {
	sql := fmt.Sprintf(`
		with w as (select n, %s as r, row_number() over (partition by %[1]s order by n) as nth from %s),
			h as (select %s as r, count(*) as has from %s t where %[3]s in (select r from w) group by 1)
		select w.n from w left join h using (r) where w.nth > coalesce(h.has, 0)`,
		exactly(a.wanted()), a.unnested(), exactly(a.stored()), quotedTable(a.table))
	all := make([]looked, rows.count)
	for i := range all {
		all[i].State = plugin.AsWritten
	}
	found, err := a.tx.Query(ctx, sql, rows.args()...)
	if err != nil {
		return nil, err
	}
	var n int64
	_, err = pgx.ForEachRow(found, []any{&n}, func() error {
		all[n-1].State = plugin.Missing
		return nil
	})
	return all, err
}

// rowBlock is the rows of a part, as columns of texts, without those that were refused.
type rowBlock struct {
	count   int
	columns [][]*string // nil for null
	places  []int64     // of the rows among those that were not refused, from 1
	omitted []omitted   // rows that are not known
}

// omitted is a row of a part that is not known.
type omitted struct {
	plugin.Omission
	place int64 // as those of a rowBlock
}

// newRowBlock reads the lines that the encoder wrote, as they were loaded.
func newRowBlock(part plugin.Part, rows plugin.PartRows, columns []typedColumn, refused map[int]bool) rowBlock {
	b, rest, place := rowBlock{columns: make([][]*string, len(columns))}, rows.Data, int64(0)
	for number := range int(part.Rows) {
		var line []byte
		omission, isOmitted := rows.Without[number]
		if !isOmitted {
			line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		}
		if refused[number] {
			continue
		}
		place++
		if isOmitted {
			b.omitted = append(b.omitted, omitted{omission, place})
			continue
		}
		b.add(place, line, columns)
	}
	return b
}

// add adds a row from the line that the encoder wrote, without its end.
func (b *rowBlock) add(place int64, line []byte, columns []typedColumn) {
	b.count++
	b.places = append(b.places, place)
	for i, cell := range strings.Split(string(line), "\t") {
		value := unescaped(cell)
		if of := columns[i].array; of != nil && value != nil {
			*value = of.literal(*value)
		}
		b.columns[i] = append(b.columns[i], value)
	}
}

// only returns the rows with these indexes.
func (b rowBlock) only(rows []int) rowBlock {
	some := rowBlock{count: len(rows), columns: make([][]*string, len(b.columns))}
	for _, i := range rows {
		some.places = append(some.places, b.places[i])
		for c := range b.columns {
			some.columns[c] = append(some.columns[c], b.columns[c][i])
		}
	}
	return some
}

func (b rowBlock) args() []any {
	args := make([]any, len(b.columns))
	for i, column := range b.columns {
		args[i] = column
	}
	return args
}

// unescaped reads a text as COPY does; nil is null.
func unescaped(cell string) *string {
	if cell == `\N` {
		return nil
	}
	if strings.IndexByte(cell, '\\') < 0 {
		return &cell
	}
	var text []byte
	for i := 0; i < len(cell); i++ {
		if cell[i] != '\\' || i+1 == len(cell) {
			text = append(text, cell[i])
			continue
		}
		i++
		plain := slices.Index(escapes[:], cell[i])
		text = append(text, byte(plain))
	}
	whole := string(text)
	return &whole
}
