package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/postgres/fit"
)

// exact are the rows of a part of which the table keeps every value. Postgres rounds or cuts the values of others without
// saying so.
type exact struct {
	data    []byte
	numbers []int64 // of each row in the part; nil if they are all
	refused []plugin.RejectedRow
}

// exact looks for values that the table would change.
func (t *target) exact(ctx context.Context, q querier, h *header, data []byte) (exact, error) {
	names := h.names()
	keeps, err := t.keeps(ctx, q, h)
	if err != nil || keeps == nil {
		return exact{data: data}, err
	}
	e := exact{data: data}
	number, at := int64(0), 0
	for line := range bytes.Lines(data) {
		column := changed(line, keeps)
		if column >= 0 && e.refused == nil { // from here on the rows are others than those of data
			e.data = slices.Clone(data[:at])
			for kept := range number {
				e.numbers = append(e.numbers, kept)
			}
		}
		switch {
		case column >= 0:
			e.refused = append(e.refused, plugin.RejectedRow{Row: number, Rejection: plugin.Rejection{
				Code: codeSinkInexact, Field: names[column], Message: "the column would round or cut the value: do so in a step, or give it another type",
			}})
		case e.refused != nil:
			e.data, e.numbers = append(e.data, line...), append(e.numbers, number)
		}
		number, at = number+1, at+len(line)
	}
	return e, nil
}

// keeps returns what the columns keep, nil for each that keeps every value; and nil if all do.
func (t *target) keeps(ctx context.Context, q querier, h *header) (keeps []fit.Column, err error) {
	names := h.names()
	rows, err := q.Query(ctx, `
		with recursive c (name, type, modifier, many) as (
			select attname::text, atttypid, atttypmod, false from pg_attribute
			where attrelid = $1::regclass and attname::text = any($2::text[]) and attnum > 0 and not attisdropped
			union all
			select c.name, coalesce(e.oid, d.typbasetype), case when e.oid is null then d.typtypmod else c.modifier end, c.many or e.oid is not null
			from c join pg_type d on d.oid = c.type left join pg_type e on e.typarray = d.oid
			where d.typtype = 'd' or e.oid is not null
		)
		select name, type, modifier, many from c`, quotedTable(t.table), names)
	if err != nil {
		return nil, err
	}
	var name string
	var oid uint32
	var modifier int32
	var many bool
	_, err = pgx.ForEachRow(rows, []any{&name, &oid, &modifier, &many}, func() error {
		at := slices.Index(names, name)
		kind, _ := row.ParseKind(h.Columns[at].Type) // or any
		column := fit.Of(oid, modifier, kind)
		if column != nil && many {
			column = fit.Elements(column)
		}
		if column != nil && keeps == nil {
			keeps = make([]fit.Column, len(names))
		}
		if column != nil {
			keeps[at] = column
		}
		return nil
	})
	return keeps, err
}

// changed returns the first column that would change its value in a line of the encoder, or -1.
func changed(line []byte, keeps []fit.Column) int {
	at := 0
	for cell := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\t'}) {
		if keep := keeps[at]; keep != nil {
			if text := unescaped(string(cell)); text != nil && !keep(*text) {
				return at
			}
		}
		at++
	}
	return -1
}

// all returns the rejected rows of the part: those of the rows that were written, and those that were not.
func (e exact) all(rejected []plugin.RejectedRow) []plugin.RejectedRow {
	if len(e.refused) == 0 {
		return rejected
	}
	for i := range rejected {
		rejected[i].Row = e.numbers[rejected[i].Row]
	}
	both := append(rejected, e.refused...)
	slices.SortFunc(both, func(a, b plugin.RejectedRow) int { return cmp.Compare(a.Row, b.Row) })
	return both
}
