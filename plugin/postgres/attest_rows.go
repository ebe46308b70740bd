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

// look returns what became of each row.
func (a *attestation) look(ctx context.Context, rows rowBlock) ([]plugin.State, error) {
	if rows.count == 0 {
		return nil, nil
	}
	look := a.lookByKey
	if a.key == nil {
		look = a.lookWhole
	}
	var states []plugin.State
	err := a.within(ctx, func(pgx.Tx) (err error) {
		states, err = look(ctx, rows)
		return err
	})
	if state, is := errors.AsType[*pgconn.PgError](err); is && strings.HasPrefix(state.Code, dataException) {
		err = errOtherType
	}
	return states, err
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

func (a *attestation) lookByKey(ctx context.Context, rows rowBlock) ([]plugin.State, error) {
	var on, same []string
	for i, column := range a.columns {
		if slices.Contains(a.key, column.name) {
			on = append(on, fmt.Sprintf("t.%s = %s", quoted(column.name), a.cast(i)))
		}
		same = append(same, fmt.Sprintf("t.%s::text is not distinct from %s::text", quoted(column.name), a.cast(i)))
	}
	sql := fmt.Sprintf("select v.n, case when t.tableoid is null then 'missing' when %s then 'equal' else 'changed' end from %s left join %s t on %s order by v.n",
		strings.Join(same, " and "), a.unnested(), quotedTable(a.table), strings.Join(on, " and "))
	states := make([]plugin.State, rows.count)
	found, err := a.tx.Query(ctx, sql, rows.args()...)
	if err != nil {
		return nil, err
	}
	var n int64
	var state string
	_, err = pgx.ForEachRow(found, []any{&n, &state}, func() error {
		states[n-1] = plugin.State(state)
		return nil
	})
	return states, err
}

// lookWhole looks for rows with all the values. Of equal rows the last ones are those that are missing.
func (a *attestation) lookWhole(ctx context.Context, rows rowBlock) ([]plugin.State, error) {
	var there, wanted []string
	for i, column := range a.columns {
		there, wanted = append(there, fmt.Sprintf("t.%s::text", quoted(column.name))), append(wanted, a.cast(i)+"::text")
	}
	sql := fmt.Sprintf(`
		with w as (select n, row(%s)::text as r, row_number() over (partition by row(%[1]s)::text order by n) as nth from %s),
			h as (select row(%s)::text as r, count(*) as has from %s t where row(%[3]s)::text in (select r from w) group by 1)
		select w.n from w left join h using (r) where w.nth > coalesce(h.has, 0)`,
		strings.Join(wanted, ", "), a.unnested(), strings.Join(there, ", "), quotedTable(a.table))
	states := make([]plugin.State, rows.count)
	for i := range states {
		states[i] = plugin.AsWritten
	}
	found, err := a.tx.Query(ctx, sql, rows.args()...)
	if err != nil {
		return nil, err
	}
	var n int64
	_, err = pgx.ForEachRow(found, []any{&n}, func() error {
		states[n-1] = plugin.Missing
		return nil
	})
	return states, err
}

// rowBlock is the rows of a part, as columns of texts.
type rowBlock struct {
	count   int
	columns [][]*string // nil for null
}

// newRowBlock reads the lines that the encoder wrote, without those that were refused.
func newRowBlock(data []byte, columns int, refused map[int]bool) rowBlock {
	b := rowBlock{columns: make([][]*string, columns)}
	number := 0
	for line := range bytes.Lines(data) {
		if !refused[number] {
			b.count++
			for i, cell := range strings.Split(strings.TrimSuffix(string(line), "\n"), "\t") {
				b.columns[i] = append(b.columns[i], unescaped(cell))
			}
		}
		number++
	}
	return b
}

func (b rowBlock) args() []any {
	args := make([]any, len(b.columns))
	for i, column := range b.columns {
		args[i] = column
	}
	return args
}

// keyOf returns the values of a row in the columns at these places, as one text.
func (b rowBlock) keyOf(row int, at []int) string {
	var key []byte
	for _, i := range at {
		if value := b.columns[i][row]; value != nil {
			key = appendEscaped(key, *value)
		}
		key = append(key, '\t')
	}
	return string(key)
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
