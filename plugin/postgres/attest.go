package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"waymark/pipeline"
	"waymark/plugin"
)

var _ plugin.Attester = (*target)(nil)

// Attest compares the rows of the table with those that the run wrote, within one snapshot, and the run's entries with its parts. Rows are found by the key of an
// upsert, or by another unique key whose columns are all written; else all their columns together are compared.
func (t *target) Attest(ctx context.Context, w plugin.Written) (plugin.Condition, error) {
	found, err := t.attest(ctx, w)
	if err != nil {
		return plugin.Condition{}, t.classify("compare the table with what was written", err)
	}
	return found, nil
}

func (t *target) attest(ctx context.Context, w plugin.Written) (plugin.Condition, error) {
	pool, err := t.database.pool()
	if err != nil {
		return plugin.Condition{}, err
	}
	tx, err := pool.BeginTx(ctx, pinned("isolation level repeatable read read only"))
	if err != nil {
		return plugin.Condition{}, err
	}
	defer func() {
		ctx, cancel := farewell()
		defer cancel()
		_ = tx.Rollback(ctx) // nothing was written
	}()
	a := newAttestation(t, tx, w)
	if err := a.entries(ctx); err != nil {
		return a.found, err
	}
	return a.found, a.rows(ctx)
}

// attestation compares a table with what a run wrote there.
type attestation struct {
	*target
	tx      pgx.Tx
	written plugin.Written
	header  *header
	columns []typedColumn
	kinds   map[string]string // types of the columns of the table, by name
	arrays  map[string]arrayType
	key     []string // that tells rows apart; nil if none does
	found   plugin.Condition

	differ map[string]difference // rows that are not as they were written, by key
	keys   map[string]bool       // of all rows that were looked at, if the table replaces rows
	whole  bool                  // all rows were looked at

	entered bool // the entries are as the run left them

	partly      map[string]string // runs that wrote other columns of a row since, by the keys of rows that differ
	unclear     string            // a later run of which it is not known whether it replaced rows
	erasedSince int64             // rows of later runs that were deleted by order: some may have replaced rows before
}

func newAttestation(t *target, tx pgx.Tx, w plugin.Written) *attestation {
	return &attestation{target: t, tx: tx, written: w, found: plugin.Condition{Unit: plugin.Rows}, differ: map[string]difference{}, keys: map[string]bool{}, partly: map[string]string{}}
}

type difference struct {
	plugin.Finding
	part plugin.Part
}

// typedColumn is a column that is written, with the type that it has in the table.
type typedColumn struct {
	name, kind string
	array      *arrayType // nil: it has none
}

// entries compares what is recorded beside the table with the parts. If it is as it was, it counts for nothing: it is not a row.
func (a *attestation) entries(ctx context.Context) error {
	state := plugin.Finding{State: plugin.AsWritten}
	err := a.within(ctx, func(tx pgx.Tx) error {
		found, err := a.compare(ctx, tx, a.written.Header, a.written.Parts, "")
		if err == nil && found.state != outputPublished {
			err = a.fault(codeTargetChanged, "%s says that the output is %s, and not published", outputsTable, found.state)
		}
		return err
	})
	fault, is := errors.AsType[*plugin.TargetError](err)
	switch {
	case is && fault.Code == codeTargetChanged:
		state = plugin.Finding{State: plugin.Changed, Why: fault.Message}
	case tableMissing(err):
		state = plugin.Finding{State: plugin.Missing, Why: "there is no " + outputsTable + " or " + partsTable}
	case err != nil:
		return err
	}
	if a.entered = state.State == plugin.AsWritten; !a.entered {
		a.found.Add(1, state)
	}
	return nil
}

// within does something after which the transaction can be used also if it failed.
func (a *attestation) within(ctx context.Context, do func(pgx.Tx) error) error {
	inner, err := a.tx.Begin(ctx)
	if err != nil {
		return err
	}
	if err := do(inner); err != nil {
		return errors.Join(err, inner.Rollback(ctx))
	}
	return inner.Commit(ctx)
}

