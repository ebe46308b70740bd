package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// makingTables is the number of the lock under which tables are made, so that attempts at the same time do not meet.
const makingTables = 0x7761796d61726b // "waymark"

// types are the columns' types for the kinds of values.
var types = map[string]string{
	row.String.String(): "text", row.Int.String(): "bigint", row.Float.String(): "double precision", row.Bool.String(): "boolean",
	row.Date.String(): "date", row.Timestamp.String(): "timestamp with time zone", row.Decimal.String(): "numeric", row.JSON.String(): "json",
}

// prepare makes what may be made, and checks that rows can be written.
func (t *target) prepare(ctx context.Context, tx pgx.Tx, h *header) error {
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1::bigint)", int64(makingTables)); err != nil {
		return err
	}
	if err := t.notLandscape(ctx, tx); err != nil {
		return err
	}
	schema, err := scalar(ctx, tx, "select nspname from pg_namespace where nspname = $1", t.table.Schema)
	if err != nil {
		return err
	}
	if schema == "" {
		return t.fault(codeTargetRefused, "there is no such schema: create schema %s", quoted(t.table.Schema))
	}
	kind, err := t.find(ctx, tx)
	if err == nil && kind == "" && t.spec.Create {
		_, err = tx.Exec(ctx, t.creation(h))
		if err == nil {
			kind, err = t.find(ctx, tx)
		}
	}
	if err != nil {
		return err
	}
	if kind == "" {
		return t.fault(codeTargetRefused, "there is no such table: make it, or set create: true")
	}
	if err := t.checkKind(kind); err != nil {
		return err
	}
	for _, check := range []func(context.Context, pgx.Tx, *header) error{t.checkKeeps, t.checkColumns, t.checkKey, t.checkRights} {
		if err := check(ctx, tx, h); err != nil {
			return err
		}
	}
	return t.makeLedger(ctx, tx)
}

// find returns the kind and persistence of what has the table's name, or "" if nothing has.
func (t *target) find(ctx context.Context, q querier) (string, error) {
	return scalar(ctx, q, "select relkind::text || relpersistence::text from pg_class where oid = to_regclass($1)", quotedTable(t.table))
}

// notLandscape rejects a schema in which a landscape has its record.
func (t *target) notLandscape(ctx context.Context, tx pgx.Tx) error {
	ok, err := scalar(ctx, tx, "select 'yes' where to_regclass($1) is not null and to_regclass($2) is not null",
		quoted(t.table.Schema, "goose_db_version"), quoted(t.table.Schema, "effects"))
	if err == nil && ok != "" {
		err = t.fault(codeTargetRefused, "the schema %s holds a landscape, the record of runs: give another one", t.table.Schema)
	}
	return err
}

// checkKind rejects what is no table, and tables that forget.
func (t *target) checkKind(kind string) error {
	switch {
	case kind[0] != 'r' && kind[0] != 'p':
		return t.fault(codeTargetRefused, "this is a view or a foreign table, whose rows are elsewhere: give a table")
	case kind[1] != 'p':
		return t.fault(codeTargetRefused, "the table is not logged, so that a crash of the server empties it: alter table %s set logged", quotedTable(t.table))
	}
	return nil
}

// checkKeeps rejects tables that would not keep what COPY writes, or that do with rows what COPY does not.
func (t *target) checkKeeps(ctx context.Context, tx pgx.Tx, h *header) error {
	events := []string{"3"} // rules for INSERT
	if h.Mode == pipeline.UpsertMode {
		events = append(events, "2") // for UPDATE
	}
	name := quotedTable(t.table)
	for _, c := range []struct {
		query string
		args  []any
		says  string
	}{
		{`select c.oid::regclass::text from pg_partition_tree($1::regclass) p join pg_class c on c.oid = p.relid where c.relkind = 'f' order by 1 limit 1`, nil,
			"its partition %s is a foreign table, whose rows are written in another transaction: detach it, or write into the other partitions"},
		{`select c.oid::regclass::text from pg_partition_tree($1::regclass) p join pg_class c on c.oid = p.relid where c.relpersistence <> 'p' order by 1 limit 1`, nil,
			"its partition %[1]s is not logged, so that a crash of the server empties it: alter table %[1]s set logged"},
		{`select rulename from pg_rewrite where ev_class = $1::regclass and ev_type::text = any($2::text[]) and ev_enabled <> 'D' order by 1 limit 1`, []any{events},
			"it has the rule %s, and COPY does not follow rules: let a trigger do what the rule does"},
		{`select relname from pg_class where oid = $1::regclass and row_security_active(oid)`, nil,
			"row-level security holds for the role on %s, and COPY does not work with it: alter role … bypassrls, or write as the owner of the table"},
	} {
		found, err := scalar(ctx, tx, c.query, append([]any{name}, c.args...)...)
		if err != nil {
			return err
		}
		if found != "" {
			return t.fault(codeTargetRefused, c.says, found)
		}
	}
	return nil
}

