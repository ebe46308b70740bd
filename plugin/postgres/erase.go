package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/internal/failpoint"
	"waymark/pipeline"
	"waymark/plugin"
)

var _ plugin.Eraser = (*target)(nil)

// erasing deletes rows of an output within a transaction.
type erasing struct {
	*attestation
	lines    []int64
	outcomes map[int64]plugin.ErasureOutcome // by line
}

// TryErase does everything in a transaction that is rolled back.
func (t *target) TryErase(ctx context.Context, w plugin.Written, lines []int64) (outcomes []plugin.ErasureOutcome, err error) {
	err = t.transact(ctx, func(tx pgx.Tx) (err error) {
		if outcomes, err = t.newErasing(tx, w, lines).all(ctx); err == nil {
			err = errProbed
		}
		return err
	})
	if errors.Is(err, errProbed) {
		return outcomes, nil
	}
	return nil, t.eraseFault("look whether rows can be deleted", err)
}

// RowsWith compares the text that the server makes of what is in the column.
func (t *target) RowsWith(ctx context.Context, column, value string) (rows int64, err error) {
	const named = "select count(*) from pg_attribute where attrelid = to_regclass($1) and attname = $2 and attnum > 0 and not attisdropped"
	err = t.transact(ctx, func(tx pgx.Tx) error {
		var there int64
		if err := tx.QueryRow(ctx, named, quotedTable(t.table), column).Scan(&there); err != nil || there == 0 {
			rows = -1
			return err
		}
		query := fmt.Sprintf("select count(*) from %s where %s::text = $1", quotedTable(t.table), quoted(column))
		return tx.QueryRow(ctx, query, value).Scan(&rows)
	})
	return rows, t.eraseFault("count rows", err)
}

// Erase deletes rows that are exactly as the run wrote them, and enters what became of each. In a table with a key, as Attest finds one, a row is found by it, and
// left if the output, or a later one, has a later row with this key. Without a key as many rows with all the values are deleted as the lines are, if the table has
// so many besides those that others wrote.
func (t *target) Erase(
	ctx context.Context, w plugin.Written, lines []int64,
) (outcomes []plugin.ErasureOutcome, err error) {
	err = t.transact(ctx, func(tx pgx.Tx) error {
		var err error
		if outcomes, err = t.newErasing(tx, w, lines).all(ctx); err != nil {
			return err
		}
		return failpoint.Hit("sink.erasing")
	})
	if err == nil {
		err = failpoint.Hit("sink.erased")
	}
	return outcomes, t.eraseFault("delete rows", err)
}

// eraseFault puts an error into words, with what the role needs to delete rows.
func (t *target) eraseFault(doing string, err error) error {
	state, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && state.Code == "42501":
		return t.fault(codeTargetRefused, "%s: %s: grant select and delete on the table to the role; on %s select and insert, on %s select and update", doing,
			t.database.reason(err), erasedTable, outputsTable)
	case ok && state.Code == "23503":
		return t.fault(codeTargetRefused, "%s: %s: delete the rows that refer to these first", doing, t.database.reason(err))
	}
	return t.classify(doing, err)
}

func (t *target) newErasing(tx pgx.Tx, w plugin.Written, lines []int64) *erasing {
	return &erasing{newAttestation(t, tx, w), lines, map[int64]plugin.ErasureOutcome{}}
}

// all prepares everything, and finds out the outcomes of the lines, in their order.
func (e *erasing) all(ctx context.Context) (outcomes []plugin.ErasureOutcome, err error) {
	if err := e.prepare(ctx); err != nil {
		return nil, err
	}
	if err := e.erase(ctx); err != nil {
		return nil, err
	}
	for _, line := range e.lines {
		outcomes = append(outcomes, e.outcomes[line])
	}
	return outcomes, nil
}

// prepare makes sure that the output is here, and that its rows may be deleted. Until the transaction ends nobody else deletes rows of it, and no run
// opens or publishes an output here.
func (e *erasing) prepare(ctx context.Context) (err error) {
	if _, err := e.tx.Exec(ctx, durable); err != nil {
		return err
	}
	if e.header, err = parseHeader(e.written.Header); err != nil {
		return e.fault(codeTargetRefused, "%v", err)
	}
	l := ledgerOf(e.table)
	if _, err := e.tx.Exec(ctx, "lock table "+l.outputs()+" in share mode"); err != nil {
		return err
	}
	found, err := e.compare(ctx, e.tx, e.written.Header, e.written.Parts, "for update")
	if err != nil {
		return err
	}
	if found.state != outputPublished {
		return e.fault(codeTargetChanged, "%s says that the output is %s, and not published", outputsTable, found.state)
	}
	if err := e.mayDelete(ctx); err != nil {
		return err
	}
	return e.makeErased(ctx)
}

// mayDelete requires the table, that the role sees all of its rows, and that it may delete them.
func (e *erasing) mayDelete(ctx context.Context) error {
	why, err := scalar(ctx, e.tx, `
		select case
			when to_regclass($1) is null then 'missing'
			when not (has_table_privilege($1, 'SELECT') and has_table_privilege($1, 'DELETE')) then 'rights'
			when row_security_active(to_regclass($1)) then 'policies'
			else ''
		end`, quotedTable(e.table))
	if err != nil {
		return err
	}
	switch why {
	case "missing":
		return e.fault(codeTargetRefused, "there is no table %s: if it was renamed, give it its name back", quotedTable(e.table))
	case "rights":
		return e.fault(codeTargetRefused, "the role may not delete its rows: grant select, delete on %s to it", quotedTable(e.table))
	case "policies":
		return e.fault(codeTargetRefused, "row-level security holds for the role on %s, and may hide rows or keep them: alter role … bypassrls, or delete as the owner of the table", quotedTable(e.table))
	}
	return nil
}