// rows compares the rows of all parts that are looked at.
func (a *attestation) rows(ctx context.Context) (err error) {
	if a.header, err = parseHeader(a.written.Header); err != nil {
		return a.fault(codeTargetRefused, "%v", err)
	}
	missing, err := a.shape(ctx)
	if err != nil {
		return err
	}
	if missing == "" && a.key == nil && !slices.ContainsFunc(a.written.Parts, func(part plugin.Part) bool { return !a.written.Look(part) }) {
		return a.wholeTable(ctx)
	}
	a.whole = true
	for _, part := range a.written.Parts {
		switch {
		case !a.written.Look(part):
			a.whole = false
		case missing != "":
			a.found.Add(a.written.Holds(part), plugin.Finding{State: plugin.Missing, Part: &part.Ordinal, Why: missing})
		default:
			err = a.part(ctx, part)
		}
		if err != nil {
			return err
		}
	}
	if missing != "" {
		return nil
	}
	if err := a.replaced(ctx); err != nil {
		return err
	}
	a.settle()
	return a.others(ctx)
}

// shape finds out the types of the columns, and what tells rows apart. missing says that the table, or a column, is not there.
func (a *attestation) shape(ctx context.Context) (missing string, err error) {
	kind, err := a.find(ctx, a.tx)
	if err != nil || kind == "" {
		return "there is no table " + a.table.String(), err
	}
	rows, err := a.tx.Query(ctx, `select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
		quotedTable(a.table))
	if err != nil {
		return "", err
	}
	a.kinds = map[string]string{}
	var name, of string
	if _, err := pgx.ForEachRow(rows, []any{&name, &of}, func() error { a.kinds[name] = of; return nil }); err != nil {
		return "", err
	}
	if a.arrays, err = a.arraysOf(ctx, a.tx); err != nil {
		return "", err
	}
	var gone string
	if a.columns, gone = a.typed(a.header); gone != "" {
		return fmt.Sprintf("the table %s has no column %s any more", a.table, gone), nil
	}
	if a.key = a.header.Key; a.key == nil {
		a.key, err = a.uniqueKey(ctx)
	}
	return "", err
}

// typed returns the columns of a header with their types in the table; gone is one that the table does not have.
func (a *attestation) typed(h *header) (columns []typedColumn, gone string) {
	for _, column := range h.names() {
		if a.kinds[column] == "" {
			return nil, column
		}
		typed := typedColumn{name: column, kind: a.kinds[column]}
		if of, is := a.arrays[column]; is {
			typed.array = &of
		}
		columns = append(columns, typed)
	}
	return columns, ""
}

// uniqueKey returns the columns of the primary key or, without one, of another unique index, if all of them are written; nil if there is none.
func (a *attestation) uniqueKey(ctx context.Context) (key []string, err error) {
	rows, err := a.tx.Query(ctx, `
		select array(select attname::text from pg_attribute where attrelid = i.indrelid and attnum = any(i.indkey::int2[]) order by attnum)
		from pg_index i
		where i.indrelid = $1::regclass and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
			and not exists (select from pg_attribute c where c.attrelid = i.indrelid and c.attnum = any(i.indkey::int2[]) and not (c.attnotnull and c.attname = any($2::text[])))
		order by i.indisprimary desc, i.indexrelid limit 1`, quotedTable(a.table), a.header.names())
	if err != nil {
		return nil, err
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return keys[0], nil
}

// part compares the rows of a part.
func (a *attestation) part(ctx context.Context, part plugin.Part) error {
	unknown := func(why error) {
		a.found.Add(a.written.Holds(part), plugin.Finding{State: plugin.NotKnown, Part: &part.Ordinal, Why: why.Error()})
	}
	known, err := a.written.RowsOf(ctx, part)
	if err != nil {
		unknown(err)
		return ctx.Err()
	}
	refused, err := a.refusedOf(ctx, a.run, a.name, part)
	if err != nil {
		unknown(err)
		return ctx.Err()
	}
	rows := newRowBlock(part, known, a.columns, refused)
	found, err := a.look(ctx, rows)
	if errors.Is(err, errOtherType) {
		a.found.Add(int64(rows.count), plugin.Finding{State: plugin.Changed, Part: &part.Ordinal, Why: errOtherType.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	before := a.written.RowsBefore(part)
	for i, of := range found {
		a.note(part, of.key, plugin.Finding{State: of.State, Line: before + rows.places[i]})
	}
	a.omit(part, before, rows.omitted)
	return nil
}

// omit counts rows that are not known, and not there any more by order.
func (a *attestation) omit(part plugin.Part, before int64, rows []omitted) {
	for _, o := range rows {
		if !o.Erased {
			a.found.Add(1, plugin.Finding{State: plugin.NotKnown, Part: &part.Ordinal, Line: before + o.place, Why: o.Why})
		}
	}
}

// refusedOf returns the numbers of the rows of a part of an output that the table refused when they were written.
func (a *attestation) refusedOf(ctx context.Context, run, sink string, part plugin.Part) (map[int]bool, error) {
	text := ""
	err := a.within(ctx, func(tx pgx.Tx) (err error) {
		text, err = scalar(ctx, tx, "select refused::text from "+ledgerOf(a.table).parts()+" where run = $1 and sink = $2 and ordinal = $3", run, sink, part.Ordinal)
		return err
	})
	if err != nil || text == "" {
		return nil, fmt.Errorf("the entry of part %d in %s is gone: it said which rows the table refused", part.Ordinal, partsTable)
	}
	rejected, err := decodeRejected(text)
	numbers := map[int]bool{}
	for _, r := range rejected {
		numbers[int(r.Row)] = true
	}
	return numbers, err
}

// note counts a row. Of rows with one key, which an upsert writes one after the other, the last one counts.
func (a *attestation) note(part plugin.Part, key string, f plugin.Finding) {
	if a.key == nil {
		key = fmt.Sprint(f.Line)
	}
	delete(a.differ, key)
	if a.header.Mode == pipeline.UpsertMode {
		a.keys[key] = true
	}
	a.found.LookedAt++
	if f.State != plugin.AsWritten {
		a.differ[key] = difference{f, part}
	}
}

// replaced looks which of the rows that differ are as later runs wrote them.
func (a *attestation) replaced(ctx context.Context) error {
	if len(a.differ) == 0 || a.key == nil {
		return nil
	}
	later, err := a.written.Later(ctx)
	if err != nil {
		return err
	}
	known := []string{a.run}
	for _, by := range later {
		known = append(known, by.Run)
		h, err := parseHeader(by.Header)
		switch {
		case err != nil:
			a.unclear = by.Run
		case h.Mode != pipeline.UpsertMode: // it replaced nothing
		case !slices.Equal(sorted(h.Key), sorted(a.key)):
			a.unclear = by.Run
		default:
			err = a.replacedIn(ctx, by, h)
		}
		if err != nil {
			return err
		}
	}
	return a.strangers(ctx, known)
}

// replacedIn looks for rows that differ in what a later run wrote, by the columns that it wrote.
func (a *attestation) replacedIn(ctx context.Context, by plugin.WrittenBy, h *header) error {
	columns, gone := a.typed(h)
	if gone != "" {
		a.unclear = by.Run
		return nil
	}
	as := *a
	as.header, as.columns = h, columns
	for _, part := range by.Parts {
		if err := a.replacedBy(ctx, by, part, &as); err != nil {
			return err
		}
	}
	return nil
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// replacedBy looks for rows that differ in a part of a later run, which as compares by the columns of that run. Who wrote the row of a key last left it so in all
// of them. What no run left as it is now somebody else changed. If that run wrote some columns alone, nothing says who changed the others.
func (a *attestation) replacedBy(ctx context.Context, by plugin.WrittenBy, part plugin.Part, as *attestation) error {
	known, err := by.RowsOf(ctx, part)
	if err != nil {
		a.unclear = by.Run
		return ctx.Err()
	}
	rows := newRowBlock(part, known, as.columns, nil)
	all := !slices.ContainsFunc(a.columns, func(column typedColumn) bool { return !slices.Contains(as.columns, column) })
	for _, o := range rows.omitted {
		if o.Erased {
			a.erasedSince++
		} else {
			a.unclear = by.Run
		}
	}
	found, err := as.look(ctx, rows)
	if errors.Is(err, errOtherType) {
		a.unclear = by.Run
		return nil
	}
	if err != nil {
		return err
	}
	for _, of := range found {
		was, differs := a.differ[of.key]
		switch {
		case !differs || of.State != plugin.AsWritten:
		case all:
			was.State, was.Run = plugin.Replaced, by.Run
			a.differ[of.key] = was
		default:
			a.partly[of.key] = by.Run
		}
	}
	return nil
}

// strangers looks for upserts since by runs that are not known here: of another landscape.
func (a *attestation) strangers(ctx context.Context, known []string) error {
	l := ledgerOf(a.table)
	err := a.within(ctx, func(tx pgx.Tx) error {
		run, err := scalar(ctx, tx, `select o.run from `+l.outputs()+` o join `+l.outputs()+` ours on ours.run = $1 and ours.sink = $2
			where o.target = $3 and o.run <> all($4::text[]) and convert_from(o.header, 'UTF8')::json ->> 'mode' = $5 and coalesce(o.ended_at, now()) > ours.ended_at
				and exists (select from `+l.parts()+` p where p.run = o.run and p.sink = o.sink and p.rows > 0)
			order by o.run limit 1`, a.run, a.name, a.table.String(), known, pipeline.UpsertMode)
		if run != "" {
			a.unclear = run
		}
		return err
	})
	if tableMissing(err) {
		return nil
	}
	return err
}

// settle counts the rows that differ, in the order of the output.
func (a *attestation) settle() {
	var all []difference
	for key, d := range a.differ {
		if by := a.partly[key]; by != "" && d.State == plugin.Changed {
			d.State, d.Why = plugin.NotKnown, fmt.Sprintf("the row has other values, and run %s wrote some of its columns since: who changed the others is not known", by)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y difference) int { return int(x.Line - y.Line) })
	looked, missing := a.found.LookedAt, int64(0)
	for _, d := range all {
		if d.State == plugin.Missing {
			missing++
		}
	}
	for _, d := range all {
		if d.State == plugin.Missing && missing <= a.erasedSince {
			d.State, d.Why = plugin.NotKnown, "the row is gone, and rows that a later run wrote were deleted by order: this may be one that it had replaced"
		}
		if d.State == plugin.Changed && a.unclear != "" {
			d.State, d.Why = plugin.NotKnown, fmt.Sprintf("the row has other values, and run %s wrote to the table since: what it wrote is not known here", a.unclear)
		}
		switch d.State {
		case plugin.Changed:
			d.Why = "the row has other values"
		case plugin.Missing:
			d.Why = "the row is gone"
			if a.key == nil {
				d.Why = "no row of the table has all these values"
			}
		case plugin.Replaced:
			d.Why = "a later run wrote a row with this key"
		case plugin.AsWritten, plugin.NotKnown:
		}
		d.Part = &d.part.Ordinal
		a.found.Add(1, d.Finding)
	}
	a.found.LookedAt = looked
	a.found.Equal = looked - a.found.Changed - a.found.Missing - a.found.Replaced - a.found.Unknown
}

// others counts rows that no run wrote, if what runs wrote can be counted. In a table that the sink may create they are a change: it is the pipeline's.
func (a *attestation) others(ctx context.Context) error {
	wrote, counted, err := a.wrote(ctx)
	if err != nil || !counted {
		return err
	}
	var rows int64
	if err := a.tx.QueryRow(ctx, "select count(*) from "+quotedTable(a.table)).Scan(&rows); err != nil {
		return err
	}
	state := plugin.NotKnown
	if a.spec.Create {
		state = plugin.Changed
	}
	switch more := rows - (wrote - a.found.Missing); {
	case more > 0:
		a.found.Add(more, plugin.Finding{State: state, Why: "the table has " + inRows(more) + " that no run wrote"})
	case more == -1:
		const why = "a row that a run wrote here is gone: it is not known which one"
		a.found.Add(1, plugin.Finding{State: plugin.NotKnown, Why: why})
	case more < 0:
		why := fmt.Sprintf("%d rows that runs wrote here are gone: it is not known which ones", -more)
		a.found.Add(-more, plugin.Finding{State: plugin.NotKnown, Why: why})
	}
	return nil
}

// wrote returns how many rows are in the table of those that runs wrote, if nobody else touched it. counted is false if
// that cannot be counted: rows take the place of others, and several runs wrote some.
func (a *attestation) wrote(ctx context.Context) (rows int64, counted bool, err error) {
	l := ledgerOf(a.table)
	var outputs, upserts int64
	err = a.within(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "select count(*), count(*) filter (where convert_from(header, 'UTF8')::json ->> 'mode' = $2) from "+l.outputs()+" where target = $1",
			a.table.String(), pipeline.UpsertMode).Scan(&outputs, &upserts)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `select coalesce(sum(p.rows - jsonb_array_length(p.refused)), 0)::bigint from `+l.parts()+` p join `+l.outputs()+` o using (run, sink)
			where o.target = $1`, a.table.String()).Scan(&rows)
	})
	if err == nil {
		var erased int64
		erased, err = a.erasedHere(ctx)
		rows -= erased
	}
	switch {
	case tableMissing(err):
		return 0, false, nil
	case err != nil || a.found.Unknown > 0 || !a.whole || !a.entered:
		return 0, false, err
	case a.header.Mode == pipeline.UpsertMode:
		return int64(len(a.keys)), outputs == 1, nil
	}
	return rows, upserts == 0 && outputs > 0, nil
}