// creation is the SQL that makes the table.
func (t *target) creation(h *header) string {
	var items []string
	for _, c := range h.Columns {
		item := quoted(c.Name) + " " + types[c.Type]
		if c.NotNull {
			item += " not null"
		}
		items = append(items, item)
	}
	if len(h.Key) > 0 {
		items = append(items, "primary key ("+list(h.Key)+")")
	}
	return fmt.Sprintf("create table %s (%s)", quotedTable(t.table), strings.Join(items, ", "))
}

// checkColumns requires a column for every field.
func (t *target) checkColumns(ctx context.Context, tx pgx.Tx, h *header) error {
	rows, err := tx.Query(ctx, `
		select attname, attgenerated <> '', attidentity = 'a' from pg_attribute
		where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`, quotedTable(t.table))
	if err != nil {
		return err
	}
	var all []column
	var computed, numbered []string
	var name string
	var generated, always bool
	if _, err = pgx.ForEachRow(rows, []any{&name, &generated, &always}, func() error {
		all = append(all, column{name: name})
		if generated {
			computed = append(computed, name)
		}
		if always {
			numbered = append(numbered, name)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, want := range h.names() {
		switch {
		case find(all, want) < 0:
			return t.fault(codeTargetRefused, "the table has no column %s; it has %s: add it, or say with columns what is written", excerpt(want), named(all))
		case slices.Contains(computed, want):
			return t.fault(codeTargetRefused, "the table computes its column %s: leave it out with columns", excerpt(want))
		case slices.Contains(numbered, want) && h.Mode == pipeline.UpsertMode && !slices.Contains(h.Key, want):
			return t.fault(codeTargetRefused, "the table numbers its column %s, generated always as identity, and lets nobody change it: leave it out with columns", excerpt(want))
		}
	}
	return nil
}

// checkKey requires a unique index over exactly the key of an upsert.
func (t *target) checkKey(ctx context.Context, tx pgx.Tx, h *header) error {
	if h.Mode != pipeline.UpsertMode {
		return nil
	}
	rows, err := tx.Query(ctx, `
		select string_agg(quote_ident(a.attname), ', ' order by a.attname collate "C")
		from pg_index i, unnest(i.indkey::int2[]) with ordinality as k (attnum, nr), pg_attribute a
		where i.indrelid = $1::regclass and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
			and k.nr <= i.indnkeyatts and a.attrelid = i.indrelid and a.attnum = k.attnum
		group by i.indexrelid order by i.indexrelid`, quotedTable(t.table))
	if err != nil {
		return err
	}
	indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	want, err := scalar(ctx, tx, `select string_agg(quote_ident(name), ', ' order by name collate "C") from unnest($1::text[]) as k (name)`, h.Key)
	if err == nil && !slices.Contains(indexes, want) {
		err = t.fault(codeTargetRefused, "no primary key and no unique index is made of exactly %s: create unique index on %s (%s), or give another key",
			list(h.Key), quotedTable(t.table), list(h.Key))
	}
	return err
}

// checkRights requires that the role may do what it will do.
func (t *target) checkRights(ctx context.Context, tx pgx.Tx, h *header) error {
	rights := []string{"INSERT"}
	if h.Mode == pipeline.UpsertMode {
		rights = append(rights, "SELECT", "UPDATE")
	}
	for _, right := range rights {
		missing, err := scalar(ctx, tx, `
			select name from unnest($1::text[]) as c (name)
			where not has_column_privilege($2::regclass, name, $3) order by name limit 1`, h.names(), quotedTable(t.table), right)
		if err != nil {
			return err
		}
		if missing != "" {
			return t.fault(codeTargetRefused, "the role may not %s the column %s: grant %s on %s to it",
				strings.ToLower(right), excerpt(missing), strings.ToLower(strings.Join(rights, ", ")), quotedTable(t.table))
		}
	}
	return nil
}

// makeLedger makes the record's tables where there are none.
func (t *target) makeLedger(ctx context.Context, tx pgx.Tx) error {
	l := ledgerOf(t.table)
	there, err := scalar(ctx, tx, "select 'yes' where to_regclass($1) is not null and to_regclass($2) is not null", l.outputs(), l.parts())
	if err != nil || there != "" {
		return err
	}
	may, err := scalar(ctx, tx, "select 'yes' where has_schema_privilege($1, 'CREATE')", t.table.Schema)
	if err != nil {
		return err
	}
	if may == "" {
		return t.fault(codeTargetRefused, "the role may not make the tables %s and %s, in which the sink notes what it wrote. Grant create on the schema, or make them, "+
			"and grant select, insert, update, delete on them:\n%s", outputsTable, partsTable, l.definition())
	}
	_, err = tx.Exec(ctx, l.definition())
	return err
}