// makeErased makes the table of what was deleted, where there is none.
func (e *erasing) makeErased(ctx context.Context) error {
	l := ledgerOf(e.table)
	if _, err := e.tx.Exec(ctx, "select pg_advisory_xact_lock($1::bigint)", int64(makingTables)); err != nil {
		return err
	}
	there, err := scalar(ctx, e.tx, "select 'yes' where to_regclass($1) is not null", l.erased())
	if err != nil || there != "" {
		return err
	}
	may, err := scalar(ctx, e.tx, "select 'yes' where has_schema_privilege($1, 'CREATE')", e.table.Schema)
	if err != nil {
		return err
	}
	if may == "" {
		return e.fault(codeTargetRefused, "the role may not make the table %s, in which it notes what it deleted. Grant create on the schema, or make it, and grant select, insert on it:\n%s",
			erasedTable, l.erasedDefinition())
	}
	_, err = e.tx.Exec(ctx, l.erasedDefinition())
	return err
}

// erase finds out the outcomes of the lines, those that are entered already first.
func (e *erasing) erase(ctx context.Context) error {
	if err := e.readOutcomes(ctx); err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(e.lines), func(line int64) bool { return e.outcomes[line] != "" })
	if len(open) == 0 {
		return nil
	}
	missing, err := e.shape(ctx)
	if err != nil {
		return err
	}
	switch {
	case missing != "": // no column: what is in the others nothing compares
		e.settleAs(open, plugin.RowUnclear)
	case e.key == nil:
		err = e.eraseCopies(ctx, open)
	default:
		err = e.eraseByKey(ctx, open)
	}
	if err != nil {
		return err
	}
	return e.writeOutcomes(ctx, open)
}

// readOutcomes reads the outcomes of lines that were entered before.
func (e *erasing) readOutcomes(ctx context.Context) error {
	rows, err := e.tx.Query(ctx, "select line, outcome from "+ledgerOf(e.table).erased()+
		" where run = $1 and sink = $2 and line = any($3::bigint[]) order by line", e.run, e.name, e.lines)
	if err != nil {
		return err
	}
	var line int64
	var outcome string
	_, err = pgx.ForEachRow(rows, []any{&line, &outcome}, func() error {
		e.outcomes[line] = plugin.ErasureOutcome(outcome)
		return nil
	})
	return err
}

// writeOutcomes records the outcomes of lines.
func (e *erasing) writeOutcomes(ctx context.Context, lines []int64) error {
	var outcomes []string
	for _, line := range lines {
		outcomes = append(outcomes, string(e.outcomes[line]))
	}
	_, err := e.tx.Exec(ctx, "insert into "+ledgerOf(e.table).erased()+
		" (run, sink, line, outcome) select $1, $2, * from unnest($3::bigint[], $4::text[])", e.run, e.name, lines, outcomes)
	return err
}

// settleAs gives lines an outcome, unless they have one.
func (e *erasing) settleAs(lines []int64, outcome plugin.ErasureOutcome) {
	for _, line := range lines {
		if e.outcomes[line] == "" {
			e.outcomes[line] = outcome
		}
	}
}

// erasedHere returns how many of the rows that runs wrote into the table are not there any more by order.
func (a *attestation) erasedHere(ctx context.Context) (rows int64, err error) {
	l := ledgerOf(a.table)
	err = a.within(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "select count(*) from "+l.erased()+" e join "+l.outputs()+
			" o using (run, sink) where o.target = $1 and e.outcome = any($2::text[])",
			a.table.String(), []string{string(plugin.RowDeleted), string(plugin.RowGone)}).Scan(&rows)
	})
	if tableMissing(err) {
		return 0, nil
	}
	return rows, err
}

// eachBlock calls do with the rows of the parts of an output that are wanted, the numbers of their lines before, and whether they are known.
func (e *erasing) eachBlock(ctx context.Context, run, sink string, w *plugin.Written, wanted func(first, last int64) bool, do func(b rowBlock, before int64, known bool) error) error {
	for _, part := range w.Parts {
		before := w.RowsBefore(part)
		if !wanted(before+1, before+w.Holds(part)) {
			continue
		}
		rows, err := w.RowsOf(ctx, part)
		_, lost := errors.AsType[*plugin.LostError](err)
		if err != nil && !lost {
			return err
		}
		block := rowBlock{}
		if !lost {
			refused, err := e.refusedOf(ctx, run, sink, part)
			if err != nil {
				return e.fault(codeTargetChanged, "%v", err)
			}
			block = newRowBlock(part, rows, e.columns, refused)
		}
		if err := do(block, before, !lost); err != nil {
			return err
		}
	}
	return nil
}

func everyPart(int64, int64) bool { return true }

// upserts reports whether the output, or one with this header, replaces rows.
func (h *header) upserts() bool { return h.Mode == pipeline.UpsertMode }

func (l ledger) erasedDefinition() string {
	return fmt.Sprintf(`create table if not exists %s (
	run text, sink text, line bigint,
	outcome text not null,
	erased_at timestamptz not null default now(),
	primary key (run, sink, line)
);`, l.erased())
}
